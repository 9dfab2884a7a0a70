// Times as options give them: seconds, with a fraction. Pure.
#ifndef MUSTER_COMMON_SECONDS_H
#define MUSTER_COMMON_SECONDS_H

#include <stdbool.h>
#include <stdint.h>

enum { SECONDS_MAX = 1000000 };

// "0.5" into 500 milliseconds, rounded up: only 0 is 0. False for what is no number from
// 0 to SECONDS_MAX.
bool seconds_parse(const char *text, uint32_t *ms);

#endif
