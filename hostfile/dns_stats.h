// What became of the questions that were put to DNS, for status pages and metrics.
#ifndef MUSTER_HOSTFILE_DNS_STATS_H
#define MUSTER_HOSTFILE_DNS_STATS_H

#include <stdint.h>

#include "common/buf.h"

enum dns_status {
    DNS_OK,
    DNS_NXDOMAIN,    // the name does not exist
    DNS_NODATA,      // the name exists, but has nothing of this type
    DNS_SERVFAIL,    // from here on: the servers failed, nothing is known of the name
    DNS_REFUSED,     // a server does not answer us
    DNS_UNREACHABLE, // nobody listens there
    DNS_TIMEOUT,
    DNS_MALFORMED, // the answer cannot be read, or the name cannot be asked
    DNS_STATUSES,
};

// Counters only grow.
struct dns_stats {
    uint64_t queries; // sent, to any server, over UDP and TCP; tries after silence are
                      // not counted
    uint64_t answers[DNS_STATUSES]; // what became of each
    uint64_t truncated; // UDP answers that were cut: not used, asked again over TCP
    uint64_t good_ms;   // when the newest DNS_OK came (loop_now_ms); 0: never
};

// "ok", "nxdomain", "nodata", "servfail", "refused", "unreachable", "timeout",
// "malformed": labels of a metric.
const char *dns_stats_label(enum dns_status status);
// Metrics PREFIX_dns_queries_total, ..._answers_total (for each status), ..._truncated_total.
void dns_stats_metrics(const struct dns_stats *s, const char *prefix, struct buf *out);
// Adds counters up; the newer good_ms counts.
void dns_stats_add(struct dns_stats *to, const struct dns_stats *more);

#endif
