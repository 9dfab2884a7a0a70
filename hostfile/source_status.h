// How a source is doing: for status pages and metrics, from source_status() or
// follow_status().
#ifndef MUSTER_HOSTFILE_SOURCE_STATUS_H
#define MUSTER_HOSTFILE_SOURCE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "hostfile/dns_stats.h"

struct source_status {
    size_t members;       // that are known
    size_t addressed;     // of them have an address
    uint64_t rounds;      // in which something was asked; only grows
    struct dns_stats dns; // all zero where no DNS is needed
    int64_t good_age_ms;  // since the newest DNS answer with records, -1: none yet
    // Why the newest round did not give all: "SERVFAIL (DNS server 10.96.0.10, asked for
    // train.ns.svc...)"; "": it did.
    char last_error[256];
};

#endif
