// The table of thresholds, and its reader.
#include "common/thresholds.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

enum { FILE_MAX = 64 * 1024 };

static const struct row {
    const char *name;
    double value, min, max;
} table[THRESHOLD_COUNT] = {
    [THRESHOLD_SLOW_FACTOR] = {"slow_factor", 2, 1, 1000},
    [THRESHOLD_CLEAR_FACTOR] = {"clear_factor", 1.5, 1, 1000},
    [THRESHOLD_RTT_SLACK_US] = {"rtt_slack_us", 100, 0, 1e6},
    [THRESHOLD_CPU_COPY_MIN_GB_S] = {"cpu_copy_min_gb_s", 0, 0, 1e6},
    [THRESHOLD_NET_MIN_MB_S] = {"net_min_mb_s", 0, 0, 1e9},
    [THRESHOLD_NET_MAX_RTT_US] = {"net_max_rtt_us", 1e6, 0, 1e9},
    [THRESHOLD_GPU_COPY_MIN_GB_S] = {"gpu_copy_min_gb_s", 0, 0, 1e6},
    [THRESHOLD_GPU_TEMPERATURE_MARGIN_C] = {"gpu_temperature_margin_c", 0, 0, 200},
    [THRESHOLD_GPU_PCIE_WIDTH_SHARE] = {"gpu_pcie_width_share", 1, 0, 1},
    [THRESHOLD_GPU_UNCORRECTED_MAX] = {"gpu_uncorrected_max", 0, 0, 1e12},
    [THRESHOLD_GPU_RETIRED_PAGES_MAX] = {"gpu_retired_pages_max", 60, 0, 1e6},
    [THRESHOLD_XID_WINDOW_S] = {"xid_window_s", 3600, 0, 1e9},
};

void thresholds_default(struct thresholds *t)
{
    for (size_t i = 0; i < THRESHOLD_COUNT; i++)
        t->v[i] = table[i].value;
}

const char *thresholds_name(enum threshold id)
{
    return table[id].name;
}

static int find(const char *name)
{
    for (int i = 0; i < THRESHOLD_COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return i;
    return -1;
}

static int take(struct thresholds *t, const char *name, const char *value,
                struct err *err)
{
    int i = find(name);
    if (i < 0) {
        err_set(err, "'%s' is no threshold: muster-checks(7) lists them", name);
        return -1;
    }
    char *end;
    double v = strtod(value, &end);
    if (end == value || *end != '\0' || !(v >= table[i].min && v <= table[i].max)) {
        err_set(err, "%s: '%s' is no number from %g to %g", name, value, table[i].min,
                table[i].max);
        return -1;
    }
    t->v[i] = v;
    return 0;
}

// One line without its newline; it is changed.
static int take_line(struct thresholds *t, char *line, struct err *err)
{
    static const char blanks[] = " \t\r";
    char *at = NULL;
    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(line, blanks, &at);
    const char *value = strtok_r(NULL, blanks, &at);
    const char *more = strtok_r(NULL, blanks, &at);
    if (name == NULL)
        return 0;
    if (value == NULL || more != NULL) {
        err_set(err, "a line is a name and a value, as in 'slow_factor 2'");
        return -1;
    }
    return take(t, name, value, err);
}

static int check_all(const struct thresholds *t, struct err *err)
{
    if (t->v[THRESHOLD_CLEAR_FACTOR] <= t->v[THRESHOLD_SLOW_FACTOR])
        return 0;
    err_set(err,
            "clear_factor %g is above slow_factor %g: what is slow would be cleared",
            t->v[THRESHOLD_CLEAR_FACTOR], t->v[THRESHOLD_SLOW_FACTOR]);
    return -1;
}

int thresholds_parse(struct thresholds *t, const char *file, const char *text, size_t n,
                     struct err *err)
{
    struct thresholds got = *t;
    const char *end = text + n;
    for (unsigned number = 1; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop != NULL ? stop : end;
        CLEANUP_FREE char *line = xstrndup(text, (size_t)(stop - text));
        bool whole = strlen(line) == (size_t)(stop - text);
        if (!whole)
            err_set(err, "there is a NUL byte in the line");
        if (!whole || take_line(&got, line, err) < 0) {
            err_prefix(err, "%s:%u", file, number);
            return -1;
        }
        text = stop + 1;
    }
    if (check_all(&got, err) < 0) {
        err_prefix(err, "%s", file);
        return -1;
    }
    *t = got;
    return 0;
}

int thresholds_read(struct thresholds *t, const char *path, struct err *err)
{
    CLEANUP_FREE char *text = xmalloc(FILE_MAX + 1);
    FILE *f = fopen(path, "re");
    size_t n = f != NULL ? fread(text, 1, FILE_MAX + 1, f) : 0;
    int failed = f == NULL || ferror(f) ? errno : 0;
    if (f != NULL)
        fclose(f);
    if (failed != 0) {
        err_set_errno(err, failed, "%s", path);
        return -1;
    }
    if (n > FILE_MAX) {
        err_set(err, "%s: more than %d bytes are no file of thresholds", path,
                FILE_MAX);
        return -1;
    }
    return thresholds_parse(t, path, text, n, err);
}

char *thresholds_text(const struct thresholds *t)
{
    BUF_AUTO text = BUF_INIT;
    for (int i = 0; i < THRESHOLD_COUNT; i++)
        buf_printf(&text, "%s %.17g\n", thresholds_name((enum threshold)i), t->v[i]);
    return buf_steal_str(&text);
}
