// Counters and histograms of restarts.
#include "launcher/job_stats.h"

#include <stdlib.h>

#include "common/mem.h"

struct job_stats {
    uint64_t cause_ms; // of the outage that lasts; 0: none (no clock is at 0)
    uint64_t restarts[JOB_STATS_CAUSES];
    struct job_stats_times detection[JOB_STATS_WORDS], stopping, recovery;
};

static const double bounds[JOB_STATS_BUCKETS] = {0.1, 0.3, 1,   3,   10,
                                                 30,  60,  120, 300, 600};

const double *job_stats_bounds(void)
{
    return bounds;
}

const char *job_stats_cause(enum verdict_strength s)
{
    static const char *const names[JOB_STATS_CAUSES] = {
        [VERDICT_ERROR] = "exit",
        [VERDICT_SIGNAL] = "signal",
        [VERDICT_LOSS] = "loss",
    };
    return names[s];
}

struct job_stats *job_stats_create(void)
{
    return xcalloc(1, sizeof(struct job_stats));
}

void job_stats_destroy(struct job_stats *s)
{
    free(s);
}

static void observe(struct job_stats_times *t, double seconds)
{
    for (int i = 0; i < JOB_STATS_BUCKETS; i++)
        t->within[i] += seconds <= bounds[i] ? 1 : 0;
    t->n++;
    t->sum_s += seconds;
}

static double since_s(const struct job_stats *s, uint64_t now_ms)
{
    return (double)(now_ms - s->cause_ms) / 1e3;
}

void job_stats_state(struct job_stats *s, uint64_t now_ms, enum job_state from,
                     enum job_state to, const struct verdict *v)
{
    // A second failure, before ranks ran again, makes the same outage longer.
    if (to == JOB_STOP && v->failed && s->cause_ms == 0)
        s->cause_ms = now_ms;
    if (s->cause_ms == 0)
        return;
    if (from == JOB_STOP)
        observe(&s->stopping, since_s(s, now_ms));
    if (from == JOB_STOP && to == JOB_MUSTER && v->strength != VERDICT_ORDER)
        s->restarts[v->strength]++;
    if (to != JOB_RUN)
        return;
    observe(&s->recovery, since_s(s, now_ms));
    s->cause_ms = 0;
}

const char *job_stats_word_name(enum job_stats_word w)
{
    static const char *const names[JOB_STATS_WORDS] = {"exit", "loss"};
    return names[w];
}

void job_stats_heard(struct job_stats *s, enum job_stats_word w, uint64_t late_ms)
{
    observe(&s->detection[w], (double)late_ms / 1e3);
}

uint64_t job_stats_restarts(const struct job_stats *s, enum verdict_strength cause)
{
    return s->restarts[cause];
}

const struct job_stats_times *job_stats_detection(const struct job_stats *s,
                                                  enum job_stats_word w)
{
    return &s->detection[w];
}

const struct job_stats_times *job_stats_stopping(const struct job_stats *s)
{
    return &s->stopping;
}

const struct job_stats_times *job_stats_recovery(const struct job_stats *s)
{
    return &s->recovery;
}

double job_stats_lost_s(const struct job_stats *s, uint64_t now_ms)
{
    return s->recovery.sum_s + (s->cause_ms > 0 ? since_s(s, now_ms) : 0);
}
