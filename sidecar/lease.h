// The sidecar's side of the run directory (roll_json.h): a launcher's roll counts before
// the sidecar's own source for as long as its lease is renewed (lease_clock.h).
//
// A roll is applied as soon as it is there, and answered in applied.json: without an error
// when all files are written, with one when that fails or takes longer than a second. An
// error is taken back when the files are written after all. A roll that cannot be read is
// logged; the one before stays.
#ifndef MUSTER_SIDECAR_LEASE_H
#define MUSTER_SIDECAR_LEASE_H

#include <stdbool.h>

#include "common/err.h"

struct event_base;
struct keep;
struct lease;
struct log;
struct watch;

struct lease_conf {
    struct event_base *base;
    struct watch *watch; // NULL: polling
    struct log *log;
    const char *dir;   // borrowed
    struct keep *keep; // borrowed
    // From the loop: a roll counts now (and is about to be applied), or the own source.
    // Once as soon as that is known, then whenever it changes.
    void (*changed)(void *arg, bool held);
    void (*applied)(void *arg); // a roll was handed to `keep`; NULL: nobody asks
    void *arg;
};

// Locks applied.json, which says that a sidecar is here: errors of outfile_create().
struct lease *lease_create(const struct lease_conf *conf, struct err *err);
void lease_destroy(struct lease *l); // NULL-safe
bool lease_is_held(const struct lease *l);

#endif
