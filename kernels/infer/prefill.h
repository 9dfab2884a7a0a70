// The prefill role's leader: prompts in, positions held until they are pulled (kvwire.h).
//
//   READING --whole--> COMPUTING --its step is back--> HELD --closed, or PREFILL_HOLD_MS--> gone
//      +---- refused: an answer that says why, gone
//   and from each of them --closed--> gone, with its text and its slot
#ifndef MUSTER_KERNELS_INFER_PREFILL_H
#define MUSTER_KERNELS_INFER_PREFILL_H

#include <stdint.h>

#include "common/err.h"
#include "kernels/infer/engine.h"
#include "kernels/infer/kvwire.h"
#include "kernels/infer/sched.h"

struct event_base;
struct log;
struct prefill;

enum { PREFILL_HOLD_MS = 60000 };

struct prefill_opts {
    const char *listen; // as in common/httpd.h
    const char *model;  // KVWIRE_MODEL digits
    uint32_t vocab;
    const struct kvwire_source *sources; // all ranks
    uint32_t nsources;
};

// Borrows all.
struct prefill *prefill_create(struct event_base *base, struct engine *engine,
                               struct sched *sched, const struct prefill_opts *opts,
                               struct log *log, struct err *err);
void prefill_destroy(struct prefill *p); // NULL-safe
// One of its texts has been computed.
void prefill_take(struct prefill *p, const struct sched_news *news);

#endif
