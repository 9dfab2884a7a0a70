// The leader's loop: steps planned, launched and collected, and events in between.
#ifndef MUSTER_KERNELS_INFER_LEAD_H
#define MUSTER_KERNELS_INFER_LEAD_H

#include <stdbool.h>

#include "kernels/infer/engine.h"
#include "kernels/infer/sched.h"

struct event_base;

struct lead {
    struct engine *engine;
    struct sched *sched;
    struct sched_listener listener; // is told of each token
    struct event_base *base; // NULL: no events; it ends when nothing is left to do
    const bool *stop;        // with events: it ends when this is true
    void (*look)(void *arg); // called before each step; NULL: nothing
    void *look_arg;
};

void lead_run(const struct lead *l);

#endif
