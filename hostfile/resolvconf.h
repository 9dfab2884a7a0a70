// resolv.conf: servers and search list, as resolv.conf(5) has them. Pure.
#ifndef MUSTER_HOSTFILE_RESOLVCONF_H
#define MUSTER_HOSTFILE_RESOLVCONF_H

#include <stddef.h>

#include "common/strv.h"

enum { RESOLVCONF_SERVERS_MAX = 3 }; // as the C library's

struct resolvconf {
    struct strv servers; // address literals; what is none is left out
    struct strv search;  // without final dots; the root is left out
    int ndots;
};

// Never fails: lines that mean nothing are skipped. Free with resolvconf_free().
void resolvconf_parse(const char *text, size_t len, struct resolvconf *out);
void resolvconf_free(struct resolvconf *rc);

#endif
