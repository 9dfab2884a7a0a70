// Numbers and signals among the options of a program (argp).
#ifndef MUSTER_LAUNCHER_OPT_NUMBER_H
#define MUSTER_LAUNCHER_OPT_NUMBER_H

#include <argp.h>
#include <stdint.h>

// A whole number from min to max; anything else is a usage error, which ends the program.
uint32_t opt_number(struct argp_state *state, const char *option, const char *text,
                    uint32_t min, uint32_t max);
// A signal that a program can catch, by name or number.
int opt_signal(struct argp_state *state, const char *option, const char *text);

#endif
