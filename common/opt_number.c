// One reader for all of them.
#include "common/opt_number.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "common/signame.h"

uint64_t opt_whole(struct argp_state *state, const char *option, const char *text,
                   uint64_t min, uint64_t max)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || v < min || v > max)
        argp_error(state, "%s %s: give a whole number from %llu to %llu", option, text,
                   (unsigned long long)min, (unsigned long long)max);
    return v;
}

uint32_t opt_number(struct argp_state *state, const char *option, const char *text,
                    uint32_t min, uint32_t max)
{
    return (uint32_t)opt_whole(state, option, text, min, max);
}

double opt_real(struct argp_state *state, const char *option, const char *text,
                double max)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || !(v >= 0 && v <= max))
        argp_error(state, "%s %s: give a number from 0 to %g", option, text, max);
    return v;
}

int opt_signal(struct argp_state *state, const char *option, const char *text)
{
    int signo = signame_parse(text);
    if (signo == 0 || signo == SIGKILL || signo == SIGSTOP)
        argp_error(
            state,
            "%s %s: give the name or number of a signal that a program can catch, "
            "such as USR1",
            option, text);
    return signo;
}
