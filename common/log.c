// One line an event, written whole.
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

struct log {
    int fd;
    char *name;
    enum log_level level;
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
    ssize_t n = write(log->fd, line, strlen(line));
    (void)n; // a log that cannot be written must not stop the work
    errno = saved;
}
