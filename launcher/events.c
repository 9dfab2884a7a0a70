// Event log as JSON lines.
#include "launcher/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"

enum { WAIT_MS = 100 };

struct events {
    int fd; // -1: drop
    struct log *log;
    uint64_t start_ms;
};

struct events *events_open(const char *path, struct log *log, struct err *err)
{
    struct events *e = xcalloc(1, sizeof *e);
    e->fd = -1;
    e->log = log;
    e->start_ms = loop_now_ms();
    if (path == NULL)
        return e;
    // A FIFO without a reader is refused, and one with a slow reader not waited for.
    int flags =
        O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    e->fd =
        strcmp(path, "-") == 0 ? fcntl(2, F_DUPFD_CLOEXEC, 3) : open(path, flags, 0666);
    if (e->fd >= 0)
        return e;
    err_set_errno(err, errno, "--events %s", path);
    free(e);
    return NULL;
}

void events_close(struct events *e)
{
    if (e == NULL)
        return;
    if (e->fd >= 0)
        close(e->fd);
    free(e);
}

static json_t *wall_clock(void)
{
    struct timespec ts;
    struct tm tm;
    char day[32], text[48];
    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof text, "%s.%03ldZ", day, ts.tv_nsec / 1000000);
    return json_string(text);
}

void events_write(struct events *e, const char *name, json_t *fields)
{
    if (e->fd < 0) {
        json_decref(fields);
        return;
    }
    json_t *line = json_object();
    json_object_set_new(line, "time", wall_clock());
    json_object_set_new(line, "t",
                        json_real((double)(loop_now_ms() - e->start_ms) / 1e3));
    json_object_set_new(line, "event", json_string(name));
    if (fields != NULL)
        json_object_update(line, fields);
    json_decref(fields);
    CLEANUP_FREE char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(line);
    if (text == NULL)
        return;
    CLEANUP_FREE char *whole = xasprintf("%s\n", text);
    errno = 0;
    // A full disk must not end the job, and half a line is none.
    if (std_write(e->fd, whole, strlen(whole), WAIT_MS))
        return;
    log_warn(e->log, "--events: cannot be written (%s); no more events are told",
             errno == EAGAIN || errno == 0 ? "nobody reads them" : strerror(errno));
    close(e->fd);
    e->fd = -1;
}
