// Continuous batching: which texts the next steps work on. Pure.
//
//   text:  WAITING --a slot is free--> PREFILL --all of its prompt is under way--> DECODE
//          each of them --ended, stopped, cancelled--> gone
//          with `hold`: ended --> KEPT --cancelled--> gone
//   slot:  FREE --> HELD by a text --the text is gone--> DRAINING --no step writes to it--> FREE
//
// A text has a slot (its place in the KV cache, for a whole sequence) from PREFILL to its end.
// A step is a list of parts: n tokens of one text in a row. Each text that decodes gives one
// token a step, first come first; what room is left in the step goes to prompts, the oldest
// first, in pieces. Up to `depth` steps are under way at once (a pipeline has one a stage); the
// texts that decode are dealt out over them, and a text is in one of them at most, but for
// the pieces of its prompt, which follow each other.
//
// Results come back in the order of the steps.
#ifndef MUSTER_KERNELS_INFER_SCHED_H
#define MUSTER_KERNELS_INFER_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/infer/sampler.h"

struct sched;

enum sched_state { SCHED_WAITING, SCHED_PREFILL, SCHED_DECODE, SCHED_KEPT };
// A text after its newest token. STOP: the token ends texts, and is not part of it.
enum sched_end { SCHED_GOES_ON, SCHED_STOP, SCHED_LENGTH };

struct sched_limits {
    uint32_t slots;   // texts at once
    uint32_t rows;    // tokens in a step, >= 1
    uint32_t depth;   // steps under way, 1 to SCHED_DEPTH_MAX
    uint32_t waiting; // texts that may wait for a slot
    uint32_t length;  // positions of a slot
};

enum { SCHED_DEPTH_MAX = 64 };

struct sched_text {
    const int32_t *prompt; // copied; 1 <= n <= limits.length
    uint32_t n;
    uint32_t max_tokens; // >= 1; cut to what the slot has room for
    struct sampler_how how;
    uint64_t tag; // the owner's
    bool hold;    // its slot is kept when it ends, until sched_cancel()
    bool fetch;   // positions before the last come in by sched_fetched()
};

// A part of a step, as ranks get it: n tokens of a slot from position `pos` on. With `sample`
// the row of the last one gives the next token.
struct sched_part {
    uint32_t slot, pos, n, sample;
    struct sampler_how how;
};

struct sched_step {
    uint32_t nparts, nrows;
    struct sched_part *parts; // room for limits.slots
    int32_t *rows;            // tokens, part after part; room for limits.rows
};

struct sched *sched_create(const struct sched_limits *limits);
void sched_destroy(struct sched *s); // NULL-safe
const struct sched_limits *sched_limits(const struct sched *s);

// False: as many as may are waiting.
bool sched_add(struct sched *s, const struct sched_text *text);
// Its client is gone, or its owner has seen an end (a stop string). Nothing is told of it any
// more. An unknown tag is nobody's.
void sched_cancel(struct sched *s, uint64_t tag);

// The next step, which is under way then. False: there is nothing to do, or `depth` are.
bool sched_plan(struct sched *s, struct sched_step *step);
// The tokens of the oldest step that is under way, one for each of its parts with `sample`, in
// their order. Each text that is not gone is told of its token; `tell` may cancel and add.
struct sched_news {
    uint64_t tag;
    int32_t token;
    enum sched_end end;
    uint32_t slot;
};
struct sched_listener {
    void *arg;
    bool (*is_end)(void *arg, int32_t token);
    void (*tell)(void *arg, const struct sched_news *news);
};
void sched_result(struct sched *s, const int32_t *tokens,
                  const struct sched_listener *listener);

// ---- prompts that another role computes -------------------------------------------
// The oldest text with `fetch` that has a slot and was not given out. False: none.
struct sched_fetch {
    uint64_t tag;
    uint32_t slot;
    const int32_t *prompt; // the text's
    uint32_t n;
};
bool sched_next_fetch(struct sched *s, struct sched_fetch *out);
// Is the text still there that this slot is fetched to for? Else nobody needs what comes, and the
// slot drains until sched_fetched().
bool sched_fetch_wanted(const struct sched *s, uint32_t slot);
// Its positions 0..n-2 are in the slot. False for `there`: they are computed here after all.
void sched_fetched(struct sched *s, uint64_t tag, bool there);

// ---- for pages and tests ----------------------------------------------------------
uint32_t sched_count(const struct sched *s, enum sched_state state);
uint32_t sched_under_way(const struct sched *s); // steps
bool sched_idle(const struct sched *s);          // no text, no step

#endif
