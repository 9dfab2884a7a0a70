// Reading /dev/kmsg: one read(2) a record, EPIPE where old ones were lost.
#include "kernels/check/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/mem.h"

enum { GPUS_MAX = 64, RECORD_MAX = 16384, LOST_MAX = 1000 };

uint64_t kernel_log_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void keep(struct kernel_log *log, const struct xid_event *e)
{
    for (size_t i = 0; i < log->n; i++) {
        if (strcasecmp(log->v[i].bus_id, e->bus_id) != 0)
            continue;
        if (xid_is_worse(e, &log->v[i]))
            log->v[i] = *e;
        return;
    }
    if (log->n == GPUS_MAX)
        return;
    log->v = xrealloc(log->v, log->n + 1, sizeof *log->v);
    log->v[log->n++] = *e;
}

int kernel_log_read(struct kernel_log *log, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    CLEANUP_FREE char *line = NULL;
    CLEANUP_FREE char *buffer = xmalloc(RECORD_MAX);
    size_t size = 0;
    *log = (struct kernel_log){0};
    if (f == NULL) {
        err_set_errno(err, errno, "%s", path);
        return -1;
    }
    setvbuf(f, buffer, _IOFBF, RECORD_MAX);
    for (unsigned lost = 0; lost < LOST_MAX;) {
        struct xid_event e;
        errno = 0;
        if (getline(&line, &size, f) >= 0) {
            if (xid_parse(line, &e))
                keep(log, &e);
        } else if (errno == EPIPE) {
            lost++;
            clearerr(f);
        } else {
            break; // EAGAIN: that was all
        }
    }
    fclose(f);
    return 0;
}

const struct xid_event *kernel_log_of(const struct kernel_log *log, const char *bus_id)
{
    for (size_t i = 0; i < log->n; i++) {
        size_t n = strlen(log->v[i].bus_id);
        if (strncasecmp(log->v[i].bus_id, bus_id, n) == 0 && bus_id[n] == '.')
            return &log->v[i];
    }
    return NULL;
}

void kernel_log_free(struct kernel_log *log)
{
    free(log->v);
    *log = (struct kernel_log){0};
}
