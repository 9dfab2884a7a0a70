// --deadline and --thresholds.
#include "kernels/check/check_opts.h"

#include <stdlib.h>
#include <string.h>

#include "common/seconds.h"
#include "common/std.h"
#include "kernels/check/finding.h"

#define THRESHOLDS_VARIABLE "MUSTER_CHECK_THRESHOLDS"

enum { KEY_DEADLINE = 0x200, KEY_THRESHOLDS };

static const struct argp_option options[] = {
    {"deadline", KEY_DEADLINE, "SECONDS", 0,
     "Say a verdict after this time, done or not (default: 8)", 8},
    {"thresholds", KEY_THRESHOLDS, "FILE", 0,
     "Override thresholds by `name value` lines (muster-checks(7))", 8},
    {0},
};

// From `muster check --check-thresholds`; --thresholds goes further.
static void take_environment(struct argp_state *state, struct check_opts *o)
{
    ERR_AUTO err = ERR_INIT;
    const char *text = getenv(THRESHOLDS_VARIABLE);
    if (text != NULL && thresholds_parse(&o->thresholds, "$" THRESHOLDS_VARIABLE, text,
                                         strlen(text), &err) < 0)
        argp_error(state, "%s", err_text(&err));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct check_opts *o = state->input;
    ERR_AUTO err = ERR_INIT;
    switch (key) {
    case ARGP_KEY_INIT:
        o->deadline_ms = CHECK_DEADLINE_MS;
        thresholds_default(&o->thresholds);
        take_environment(state, o);
        return 0;
    case KEY_DEADLINE:
        if (!seconds_parse(arg, &o->deadline_ms) ||
            o->deadline_ms < CHECK_DEADLINE_MIN_MS)
            argp_error(state, "--deadline %s: give seconds, %g to %d", arg,
                       CHECK_DEADLINE_MIN_MS / 1e3, SECONDS_MAX);
        return 0;
    case KEY_THRESHOLDS:
        if (thresholds_read(&o->thresholds, arg, &err) < 0)
            argp_error(state, "--thresholds: %s", err_text(&err));
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "what is '%s'? there are options only", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void check_opts_parse(const struct argp *own, int argc, char **argv, void *input)
{
    static const struct argp common = {.options = options, .parser = parse};
    const struct argp_child children[] = {{&common, 0, NULL, 2}, {0}};
    struct argp argp = *own;
    argp.children = children;
    std_fill();
    argp_err_exit_status = FINDING_COULD_NOT_RUN;
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, input);
}
