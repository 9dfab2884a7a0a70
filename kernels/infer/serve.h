// What the leader serves: completions over HTTP, as texts of the scheduler.
//
//   POST /v1/completions   GET /v1/models   GET /health
//
// A completion is one exchange and a text for each of its prompts. It is answered when all texts
// have ended, or, streamed, piece by piece; a client that goes away cancels its texts.
#ifndef MUSTER_KERNELS_INFER_SERVE_H
#define MUSTER_KERNELS_INFER_SERVE_H

#include <stdint.h>

#include "common/err.h"
#include "kernels/infer/sched.h"
#include "kernels/model/tokenizer.h"

struct event_base;
struct log;
struct serve;

struct serve_opts {
    const char *listen; // as in common/httpd.h
    const char *model;  // the name that clients use
    bool fetch;         // prompts are computed by another role (sched.h)
};

// Borrows all, the texts of opts too.
struct serve *serve_create(struct event_base *base, struct sched *sched,
                           const struct tokenizer *tokenizer,
                           const struct serve_opts *opts, struct log *log,
                           struct err *err);
void serve_destroy(struct serve *s); // NULL-safe
// A token of one of its texts.
void serve_take(struct serve *s, const struct sched_news *news);

#endif
