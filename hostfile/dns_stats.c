// Counting DNS answers.
#include "hostfile/dns_stats.h"

#include "common/mem.h"
#include "common/promtext.h"

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

void dns_stats_metrics(const struct dns_stats *s, const char *prefix, struct buf *out)
{
    CLEANUP_FREE char *queries = xasprintf("%s_dns_queries_total", prefix);
    CLEANUP_FREE char *answers = xasprintf("%s_dns_answers_total", prefix);
    CLEANUP_FREE char *truncated = xasprintf("%s_dns_truncated_total", prefix);
    promtext_one(out, queries, PROMTEXT_COUNTER, "Questions sent to DNS servers.",
                 (double)s->queries);
    promtext_head(out, answers, PROMTEXT_COUNTER, "What became of them.");
    for (int i = 0; i < DNS_STATUSES; i++)
        promtext_sample(out, answers, "status", dns_stats_label(i),
                        (double)s->answers[i]);
    promtext_one(out, truncated, PROMTEXT_COUNTER,
                 "UDP answers that were cut, and asked again over TCP.",
                 (double)s->truncated);
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
