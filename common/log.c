// One line an event, written whole.
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/std.h"

enum { WAIT_MS = 100 }; // for a reader that is slow

struct log {
    int fd;
    char *name;
    enum log_level level;
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

void log_at(struct log *log, enum log_level level, const char *fmt, ...)
{
    static const char *const words[] = {"error: ", "warning: ", "", "debug: "};
    if (log == NULL || level > log->level)
        return;
    int saved = errno;
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    CLEANUP_FREE char *line = xasprintf("%s: %s%s\n", log->name, words[level], text);
    // A log that cannot be written must not stop the work.
    log->stuck = !std_write(log->fd, line, strlen(line), log->stuck ? 0 : WAIT_MS);
    errno = saved;
}
