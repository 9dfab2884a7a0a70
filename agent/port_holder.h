// Who listens on a TCP port of this pod.
#ifndef MUSTER_AGENT_PORT_HOLDER_H
#define MUSTER_AGENT_PORT_HOLDER_H

#include <stdint.h>

// "process 77 (python3)"; "a process of another container" where /proc does not show whose
// socket it is. NULL: nobody listens there. Caller frees.
char *port_holder_text(uint16_t port);

// Pure: the inode of a socket that listens on `port`, from a line of /proc/net/tcp or tcp6;
// 0: the line tells of none.
unsigned long port_holder_inode(const char *line, uint16_t port);

#endif
