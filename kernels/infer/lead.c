// The pipeline is filled before a result is waited for.
#include "kernels/infer/lead.h"

#include <event2/event.h>
#include <stdlib.h>

#include "common/mem.h"

// True: at least one step was taken on.
static bool advance(const struct lead *l, struct sched_step *step, int32_t *tokens)
{
    if (l->look != NULL)
        l->look(l->look_arg);
    while (sched_plan(l->sched, step))
        engine_launch(l->engine, step);
    if (sched_under_way(l->sched) == 0)
        return false;
    engine_collect(l->engine, tokens);
    sched_result(l->sched, tokens, &l->listener);
    return true;
}

void lead_run(const struct lead *l)
{
    const struct sched_limits *limits = sched_limits(l->sched);
    CLEANUP_FREE struct sched_part *parts = xcalloc(limits->slots, sizeof *parts);
    CLEANUP_FREE int32_t *rows = xcalloc(limits->rows, sizeof *rows);
    CLEANUP_FREE int32_t *tokens = xcalloc(limits->slots, sizeof *tokens);
    struct sched_step step = {.parts = parts, .rows = rows};
    while (l->base == NULL || !*l->stop) {
        bool busy = advance(l, &step, tokens);
        if (l->base == NULL && !busy)
            return;
        if (l->base != NULL)
            event_base_loop(l->base, busy ? EVLOOP_NONBLOCK : EVLOOP_ONCE);
    }
    // Each step that is under way has ranks that work on it: their end comes behind it.
    while (sched_under_way(l->sched) > 0) {
        engine_collect(l->engine, tokens);
        sched_result(l->sched, tokens, &l->listener);
    }
}
