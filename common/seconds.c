// Seconds into milliseconds.
#include "common/seconds.h"

#include <stdlib.h>

bool seconds_parse(const char *text, uint32_t *ms)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || !(v >= 0 && v <= SECONDS_MAX))
        return false;
    *ms = (uint32_t)(v * 1000 + 0.999);
    return true;
}
