// After a failure: another attempt, or the end of the job. Pure: the caller has the clock.
//
// Each restart costs one of `max_restarts` for `window_ms`; then it is forgotten, so that a
// job that runs for weeks may be restarted often, and one that cannot run is not restarted
// for ever. An attempt whose ranks all ran for `healthy_ms` made progress: the pause before
// the next one is none again, and failures before it are not compared with the next.
#ifndef MUSTER_LAUNCHER_POLICY_H
#define MUSTER_LAUNCHER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct policy;

enum policy_on_failure { POLICY_ABORT, POLICY_RESTART };

enum { POLICY_RESTARTS_MAX = 1000, POLICY_PAUSE_MAX_MS = 30000 };

struct policy_conf {
    enum policy_on_failure on_failure;
    uint32_t max_restarts; // within window_ms; at most POLICY_RESTARTS_MAX
    uint32_t window_ms;
    uint32_t healthy_ms;
    uint32_t same_failures; // so many in a row end the job; 0: they do not
};

struct policy_failure {
    uint64_t now_ms;
    uint64_t ran_ms; // since all ranks had been started; 0: they had not
    bool order;      // by the user, or the user's mistake: never repeated
    long rank;       // whose end it was, -1: nobody's own
    int code;        // its exit code
};

struct policy *policy_create(const struct policy_conf *conf);
void policy_destroy(struct policy *p); // NULL-safe
// True: another attempt is due after *pause_ms. False: why, as an end of a sentence that
// the cause begins ("; " goes between); empty where nobody would ask.
bool policy_judge(struct policy *p, const struct policy_failure *f, uint32_t *pause_ms,
                  struct err *why);

// What it has seen so far, for the launcher that comes after this one.
struct policy_past {
    uint64_t *ago_ms; // of each restart, oldest first
    uint32_t n;
    uint32_t quick, same;
    long rank;
    int code;
};
void policy_save(const struct policy *p, uint64_t now_ms, // the caller frees ago_ms
                 struct policy_past *past);
void policy_restore(struct policy *p, uint64_t now_ms, const struct policy_past *past);

#endif
