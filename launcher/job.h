// One `muster run`: from members to exit code. States: job_fsm.h.
//
// The job owns everything it waits for: source, branch, output, timers. It is driven by
// callbacks of the event loop only and ends with done().
#ifndef MUSTER_LAUNCHER_JOB_H
#define MUSTER_LAUNCHER_JOB_H

#include <jansson.h>

#include "launcher/opts.h"
#include "wire/muster.pb-c.h"

struct event_base;
struct events;
struct job;
struct keyring;
struct log;

// For so long a file may take nothing, at the end, before what is left is given up.
enum { JOB_FILE_BOUND_MS = 30000 };
// The cause, of a run in which nothing else went wrong.
#define JOB_OUTPUT_LOST "the ranks ended well, but output of theirs was lost: %s"

struct job_conf {
    struct event_base *base;
    const struct opts *opts;            // borrowed
    const struct keyring *keys;         // borrowed; NULL for the local machine
    const char *key_dir;                // where they come from
    const Muster__Hello *hello;         // borrowed: what this launcher says of itself
    const struct output_places *places; // borrowed: where the ranks' output goes
    struct events *events;              // borrowed
    struct log *log;
    void (*done)(void *arg); // the job is over; job_code() and job_text() say how
    void *arg;
};

// NULL with err when nothing was started (bad source).
struct job *job_create(const struct job_conf *conf, struct err *err);
void job_destroy(struct job *j);
// SIGINT, SIGTERM: the first stops the ranks in order, the second at once.
void job_interrupt(struct job *j, int signo);
// Any other signal for the ranks.
void job_signal(struct job *j, int signo);
// `name`, where output goes, cannot be written; what comes for it is dropped.
void job_output_failed(struct job *j, const char *name, int errnum);
// Nobody wants to wait for what is still to be written: the user interrupted, or it was
// given up.
bool job_output_is_left(const struct job *j);
// See output_wants_newline.
bool job_wants_newline(struct job *j);
// Of a job that only inspects (opts.check.only): {"members": [{"member", "name", "address",
// "verdict", "why", "checks": [{"check", "verdict", "why", "seconds", "evidence"}]}]}. No members
// where they were not even found. Caller decrefs.
json_t *job_inspection(const struct job *j);
int job_code(const struct job *j);
// The first cause, or NULL when all went well.
const char *job_text(const struct job *j);

#endif
