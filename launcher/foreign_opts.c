// One text for each.
#include "launcher/foreign_opts.h"

enum { KEY_FIRST = 0x300, N = 5 };

static const char by_environment[] =
    "a parameter of Open MPI's ranks is set with -x OMPI_MCA_NAME=VALUE; those of its "
    "launcher are not needed";
static const char not_bound[] = "ranks are not bound to cores; leave it out";
static const char not_needed[] = "it is not needed; leave it out";

static const char *const hints[N] = {
    by_environment, not_bound, not_bound, not_needed, not_needed,
};

static const struct argp_option options[] = {
    {"mca", KEY_FIRST, "NAME", OPTION_HIDDEN, NULL, 0},
    {"bind-to", KEY_FIRST + 1, "WHAT", OPTION_HIDDEN, NULL, 0},
    {"report-bindings", KEY_FIRST + 2, NULL, OPTION_HIDDEN, NULL, 0},
    {"allow-run-as-root", KEY_FIRST + 3, NULL, OPTION_HIDDEN, NULL, 0},
    {"prefix", KEY_FIRST + 4, "DIR", OPTION_HIDDEN, NULL, 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key < KEY_FIRST || key >= KEY_FIRST + N)
        return ARGP_ERR_UNKNOWN;
    argp_error(state, "--%s is mpirun's: %s (see FROM MPIRUN in muster-run(1))",
               options[key - KEY_FIRST].name, hints[key - KEY_FIRST]);
    return 0;
}

const struct argp *foreign_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}
