// How a job is, as metrics for Prometheus.
#include "common/loop.h"
#include "common/mem.h"
#include "common/promtext.h"
#include "config.h"
#include "hostfile/follow.h"
#include "hostfile/source.h"
#include "launcher/job_internal.h"

static void put_state(const struct job *j, struct buf *out)
{
    static const char name[] = "muster_job_state";
    promtext_head(out, "muster_build_info", PROMTEXT_GAUGE, "Version.");
    promtext_sample(out, "muster_build_info", "version", MUSTER_VERSION, 1);
    promtext_head(out, name, PROMTEXT_GAUGE, "1: the job is in this state.");
    for (int s = 0; s < JOB_STATES; s++)
        promtext_sample(out, name, "state", job_state_name(s), (int)j->state == s);
    promtext_one(out, "muster_job_state_seconds", PROMTEXT_GAUGE,
                 "Since the job came to its state.",
                 (double)(loop_now_ms() - j->state_ms) / 1e3);
    promtext_one(out, "muster_attempt", PROMTEXT_GAUGE,
                 "Number of the attempt, from 1; 0: none yet.",
                 j->at != NULL ? j->at->number : 0);
}

// label: "" or "cause=\"exit\"".
static void put_times(const char *name, const char *label,
                      const struct job_stats_times *t, struct buf *out)
{
    const double *bounds = job_stats_bounds();
    const char *comma = label[0] != '\0' ? "," : "";
    CLEANUP_FREE char *braced = xasprintf(label[0] != '\0' ? "{%s}" : "%s", label);
    for (int i = 0; i < JOB_STATS_BUCKETS; i++)
        buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, label, comma,
                   bounds[i], (unsigned long long)t->within[i]);
    buf_printf(out,
               "%s_bucket{%s%sle=\"+Inf\"} %llu\n%s_sum%s %.15g\n%s_count%s %llu\n",
               name, label, comma, (unsigned long long)t->n, name, braced, t->sum_s,
               name, braced, (unsigned long long)t->n);
}

static void put_detection(const struct job *j, struct buf *out)
{
    static const char name[] = "muster_detection_seconds";
    promtext_head(out, name, PROMTEXT_HISTOGRAM,
                  "From a rank's bad end (by its pod's clock), or a lost member's last "
                  "byte, to the word of it.");
    for (int w = 0; w < JOB_STATS_WORDS; w++) {
        CLEANUP_FREE char *label = xasprintf("cause=\"%s\"", job_stats_word_name(w));
        put_times(name, label, job_stats_detection(j->stats, w), out);
    }
}

static void put_histogram(const char *name, const char *help,
                          const struct job_stats_times *t, struct buf *out)
{
    promtext_head(out, name, PROMTEXT_HISTOGRAM, help);
    put_times(name, "", t, out);
}

static void put_restarts(const struct job *j, struct buf *out)
{
    static const char name[] = "muster_restarts_total";
    promtext_head(out, name, PROMTEXT_COUNTER,
                  "Restarts, by what ended the attempt before.");
    for (int c = 0; c < JOB_STATS_CAUSES; c++)
        promtext_sample(out, name, "cause", job_stats_cause(c),
                        (double)job_stats_restarts(j->stats, c));
    put_detection(j, out);
    put_histogram("muster_stop_seconds",
                  "From the cause of a stop to the proofs that no rank is left.",
                  job_stats_stopping(j->stats), out);
    put_histogram("muster_recovery_seconds",
                  "From the cause of a restart until all ranks run again.",
                  job_stats_recovery(j->stats), out);
    promtext_one(out, "muster_lost_seconds_total", PROMTEXT_COUNTER,
                 "Time in which ranks did not run, from a cause until they run again.",
                 job_stats_lost_s(j->stats, loop_now_ms()));
}

static void put_members(const struct job *j, struct buf *out)
{
    static const char name[] = "muster_members";
    uint32_t n[GROUP_STATES] = {0};
    uint64_t agents = 0;
    for (uint32_t i = 0; i < j->group.n; i++) {
        n[j->group.v[i].state]++;
        agents += j->group.v[i].agents;
    }
    promtext_head(out, name, PROMTEXT_GAUGE, "Members, by state.");
    for (int s = 0; s < GROUP_STATES; s++)
        promtext_sample(out, name, "state", group_state_name(s), n[s]);
    promtext_one(out, "muster_agents_total", PROMTEXT_COUNTER,
                 "Agents that were attached; a replaced pod brings another one.",
                 (double)agents);
}

static void put_findings(const struct job *j, struct buf *out)
{
    static const char name[] = "muster_check_findings_total";
    promtext_head(out, name, PROMTEXT_COUNTER,
                  "What checks of members found (--check), by verdict.");
    for (int v = 0; v < FINDING_VERDICTS; v++)
        promtext_sample(out, name, "verdict",
                        finding_verdict_name((enum finding_verdict)v),
                        (double)job_inspect_count(j, (enum finding_verdict)v));
}

static void put_ranks(const struct job *j, struct buf *out)
{
    uint32_t started = 0, n = j->at != NULL ? j->at->nranks : 0;
    for (uint32_t r = 0; r < n; r++)
        started += j->at->ranks[r].started ? 1 : 0;
    promtext_one(out, "muster_ranks", PROMTEXT_GAUGE, "Ranks of the attempt.", n);
    promtext_one(out, "muster_ranks_started", PROMTEXT_GAUGE, "Of them were started.",
                 started);
    promtext_one(out, "muster_ranks_ended", PROMTEXT_GAUGE, "Of them have ended.",
                 j->at != NULL ? j->at->exited : 0);
    promtext_one(out, "muster_output_bytes_total", PROMTEXT_COUNTER,
                 "Bytes that ranks printed.", (double)(j->printed_before + j->printed));
}

static void put_source(const struct job *j, struct buf *out)
{
    struct source_status s;
    job_roll_source(j, &s);
    dns_stats_metrics(&s.dns, "muster", out);
    promtext_one(out, "muster_source_rounds_total", PROMTEXT_COUNTER,
                 "Rounds of questions.", (double)s.rounds);
}

void job_metrics(const struct job *j, struct buf *out)
{
    put_state(j, out);
    put_restarts(j, out);
    put_members(j, out);
    put_findings(j, out);
    put_ranks(j, out);
    put_source(j, out);
}
