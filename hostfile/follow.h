// Follows a source for as long as the program runs: what it says now, and every change.
//
// A hostfile is read again when it changed: inotify on its directory and on those of the links
// that lead to it (an editor's rename, a write in place, a ConfigMap's swap of ..data), and every
// interval. Its content is compared, never its time. Names are asked again at least every
// interval (source.h, poll_ms). What has been good stays when a change is bad or the file is
// gone: that is logged. What is made of a read comes from that one read.
//
// A hostfile is
//   CURRENT    as it was read
//   UNSETTLED  somebody is changing it: looked at soon after they have closed it (or renamed
//              it into place), later when they keep it open
//   SEEN       it has another text; taken when it still has that at a second look, so that
//              no half of a text and no mix of two is ever taken
#ifndef MUSTER_HOSTFILE_FOLLOW_H
#define MUSTER_HOSTFILE_FOLLOW_H

#include <stdbool.h>
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
    bool patient;          // a hostfile that is not there yet is waited for
    bool strict;           // failed() also after it was good, until follow_hold()
    struct source_ops ops; // failed(): it was never good
    void *arg;
};

// Errors are those of source_start(), and HF_OWN_OUTPUT for a hostfile that
// muster-sidecar wrote.
struct follow *follow_start(const struct follow_conf *conf, struct err *err);
// Counters go on when the source is started again.
void follow_status(const struct follow *f, struct source_status *out);
// As source_recheck().
void follow_recheck(struct follow *f, const char *lost);
// From now on what has been good stays, whatever becomes of the source.
void follow_hold(struct follow *f);
// SHA-256, in hexadecimal, of the content of the hostfile that the members come from; NULL:
// the source is no hostfile.
const char *follow_digest(const struct follow *f);

// Can it be read?
struct follow_health {
    bool read;         // at least once: the file, or an answer of DNS
    int64_t age_ms;    // since then; -1: never, or it is no file and needs no DNS
    uint64_t changes;  // that were taken
    uint64_t failures; // looks at it, or texts, that were no good
    const char *said;  // what is wrong now; NULL: nothing. Borrowed
};
void follow_health(const struct follow *f, struct follow_health *out);
void follow_stop(struct follow *f); // NULL-safe; also from inside a callback

#endif
