// Options that say what is run to find out whether members are fit (argp child of `muster run`
// and `muster check`).
#ifndef MUSTER_LAUNCHER_CHECK_OPTS_H
#define MUSTER_LAUNCHER_CHECK_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/strv.h"
#include "common/thresholds.h"
#include "wire/muster.pb-c.h"

struct check_opts {
    struct strv commands; // --check-command, each of them: words
    uint32_t timeout_ms;  // --check-timeout
    bool full;            // --full
    bool pairs;           // --check-pairs: the network between members, too
    bool nccl;            // --check-over nccl: between their GPUs, instead
    struct thresholds thresholds;
    bool tuned;        // --check-thresholds: they are not the defaults
    bool only;         // the job inspects its members, and that is all
    unsigned when;     // --check, of `muster run` (inspection.h)
    const char *stray; // the first option that wants --check beside it; NULL: none
};

void check_opts_init(struct check_opts *o);
void check_opts_free(struct check_opts *o);
const struct argp *check_opts_argp(void);
// What members are asked; but for the number and the member's name. Caller frees with msg_free.
Muster__Inspect *check_opts_message(const struct check_opts *o);

// "MUSTER_CHECK_THRESHOLDS=...", for the environment of checks; NULL: defaults. Caller frees.
char *check_opts_thresholds_env(const struct check_opts *o);

#endif
