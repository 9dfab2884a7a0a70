// The leader's programs that go on until SIGTERM: completions over HTTP, and the prefill role.
#ifndef MUSTER_KERNELS_INFER_SERVICE_H
#define MUSTER_KERNELS_INFER_SERVICE_H

#include "common/err.h"
#include "kernels/infer/engine.h"
#include "kernels/infer/opts.h"
#include "kernels/infer/prefill_ranks.h"
#include "kernels/infer/sched.h"
#include "kernels/model/tokenizer.h"

struct event_base;

struct service_opts {
    const struct opts *opts;
    struct event_base *base;
    struct engine *engine;
    struct sched *sched;
    const struct tokenizer *tokenizer;
    const char *model; // with a role: KVWIRE_MODEL digits
    // The prefill role: where the ranks are.
    const char *listen;
    const struct kvwire_source *sources;
    uint32_t nsources;
};

// Error: it could not begin.
int service_run(const struct service_opts *o, struct err *err);

#endif
