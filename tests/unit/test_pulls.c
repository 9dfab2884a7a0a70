// Several pulls at once on a rank alone: each has an outcome of its own.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "kernels/infer/pulls.h"
#include "tests/unit/kv_source.h"

enum { HEADS = 1, HEAD_DIM = 4, LAYERS = 2, SLOTS = 4 };

static const struct shard shard = {.config = {.layers = LAYERS, .seq_len = 4},
                                   .head_dim = HEAD_DIM,
                                   .layers = {0, LAYERS},
                                   .kv_heads = {0, HEADS}};

struct bed {
    struct comm *world;
    struct event_base *base;
    struct kvcache *kv;
    struct pulls *pulls;
};

static struct bed bed_make(void)
{
    struct bed b = {.world = comm_self(),
                    .base = loop_create(),
                    .kv = kvcache_create(compute_cpu(), &shard, SLOTS)};
    b.pulls = pulls_create(b.world, b.base, &shard, b.kv, SLOTS);
    return b;
}

static void bed_end(struct bed *b)
{
    pulls_destroy(b->pulls);
    kvcache_destroy(b->kv);
    loop_destroy(b->base);
    comm_destroy(b->world);
    while (wait(NULL) > 0)
        ;
}

static struct kv_source begin(const struct bed *b, uint32_t slot, enum kv_fault fault)
{
    struct kv_source s = kv_source_start(fault, HEAD_DIM);
    const struct kvwire_source source = {
        .address = "127.0.0.1", .port = s.port, .part = {0, LAYERS, 0, HEADS}};
    pulls_begin(b->pulls, &(struct kvpull_what){.model = KV_SOURCE_MODEL,
                                                .hold = 7,
                                                .n = 2,
                                                .slot = slot,
                                                .sources = &source,
                                                .nsources = 1});
    return s;
}

// The slot of the next one that is over.
static uint32_t next(const struct bed *b, struct err *err)
{
    uint32_t slot;
    while (!pulls_next(b->pulls, &slot, err))
        cr_assert_eq(event_base_loop(b->base, EVLOOP_ONCE), 0);
    return slot;
}

static void wait_for_half(const struct bed *b, const struct kv_source *s)
{
    char half;
    while (recv(s->told, &half, 1, MSG_DONTWAIT) != 1)
        cr_assert_eq(event_base_loop(b->base, EVLOOP_NONBLOCK), 0);
}

Test(pulls, one_that_fails_takes_no_other_along, .timeout = 60)
{
    ERR_AUTO err = ERR_INIT;
    struct bed b = bed_make();
    struct kv_source slow = begin(&b, 3, KV_PAUSED);
    close(begin(&b, 1, KV_CUT).told);
    cr_assert_eq(next(&b, &err), 1);
    cr_assert_not_null(strstr(err_text(&err), "closed with 1 bytes to come"), "%s",
                       err_text(&err));
    err_clear(&err);
    close(begin(&b, 1, KV_NONE).told); // the slot again
    cr_assert_eq(next(&b, &err), 1);
    cr_assert_null(err.text, "%s", err.text);
    cr_assert_eq(send(slow.told, "g", 1, 0), 1);
    cr_assert_eq(next(&b, &err), 3);
    cr_assert_null(err.text, "%s", err.text);
    cr_assert_eq(kvcache_keys(b.kv, 1, 0)[0], 1);
    cr_assert_eq(kvcache_keys(b.kv, 3, 0)[0], 1);
    uint32_t slot;
    cr_assert(!pulls_next(b.pulls, &slot, &err));
    close(slow.told);
    bed_end(&b);
}

Test(pulls, one_that_nobody_waits_for_is_given_up, .timeout = 60)
{
    ERR_AUTO err = ERR_INIT;
    struct bed b = bed_make();
    struct kv_source slow = begin(&b, 2, KV_PAUSED), other = begin(&b, 1, KV_PAUSED);
    wait_for_half(&b, &slow);
    wait_for_half(&b, &other);
    pulls_drop(b.pulls, 2);
    cr_assert_eq(next(&b, &err), 2);
    cr_assert_not_null(strstr(err_text(&err), "nobody waits for it"));
    err_clear(&err);
    pulls_drop(b.pulls, 2); // it is over
    cr_assert_eq(send(other.told, "g", 1, 0), 1);
    cr_assert_eq(next(&b, &err), 1);
    cr_assert_null(err.text, "%s", err.text);
    close(slow.told);
    close(other.told);
    bed_end(&b);
}

Test(pulls, those_under_way_at_the_end_are_given_up, .timeout = 60)
{
    ERR_AUTO err = ERR_INIT;
    struct bed b = bed_make();
    struct kv_source slow = begin(&b, 2, KV_PAUSED);
    wait_for_half(&b, &slow);
    pulls_end(b.pulls);
    cr_assert_eq(next(&b, &err), 2);
    cr_assert_not_null(strstr(err_text(&err), "the ranks end"));
    close(slow.told);
    bed_end(&b);
}
