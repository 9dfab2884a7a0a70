// Event log as JSON lines.
#include "launcher/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"
#include "launcher/spool.h"

enum { WAIT_MS = 100, FINISH_MS = 1000 };

struct events {
    int fd;              // -1: drop
    struct spool *spool; // NULL: no regular file
    struct log *log;
    uint64_t start_ms;
};

// A regular file is written by a process of its own.
static int put_behind(struct events *e, const char *path, struct err *err)
{
    struct stat st = {0};
    CLEANUP_CLOSE int file = e->fd;
    if (fstat(file, &st) < 0 || !S_ISREG(st.st_mode)) {
        mem_steal_fd(&file);
        return 0;
    }
    e->spool = spool_to_log(file, path, err);
    e->fd = e->spool != NULL ? fcntl(spool_fd(e->spool), F_DUPFD_CLOEXEC, 3) : -1;
    return e->spool != NULL ? 0 : -1;
}

struct events *events_open(const char *path, bool go_on, struct log *log,
                           struct err *err)
{
    struct events *e = xcalloc(1, sizeof *e);
    e->fd = -1;
    e->log = log;
    e->start_ms = loop_now_ms();
    if (path == NULL)
        return e;
    // A FIFO without a reader is refused, and one with a slow reader not waited for.
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    e->fd = strcmp(path, "-") == 0 ? fcntl(2, F_DUPFD_CLOEXEC, 3)
                                   : open(path, flags | (go_on ? 0 : O_TRUNC), 0666);
    if (e->fd < 0)
        err_set_errno(err, errno, "--events %s", path);
    if (e->fd >= 0 && put_behind(e, path, err) == 0)
        return e;
    events_close(e);
    return NULL;
}

static void tell_failures(struct events *e)
{
    char *name = NULL;
    for (int errnum = 0; spool_failed(e->spool, &name, &errnum) > 0; free(name))
        log_warn(
            e->log,
            "--events: cannot write to %s: %s; events are missing there from here on, "
            "as long as this is so",
            name, strerror(errnum));
}

void events_close(struct events *e)
{
    ERR_AUTO err = ERR_INIT;
    if (e == NULL)
        return;
    if (e->fd >= 0)
        close(e->fd);
    if (e->spool != NULL && spool_finish(e->spool, FINISH_MS, &err) < 0)
        log_warn(e->log, "--events: %s", err_text(&err));
    if (e->spool != NULL)
        tell_failures(e);
    spool_destroy(e->spool);
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
    return jsonpack_text(text);
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
    json_object_set_new(line, "event", jsonpack_text(name));
    if (fields != NULL)
        json_object_update(line, fields);
    json_decref(fields);
    CLEANUP_FREE char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(line);
    if (text == NULL)
        return;
    CLEANUP_FREE char *whole = xasprintf("%s\n", text);
    if (e->spool != NULL)
        tell_failures(e);
    errno = 0;
    // A full disk must not end the job, and half a line is none.
    if (std_write(e->fd, whole, strlen(whole), WAIT_MS))
        return;
    log_warn(e->log, "--events: cannot be written (%s); no more events are told",
             errno == EAGAIN || errno == 0 ? "nobody reads them" : strerror(errno));
    close(e->fd);
    e->fd = -1;
}
