// One line an event, written whole.
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/jsontext.h"
#include "common/mem.h"
#include "common/std.h"

enum { WAIT_MS = 100 }; // for a reader that is slow

struct log {
    int fd;
    char *name;
    enum log_level level;
    bool json;
    bool (*is_open)(void *arg); // NULL: nobody else writes there
    void *arg;
    bool stuck; // the reader took nothing: not waited for until it does
};

struct log *log_create(int fd, const char *name, enum log_level level)
{
    struct log *log = xcalloc(1, sizeof *log);
    log->fd = fd;
    log->name = xstrdup(name);
    log->level = level;
    return log;
}

void log_destroy(struct log *log)
{
    if (log == NULL)
        return;
    free(log->name);
    free(log);
}

void log_set_level(struct log *log, enum log_level level)
{
    log->level = level;
}

void log_set_json(struct log *log, bool json)
{
    log->json = json;
}

void log_set_begin(struct log *log, bool (*is_open)(void *arg), void *arg)
{
    log->is_open = is_open;
    log->arg = arg;
}

static char *json_line(const struct log *log, enum log_level level, const char *text)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    BUF_AUTO out = BUF_INIT;
    struct timespec now;
    struct tm utc;
    char time[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
    buf_printf(&out, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"program\":\"%s\",",
               time, now.tv_nsec / 1000000, words[level], log->name);
    buf_append_str(&out, "\"text\":");
    jsontext_string(&out, text);
    buf_append_str(&out, "}\n");
    return buf_steal_str(&out);
}

static char *text_line(const struct log *log, enum log_level level, const char *text)
{
    static const char *const words[] = {"error: ", "warning: ", "", "debug: "};
    const char *begin = log->is_open != NULL && log->is_open(log->arg) ? "\n" : "";
    return xasprintf("%s%s: %s%s\n", begin, log->name, words[level], text);
}

void log_at(struct log *log, enum log_level level, const char *fmt, ...)
{
    if (log == NULL || level > log->level)
        return;
    int saved = errno;
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    CLEANUP_FREE char *line =
        log->json ? json_line(log, level, text) : text_line(log, level, text);
    // A log that cannot be written must not stop the work.
    log->stuck = !std_write(log->fd, line, strlen(line), log->stuck ? 0 : WAIT_MS);
    errno = saved;
}
