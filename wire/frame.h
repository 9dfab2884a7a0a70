// The wire format: frames with a fixed header, and an incremental parser for them.
//
// Header, 48 bytes, integers big-endian:
//   0 u32 body length   4 u16 kind   6 u16 flags (0)
//   8 u64 seq: number of this frame on its link, from 1; 0: not numbered (PING, HELLO, ...).
//     Control and bulk frames are numbered apart, as control overtakes bulk
//  16 u64 ack: highest seq received on this link, of the same sort as this frame
//  24 u64 job          32 u32 term   36 u32 attempt   (what the message belongs to)
//  40 u32 src          44 u32 dst    (vertices of the tree, see tree.h)
// Bodies are protobuf messages of muster.proto. A relay forwards bodies unread.
// `seq` and `ack` belong to one hop and are set by the link; all else stays over hops.
#ifndef MUSTER_WIRE_FRAME_H
#define MUSTER_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

enum {
    FRAME_HEADER = 48,
    FRAME_BODY_MAX = 64 << 20, // control; a bigger length is a protocol error
    FRAME_BULK_MAX = 64 << 10, // one piece of output or input
};

// The version handshake (HELLO): another major version is refused.
enum { WIRE_MAJOR = 1, WIRE_MINOR = 0 };

// Direction: d = from the launcher down, u = up to it, h = one hop only, r = routed by
// dst. The message type of the body stands behind; numbers are never used again.
enum frame_kind {
    FRAME_HELLO = 1,     // h Hello, the first frame of both sides
    FRAME_REFUSE = 2,    // h Refuse, then the link ends
    FRAME_PING = 3,      // h no body; also carries ack
    FRAME_BYE = 4,       // h no body: sender sends nothing more
    FRAME_BYE_ACK = 5,   // h no body
    FRAME_ACK = 6,       // h Received: what came so far
    FRAME_RESUMED = 7,   // h Received: the answer to a HELLO with `resume`
    FRAME_ATTACH = 10,   // d Attach: you are this vertex; dial your children
    FRAME_ATTACHED = 11, // u Attached: a vertex of the subtree is there
    FRAME_LOST = 12, // u Lost: a vertex of the subtree cannot be reached or went away
    FRAME_REATTACH = 13,      // d Reattach: a vertex is dialed again
    FRAME_ROLL = 15,          // d Roll: members and seats, as they are now
    FRAME_CLAIM = 16,         // d no body: the frame's term is claimed
    FRAME_RECORD = 17,        // d no body: asks for u Record, which also follows ATTACH
    FRAME_GRANT = 18,         // u no body: and no rank of a lower term is left here
    FRAME_DENY = 19,          // u Record: another launcher has a term that is not lower
    FRAME_PREPARE = 20,       // d Prepare
    FRAME_READY = 21,         // u Ready
    FRAME_FAILED = 22,        // u Failed: prepare or start failed
    FRAME_GO = 23,            // d Go
    FRAME_STARTED = 24,       // u Started
    FRAME_EXITED = 25,        // u Exited: one rank is gone
    FRAME_SIGNAL = 26,        // d Signal
    FRAME_STOP = 27,          // d Stop: end all ranks of the attempt
    FRAME_STOPPED = 28,       // u Stopped: the proof
    FRAME_DONE = 29,          // d Done: to remember
    FRAME_OUTPUT = 30,        // u Output (bulk)
    FRAME_INPUT = 31,         // d Output (bulk), for stdin
    FRAME_CREDIT = 32,        // d and u Credit
    FRAME_ACCOUNT = 33,       // d Account: to remember
    FRAME_INSPECT = 34,       // d Inspect: find out whether the pod is fit for ranks
    FRAME_VERDICT = 35,       // u Verdict: what came of it
    FRAME_COLL = 40,          // u Coll: a vertex's part of a collective
    FRAME_COLL_DONE = 41,     // d Coll: its result
    FRAME_MODEX = 42,         // r Modex: direct modex request
    FRAME_MODEX_DONE = 43,    // r Modex: its answer
    FRAME_ABORT = 44,         // u Abort: a rank called abort
    FRAME_PMIX_USED = 45,     // u PmixUsed: a rank of this vertex has connected to PMIx
    FRAME_NAMES = 46,         // u Names: publish, lookup, unpublish
    FRAME_NAMES_DONE = 47,    // r NamesDone: its answer
    FRAME_SPAWN_REQUEST = 48, // u SpawnRequest: a rank starts a further world
    FRAME_SPAWN_DONE = 49,    // r SpawnDone: its answer
    FRAME_NOTIFY = 50,        // u, then d Notify: an event
    FRAME_ROLES = 51,         // d Roles: where the job's other roles are now
    FRAME_PMIX_SETUP = 60,    // agent to muster-pmixd: PmixSetup
    FRAME_PMIX_READY = 61,    // muster-pmixd to agent: PmixReady
    FRAME_PMIX_CLIENT = 62,   // muster-pmixd to agent: PmixClient
    FRAME_PMIX_LOG = 63,      // muster-pmixd to agent: PmixLog
    FRAME_SPAWN = 70,         // agent to keeper: Spawn
    FRAME_LOOKUP = 71,        // agent to keeper: Lookup
    FRAME_LOOKUP_DONE = 72,   // keeper to agent: LookupDone
    FRAME_ASK = 80,           // u Ask: also of a client to an agent
    FRAME_ANSWER = 81,        // d Answer
    FRAME_ALIVE = 82,         // u no body: is the launcher there? d no body: it is
};

// Bulk frames go behind all control frames.
static inline bool frame_is_bulk(uint16_t kind)
{
    return kind == FRAME_OUTPUT || kind == FRAME_INPUT;
}

// "PREPARE", for logs; "?" for an unknown kind.
const char *frame_kind_name(uint16_t kind);

struct frame {
    uint16_t kind, flags;
    uint64_t seq, ack, job;
    uint32_t term, attempt, src, dst;
    const uint8_t *body; // borrowed
    size_t len;
};

void frame_encode(struct buf *out, const struct frame *f);

// Takes the next whole frame at the front of `in`: 1 and *f points into `in` (valid
// until `in` is changed; the caller then takes *used bytes), 0 when more bytes are
// needed, -1 with err on a broken one: the link is of no more use.
int frame_decode(const struct buf *in, struct frame *f, size_t *used, struct err *err);

#endif
