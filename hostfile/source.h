// Where members come from: one interface over all sources, in the event loop.
//
// A source never guesses: what it cannot read is an error that names file, line, column
// and word. Members that are named but have no address yet are reported with the
// reason, and asked for again (bounded by whoever waits) until source_destroy().
//
// DNS that fails changes nothing of what is known, one wrong or stale answer neither
// (belief.h). Names that hang on one headless Service cost one question a round as long as
// nothing changes (kin.h). All members have one family of addresses: FAMILY_MISMATCH else.
#ifndef MUSTER_HOSTFILE_SOURCE_H
#define MUSTER_HOSTFILE_SOURCE_H

#include <stdint.h>

#include "common/err.h"
#include "hostfile/members.h"
#include "hostfile/source_status.h"

struct buf;
struct dialect;
struct event_base;
struct log;
struct source;

enum source_kind {
    SOURCE_LOCAL,    // this machine: one member, its hostname, 127.0.0.1, no port
    SOURCE_HOSTFILE, // text: path of the file
    SOURCE_HOSTS,    // text: "a:2,b:2,[fd00::5]:4"; a bare host is 1 slot
    SOURCE_DNS,      // text: name of a headless Service
    SOURCE_PODS,     // text: "train-[0-3].train": one member a name
};

struct source_spec {
    enum source_kind kind;
    const char *text;
    const struct dialect *dialect; // of a hostfile; NULL: auto
    const struct buf *content; // of a hostfile that was read already; NULL: it is read
    int slots;               // slots of members without a count of their own; -1: none
    const char *resolv_conf; // NULL: /etc/resolv.conf
    const char *hosts_file;  // NULL: /etc/hosts
    const char *dns_servers; // NULL: those of resolv.conf; "10.96.0.10,127.0.0.1:5353"
    uint32_t
        poll_ms; // names that have an address are asked again as their TTL says, from
                 // 1 s (or this, if less) to this; 0: only those without one are,
                 // and Services, from 1 to 5 s
};

struct source_ops {
    // What is known now. Called after each round: first as soon as everything was asked
    // once, then whenever something changed. Borrowed: copy what you keep.
    void (*update)(void *arg, const struct members *members);
    // The source is unusable (unreadable, malformed, empty); nothing more comes.
    void (*failed)(void *arg, const struct err *err);
};

// "hostfile /etc/mpi/hostfile", "headless Service train", ... Caller frees.
char *source_describe(const struct source_spec *spec);
// True when later rounds can bring members that were not there before (DNS).
bool source_can_grow(const struct source_spec *spec);

// Starts asking from the loop; callbacks never come from inside this call. NULL with
// err when the spec cannot work at all (bad syntax).
struct source *source_start(struct event_base *base, const struct source_spec *spec,
                            const struct source_ops *ops, void *arg, struct log *log,
                            struct err *err);
// A member was lost: the address that its name has is of no use, and it may have another one.
// That name is asked soon, whatever its Service lists. Literals stay; a name that the source
// has not only makes the next round come soon. update() comes when something changed.
void source_recheck(struct source *s, const char *lost);
void source_status(const struct source *s, struct source_status *out);
void source_destroy(struct source *s); // NULL-safe; also from inside a callback

#endif
