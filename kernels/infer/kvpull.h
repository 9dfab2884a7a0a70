// A decode rank gets its part of a prompt's keys and values from the ranks that hold them, beside
// its steps: in the event loop, a bounded piece a turn.
//
//   NEXT --a source has some of it--> CONNECTING --> ASKING --> HEAD --what was asked for--> FLOATS
//    |  ^-- all layers are in the cache -- STORING <-- the checksum is right -- END <-- all came --+
//    +--no source is left--> over: all of it is there, or an error says that some is not
//   and from each of them --an error, or nothing comes--> over, with the error
//
// Nothing of a source is in the cache before all that it sends is checked.
#ifndef MUSTER_KERNELS_INFER_KVPULL_H
#define MUSTER_KERNELS_INFER_KVPULL_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/infer/kvcache.h"
#include "kernels/infer/kvwire.h"
#include "kernels/infer/shard.h"

struct event_base;
struct kvpull;

// Until a source is connected, until one that is sends more, and for all of it (a source lets go
// after PREFILL_HOLD_MS, too).
enum { KVPULL_CONNECT_MS = 2000, KVPULL_QUIET_MS = 5000, KVPULL_MS = 60000 };
// Bytes a turn: some 3 ms of a core.
enum { KVPULL_SLICE = 2 << 20 };

struct kvpull_what {
    const char *model; // KVWIRE_MODEL digits
    uint64_t hold;
    uint32_t n, slot; // positions, and where they go
    const struct kvwire_source *sources;
    uint32_t nsources;
    uint32_t quiet_ms; // 0: KVPULL_QUIET_MS
};

// `why`: NULL: it is there; else the source and what is wrong. The pull may be destroyed in it.
typedef void kvpull_fn(void *arg, const char *why);

// `what` is copied, all else borrowed. `over` is called once, from the loop.
struct kvpull *kvpull_start(struct event_base *base, const struct shard *shard,
                            struct kvcache *kv, const struct kvpull_what *what,
                            kvpull_fn *over, void *arg);
void kvpull_destroy(struct kvpull *p); // NULL-safe; one that is not over tells nothing

#endif
