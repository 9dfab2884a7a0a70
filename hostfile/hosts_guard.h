// Keeps the managed block of a hosts file as wanted, in the event loop.
//
// States:
//   CURRENT    the file is as wanted; inotify tells of changes (a poll every 5 s besides)
//   UNSETTLED  somebody writes to it: looked at when they have closed it, or have been
//              quiet for some milliseconds, in time to be back within 100 ms
//   FAILED     it could not be brought there; tried again every second, said once
#ifndef MUSTER_HOSTFILE_HOSTS_GUARD_H
#define MUSTER_HOSTFILE_HOSTS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "hostfile/hosts_want.h"

struct event_base;
struct hosts_guard;
struct log;
struct watch;

// Opens and locks the file: errors of hosts_file_open(). `watch` is borrowed; NULL (whoever
// could not make it has logged that): the file is looked at every 40 ms instead.
struct hosts_guard *hosts_guard_create(struct event_base *base, struct watch *watch,
                                       const char *path, struct log *log,
                                       struct err *err);
void hosts_guard_destroy(struct hosts_guard *g); // NULL-safe; the block stays

// Takes the lines over and writes what changed, now if the file is quiet. -1 with the
// reason when it cannot be done now; it is tried again all the same.
int hosts_guard_set(struct hosts_guard *g, struct hosts_want *want, struct err *err);
// Is the file as wanted, as far as is known?
bool hosts_guard_is_current(const struct hosts_guard *g);
// Why it cannot be brought there, as it was logged last; NULL: nothing failed.
const char *hosts_guard_failure(const struct hosts_guard *g);

struct hosts_guard_status {
    bool current, failed;
    uint64_t writes;   // times that something in it was changed
    uint64_t failures; // times that it could not be brought there
};
void hosts_guard_status(const struct hosts_guard *g, struct hosts_guard_status *out);

#endif
