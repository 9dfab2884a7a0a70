// Logging for people on call: one line an event, through an object that main() makes.
//
// Libraries take a `struct log *` (borrowed; NULL: silent). Errors that end a program
// are no log lines: they travel in struct err and are printed once by main().
#ifndef MUSTER_COMMON_LOG_H
#define MUSTER_COMMON_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct log;

// Writes "name: text\n" to fd. A line that the reader does not take soon is lost.
struct log *log_create(int fd, const char *name, enum log_level level);
void log_destroy(struct log *log); // NULL-safe
void log_set_level(struct log *log, enum log_level level);
// Lines are {"time":"2026-01-31T12:00:00.123Z","level":"info","program":NAME,"text":TEXT}.
void log_set_json(struct log *log, bool json);
// Somebody else writes to the same place: asked before each line whether what is there
// needs a newline first.
void log_set_begin(struct log *log, bool (*is_open)(void *arg), void *arg);
void log_at(struct log *log, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(log, ...) log_at(log, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(log, ...)  log_at(log, LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(log, ...)  log_at(log, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(log, ...) log_at(log, LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
