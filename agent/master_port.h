// Picks the port on which rank 0 of a job will listen (MASTER_PORT): free now, below
// the ephemeral range, not reserved, and not picked lately.
//
// The port is not held: rank 0 binds it later. What keeps others off it until then is
// that the kernel gives nobody a port outside ip_local_port_range by itself, and that
// one agent does not name the same port twice in a row.
#ifndef MUSTER_AGENT_MASTER_PORT_H
#define MUSTER_AGENT_MASTER_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

enum {
    MASTER_PORT_LOW = 10240,
    MASTER_PORT_HIGH = 29999, // Kubernetes NodePorts begin at 30000
    MASTER_PORT_LATELY = 64,  // so many picks are remembered
};

struct master_port;

struct master_port *master_port_create(void);
void master_port_destroy(struct master_port *m);

// `address`: a local address as a literal, IPv4 or IPv6; NULL: any only. Returns the
// port, or 0 with err.
uint16_t master_port_pick(struct master_port *m, const char *address, struct err *err);

// Pure: candidate ports are first..last, outside the ephemeral range where that leaves
// any. `ephemeral`: text of ip_local_port_range, may be NULL.
void master_port_range(const char *ephemeral, uint16_t *first, uint16_t *last);
// Pure: is `port` in a list as in ip_local_reserved_ports ("8080,9100-9200")?
bool master_port_reserved(const char *list, uint16_t port);

#endif
