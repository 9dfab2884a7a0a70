// Follows a source for as long as the program runs: what it says now, and every change.
//
// A hostfile is read again when it changed: inotify on its directory (so that an editor's
// rename, a write in place and a ConfigMap's swap of ..data are seen), and a look at the
// content every interval: a change counts whatever the file's time and size say. Each read is
// whole, and what is made of it comes from that one read. Names are asked again at least
// every interval (source.h, poll_ms). What has been good stays when a change is bad: that is
// logged.
#ifndef MUSTER_HOSTFILE_FOLLOW_H
#define MUSTER_HOSTFILE_FOLLOW_H

#include <stdint.h>

#include "hostfile/source.h"

struct follow;
struct watch;

struct follow_conf {
    struct event_base *base;
    struct watch *watch; // borrowed; NULL: every interval only
    struct log *log;
    const struct source_spec *spec; // borrowed
    uint32_t interval_ms;
    bool strict;           // failed() also after it was good, until follow_hold()
    struct source_ops ops; // failed(): it was never good
    void *arg;
};

// Errors are those of source_start(), and HF_OWN_OUTPUT for a hostfile that
// muster-sidecar wrote.
struct follow *follow_start(const struct follow_conf *conf, struct err *err);
// Counters go on when the source is started again.
void follow_status(const struct follow *f, struct source_status *out);
// From now on what has been good stays, whatever becomes of the source.
void follow_hold(struct follow *f);
// SHA-256, in hexadecimal, of the content of the hostfile that the members come from; NULL:
// the source is no hostfile.
const char *follow_digest(const struct follow *f);
void follow_stop(struct follow *f); // NULL-safe; also from inside a callback

#endif
