// March, copies, products, in this order, on one core.
#include "kernels/check/core.h"

#include <stdio.h>
#include <time.h>

#include "common/loop.h"
#include "kernels/check/clones.h"

enum { BLOCKS_A_LOOK = 64, MARCH_TRANSFERS = 6 }; // 3 passes write, 3 read

// The thread's own time: who else runs on the core says nothing of its memory.
static uint64_t worked_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double gb_s(double bytes, uint64_t ns)
{
    return ns > 0 ? bytes / (double)ns : 0;
}

static bool in_time(struct core *c, const char *what)
{
    if (loop_now_ms() < c->until_ms)
        return true;
    snprintf(c->unfinished, sizeof c->unfinished, "%s", what);
    return false;
}

static bool go_on(void *arg, unsigned pass, size_t done)
{
    struct core *c = arg;
    char what[48];
    if (done == 0)
        stages_set(c->stages, c->slot, "core %d: memory march, pass %u", c->number,
                   pass);
    if (done % ((size_t)MARCH_BLOCK * BLOCKS_A_LOOK) != 0)
        return true;
    snprintf(what, sizeof what, "pass %u of the memory march", pass);
    return in_time(c, what);
}

static bool run_march(struct core *c)
{
    struct march m = {c->words, c->n, c->seed, go_on, c};
    uint64_t begun = worked_ns();
    bool whole = march_run(&m, &c->march);
    if (whole)
        c->march_gb_s = gb_s((double)c->n * sizeof *c->words * MARCH_TRANSFERS,
                             worked_ns() - begun);
    return whole;
}

CLONES static void copy_words(uint64_t *restrict to, const uint64_t *restrict from,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

// From the first half of the slice into the second; each time other words.
static bool run_copies(struct core *c)
{
    size_t half = c->n / 2;
    for (unsigned i = 0; i < CORE_COPIES && c->copy.count == 0; i++) {
        struct march m = {.words = c->words, .n = half, .seed = c->seed + 1 + i};
        if (!in_time(c, "copies"))
            return false;
        stages_set(c->stages, c->slot, "core %d: copy %u", c->number, i + 1);
        march_fill(&m);
        uint64_t begun = worked_ns();
        copy_words(c->words + half, c->words, half);
        double rate = gb_s((double)half * sizeof *c->words, worked_ns() - begun);
        c->copy_gb_s = rate > c->copy_gb_s ? rate : c->copy_gb_s;
        march_verify(&m, c->words + half, &c->copy);
    }
    return true;
}

static bool run_products(struct core *c, enum product_kind kind)
{
    struct product *p = product_create(kind, c->words);
    bool whole = true;
    stages_set(c->stages, c->slot, "core %d: %s products", c->number,
               product_name(kind));
    for (unsigned i = 0; i < c->rounds && c->product[kind].count == 0 && whole; i++) {
        product_fill(p, c->seed + i);
        product_compute(p);
        product_verify(p, &c->product[kind]);
        c->rounds_done[kind]++;
        whole = i + 1 == c->rounds || in_time(c, "matrix products");
    }
    product_destroy(p);
    return whole;
}

void core_run(struct core *c)
{
    bool whole = run_march(c) && run_copies(c);
    for (int k = 0; k < PRODUCT_KINDS && whole; k++)
        whole = run_products(c, (enum product_kind)k);
    stages_set(c->stages, c->slot, "%s", "");
}
