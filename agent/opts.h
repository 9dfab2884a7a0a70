// Options of musterd.
#ifndef MUSTER_AGENT_OPTS_H
#define MUSTER_AGENT_OPTS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "sidecar/write_opts.h"

struct agent_opts {
    const char *key;    // NULL: the default
    const char *listen; // ADDRESS or ADDRESS:PORT as given
    struct sockaddr_storage addr;
    socklen_t addr_len;
    bool lead;
    const char *lead_pod; // the one that leads; NULL: this one
    char **launcher;      // --lead: its command, NULL-terminated; borrowed from argv
    const char *run_dir;  // NULL: the default, where it is there
    struct write_opts files;
    bool stdio, announce, no_standby, verbose;
};

// Prints help or one error and exits (125) where it must.
void agent_opts_parse(struct agent_opts *o, int argc, char **argv);

#endif
