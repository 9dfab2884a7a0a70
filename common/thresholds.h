// Thresholds of the health checks: defaults, and a file that overrides them.
//
// One table (thresholds.c) has all of them; muster-checks(7) says what each one does. A file
// has one `name value` a line, and `#` comments; what it does not name stays.
#ifndef MUSTER_COMMON_THRESHOLDS_H
#define MUSTER_COMMON_THRESHOLDS_H

#include <stddef.h>

#include "common/err.h"

enum threshold {
    THRESHOLD_SLOW_FACTOR,
    THRESHOLD_CLEAR_FACTOR,
    THRESHOLD_RTT_SLACK_US,
    THRESHOLD_CPU_COPY_MIN_GB_S,
    THRESHOLD_NET_MIN_MB_S,
    THRESHOLD_NET_MAX_RTT_US,
    THRESHOLD_GPU_COPY_MIN_GB_S,
    THRESHOLD_GPU_TEMPERATURE_MARGIN_C,
    THRESHOLD_GPU_PCIE_WIDTH_SHARE,
    THRESHOLD_GPU_UNCORRECTED_MAX,
    THRESHOLD_GPU_RETIRED_PAGES_MAX,
    THRESHOLD_XID_WINDOW_S,
    THRESHOLD_COUNT,
};

struct thresholds {
    double v[THRESHOLD_COUNT];
};

void thresholds_default(struct thresholds *t);
const char *thresholds_name(enum threshold id);
// Overrides *t by a text of n bytes; `file` is for errors, which say file:line. All or
// nothing.
int thresholds_parse(struct thresholds *t, const char *file, const char *text, size_t n,
                     struct err *err);
// The same with the content of a file.
int thresholds_read(struct thresholds *t, const char *path, struct err *err);
// All of them as such a text. Caller frees.
char *thresholds_text(const struct thresholds *t);

#endif
