// A prefill rank's answers to pulls: in slices, and not of what is let go meanwhile.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/infer/kvpull.h"
#include "kernels/infer/kvserve.h"

enum { HEADS = 2, HEAD_DIM = 256, LAYERS = 3, LENGTH = 1024, SLOT = 1, HOLD = 7 };
enum { ROW = HEADS * HEAD_DIM, LAYER = LENGTH * ROW };
enum { SLICES = 2 * LAYERS * LAYER * (int)sizeof(float) / KVSERVE_SLICE };

static const char model[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static const struct shard shard = {.config = {.layers = LAYERS, .seq_len = LENGTH},
                                   .head_dim = HEAD_DIM,
                                   .layers = {0, LAYERS},
                                   .kv_heads = {0, HEADS}};

struct bed {
    struct event_base *base;
    struct kvcache *from, *to;
    struct kvserve *serve;
    struct kvpull *pull;
    bool over;
    char *why;
};

static void on_over(void *arg, const char *why)
{
    struct bed *b = arg;
    b->over = true;
    b->why = why != NULL ? xstrdup(why) : NULL;
}

static void fill(struct kvcache *k)
{
    for (size_t layer = 0; layer < LAYERS; layer++)
        for (size_t i = 0; i < LAYER; i++) {
            kvcache_keys(k, SLOT, layer)[i] = (float)(layer * LAYER + i);
            kvcache_values(k, SLOT, layer)[i] = -(float)(layer * LAYER + i);
        }
}

static void bed_make(struct bed *b)
{
    ERR_AUTO err = ERR_INIT;
    *b = (struct bed){.base = loop_create(),
                      .from = kvcache_create(compute_cpu(), &shard, SLOT + 1),
                      .to = kvcache_create(compute_cpu(), &shard, SLOT + 1)};
    fill(b->from);
    b->serve =
        kvserve_create(b->base, "127.0.0.1", &shard, b->from, SLOT + 1, model, &err);
    cr_assert_not_null(b->serve, "%s", err_text(&err));
    kvserve_hold(b->serve, SLOT, HOLD, LENGTH);
}

static void bed_end(struct bed *b)
{
    kvpull_destroy(b->pull);
    kvserve_destroy(b->serve);
    kvcache_destroy(b->from);
    kvcache_destroy(b->to);
    loop_destroy(b->base);
    free(b->why);
}

static void begin(struct bed *b, uint64_t hold)
{
    const struct kvwire_source source = {.address = "127.0.0.1",
                                         .port = kvserve_port(b->serve),
                                         .part = kvwire_part_of(&shard)};
    b->pull = kvpull_start(b->base, &shard, b->to,
                           &(struct kvpull_what){.model = model,
                                                 .hold = hold,
                                                 .n = LENGTH,
                                                 .slot = SLOT,
                                                 .sources = &source,
                                                 .nsources = 1},
                           on_over, b);
}

static bool turn(struct bed *b)
{
    cr_assert_eq(event_base_loop(b->base, EVLOOP_ONCE), 0);
    return !b->over;
}

Test(kvserve, a_large_answer_takes_many_turns, .timeout = 60)
{
    struct bed b;
    int turns = 0;
    bed_make(&b);
    begin(&b, HOLD);
    while (turn(&b))
        turns++;
    cr_assert_null(b.why, "%s", b.why);
    cr_assert_geq(turns, SLICES);
    for (size_t layer = 0; layer < LAYERS; layer++) {
        cr_assert_arr_eq(kvcache_keys(b.to, SLOT, layer),
                         kvcache_keys(b.from, SLOT, layer), LAYER * sizeof(float));
        cr_assert_arr_eq(kvcache_values(b.to, SLOT, layer),
                         kvcache_values(b.from, SLOT, layer), LAYER * sizeof(float));
    }
    bed_end(&b);
}

// The slot has another text by then: what was sent is not whole, and nothing of it is taken.
Test(kvserve, what_is_let_go_meanwhile_is_not_sent_to_its_end, .timeout = 60)
{
    struct bed b;
    bed_make(&b);
    begin(&b, HOLD);
    for (int i = 0; i < SLICES / 2; i++)
        cr_assert(turn(&b));
    kvserve_hold(b.serve, SLOT, HOLD + 1, LENGTH);
    while (turn(&b))
        ;
    cr_assert_not_null(b.why);
    cr_assert_not_null(strstr(b.why, "the connection was closed with "), "%s", b.why);
    cr_assert_eq(kvcache_keys(b.to, SLOT, 0)[1], 0);
    bed_end(&b);
}

Test(kvserve, what_nobody_holds_is_refused, .timeout = 60)
{
    struct bed b;
    bed_make(&b);
    begin(&b, HOLD + 1);
    while (turn(&b))
        ;
    cr_assert_not_null(strstr(b.why, "does not hold these positions any more"), "%s",
                       b.why);
    bed_end(&b);
}
