// Counting DNS answers.
#include "hostfile/dns_stats.h"

const char *dns_stats_label(enum dns_status status)
{
    static const char *const labels[DNS_STATUSES] = {
        [DNS_OK] = "ok",           [DNS_NXDOMAIN] = "nxdomain",
        [DNS_NODATA] = "nodata",   [DNS_SERVFAIL] = "servfail",
        [DNS_REFUSED] = "refused", [DNS_UNREACHABLE] = "unreachable",
        [DNS_TIMEOUT] = "timeout", [DNS_MALFORMED] = "malformed",
    };
    return labels[status];
}

void dns_stats_add(struct dns_stats *to, const struct dns_stats *more)
{
    to->queries += more->queries;
    to->truncated += more->truncated;
    for (int i = 0; i < DNS_STATUSES; i++)
        to->answers[i] += more->answers[i];
    if (more->good_ms > to->good_ms)
        to->good_ms = more->good_ms;
}
