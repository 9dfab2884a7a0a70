// What an agent and its pod's sidecar tell each other in the run directory. Pure.
//
//   roll.json      agent    the roll and its lease; replaced as a whole
//   roll.beat      agent    which roll that is, and a count that grows while the lease is
//                           renewed; changed in place
//   applied.json   sidecar  what the files were made of; replaced as a whole
// Who writes holds the lock of outfile.h on roll.json and applied.json: a locked
// applied.json says that a sidecar is there.
//
// A lease has no clock in it: its reader measures on its own monotonic clock since when
// the beat has not changed. Each grant of ownership has a new lease id, so what an agent
// of before has left is renewed by nobody.
#ifndef MUSTER_HOSTFILE_ROLL_JSON_H
#define MUSTER_HOSTFILE_ROLL_JSON_H

#include <stddef.h>

#include "common/buf.h"
#include "hostfile/roll.h"

#define ROLL_DIR_DEFAULT  "/run/muster"
#define ROLL_FILE         "roll.json"
#define ROLL_BEAT_FILE    "roll.beat"
#define ROLL_APPLIED_FILE "applied.json"

enum {
    ROLL_BEAT_MS = 1000,
    ROLL_LEASE_MS = 10000, // above a link's grace: a reset connection ends no lease
    ROLL_LEASE_ID_LEN = 32,
};

struct roll_lease {
    char id[ROLL_LEASE_ID_LEN + 1]; // random, hexadecimal
    uint32_t ms;                    // without a beat
};

void roll_json_write(const struct roll *r, const struct roll_lease *lease,
                     struct buf *out);
// NULL with err when it is none that can be used.
struct roll *roll_json_read(const char *text, size_t len, struct roll_lease *lease,
                            struct err *err);

struct roll_beat {
    char id[ROLL_LEASE_ID_LEN + 1];
    uint64_t generation, count;
};

// Of one length always.
void roll_beat_write(const struct roll_beat *b, struct buf *out);
int roll_beat_read(const char *text, size_t len, struct roll_beat *b);

struct roll_applied {
    char *job; // owned
    uint32_t term;
    uint64_t generation;
    char *error; // owned; "": all is written
};

void roll_applied_write(const struct roll_applied *a, struct buf *out);
// -1: it is none; *a is empty then.
int roll_applied_read(const char *text, size_t len, struct roll_applied *a);
void roll_applied_free(struct roll_applied *a);

#endif
