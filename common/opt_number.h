// Numbers and signals among the options of a program (argp). What is none is a usage error, which ends
// the program.
#ifndef MUSTER_COMMON_OPT_NUMBER_H
#define MUSTER_COMMON_OPT_NUMBER_H

#include <argp.h>
#include <stdint.h>

// A whole number from min to max, in digits. `option` is as errors name it: "--seed".
uint64_t opt_whole(struct argp_state *state, const char *option, const char *text,
                   uint64_t min, uint64_t max);
uint32_t opt_number(struct argp_state *state, const char *option, const char *text,
                    uint32_t min, uint32_t max);
// Any number from 0 to max.
double opt_real(struct argp_state *state, const char *option, const char *text,
                double max);
// A signal that a program can catch, by name or number.
int opt_signal(struct argp_state *state, const char *option, const char *text);

#endif
