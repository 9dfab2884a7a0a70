// What became of a job's attempts, in numbers that only grow. Pure: the caller has the
// clock.
#ifndef MUSTER_LAUNCHER_JOB_STATS_H
#define MUSTER_LAUNCHER_JOB_STATS_H

#include <stdint.h>

#include "launcher/job_fsm.h"
#include "launcher/verdict.h"

struct job_stats;

// A histogram: how many took at most so many seconds (job_stats_bounds), and all of them.
enum { JOB_STATS_BUCKETS = 10, JOB_STATS_CAUSES = VERDICT_ORDER };

struct job_stats_times {
    uint64_t within[JOB_STATS_BUCKETS]; // cumulative
    uint64_t n;
    double sum_s;
};

// Upper bounds in seconds, ascending.
const double *job_stats_bounds(void);
// "exit", "signal", "loss": what a restart follows, as a label. None follows an order.
const char *job_stats_cause(enum verdict_strength s);

struct job_stats *job_stats_create(void);
void job_stats_destroy(struct job_stats *s); // NULL-safe
// The job goes from one state to another; `v` is the verdict so far.
void job_stats_state(struct job_stats *s, uint64_t now_ms, enum job_state from,
                     enum job_state to, const struct verdict *v);

enum job_stats_word {
    JOB_STATS_EXIT, // of a rank that ended badly: since its end, as far as clocks agree
    JOB_STATS_LOSS, // of a member: since its last byte, which is not seen finer than
                    // heartbeats are
    JOB_STATS_WORDS,
};
const char *job_stats_word_name(enum job_stats_word w); // as a label

// The word of it came so late.
void job_stats_heard(struct job_stats *s, enum job_stats_word w, uint64_t late_ms);

uint64_t job_stats_restarts(const struct job_stats *s, enum verdict_strength cause);
const struct job_stats_times *job_stats_detection(const struct job_stats *s,
                                                  enum job_stats_word w);
// From the cause to the proofs that all ranks are gone.
const struct job_stats_times *job_stats_stopping(const struct job_stats *s);
// From the cause until all ranks of the next attempt run.
const struct job_stats_times *job_stats_recovery(const struct job_stats *s);
// Seconds from causes until ranks ran again; one that lasts counts.
double job_stats_lost_s(const struct job_stats *s, uint64_t now_ms);

#endif
