// One reader for all of them.
#include "launcher/opt_number.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "common/signame.h"

uint32_t opt_number(struct argp_state *state, const char *option, const char *text,
                    uint32_t min, uint32_t max)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || v < min || v > max)
        argp_error(state, "%s %s: give a whole number from %u to %u", option, text, min,
                   max);
    return (uint32_t)v;
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
