// Pulling keys and values from a source that is right, wrong, slow, or silent half-way.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/infer/kvpull.h"
#include "kernels/infer/kvwire.h"
#include "tests/unit/kv_source.h"

enum { HEADS = 2, HEAD_DIM = 2, LAYERS = 2, POSITIONS = 3 };
enum { FLOATS = LAYERS * 2 * POSITIONS * HEADS * HEAD_DIM };

static const struct shard shard = {.config = {.layers = LAYERS, .seq_len = 4},
                                   .head_dim = HEAD_DIM,
                                   .layers = {0, LAYERS},
                                   .kv_heads = {0, HEADS}};

// The port of a source that nobody talks to beside.
static uint32_t serve(enum kv_fault fault)
{
    struct kv_source s = kv_source_start(fault, HEAD_DIM);
    close(s.told);
    return s.port;
}

// ---- a pull -----------------------------------------------------------------------

struct pull {
    struct event_base *base;
    struct kvcache *kv;
    struct kvpull *pull;
    bool over;
    char *why;
};

static void on_over(void *arg, const char *why)
{
    struct pull *p = arg;
    p->over = true;
    p->why = why != NULL ? xstrdup(why) : NULL;
}

static void begin(struct pull *p, const struct shard *s, const struct kvpull_what *what)
{
    *p =
        (struct pull){.base = loop_create(), .kv = kvcache_create(compute_cpu(), s, 2)};
    p->pull = kvpull_start(p->base, s, p->kv, what, on_over, p);
}

// Turns until it is over.
static int finish(struct pull *p)
{
    int turns = 0;
    for (; !p->over; turns++)
        cr_assert_eq(event_base_loop(p->base, EVLOOP_ONCE), 0);
    return turns;
}

static void end(struct pull *p)
{
    kvpull_destroy(p->pull);
    kvcache_destroy(p->kv);
    loop_destroy(p->base);
    free(p->why);
}

static struct kvwire_source at_port(uint32_t port, uint32_t heads)
{
    return (struct kvwire_source){
        .address = "127.0.0.1", .port = port, .part = {0, LAYERS, 0, heads}};
}

static struct kvpull_what what_of(const struct kvwire_source *sources, uint32_t n)
{
    return (struct kvpull_what){.model = KV_SOURCE_MODEL,
                                .hold = 7,
                                .n = POSITIONS,
                                .slot = 1,
                                .sources = sources,
                                .nsources = n};
}

static void pull(struct pull *p, uint32_t port, uint32_t heads)
{
    const struct kvwire_source source = at_port(port, heads);
    const struct kvpull_what what = what_of(&source, 1);
    begin(p, &shard, &what);
    finish(p);
}

static void refused(enum kv_fault fault, const char *part)
{
    struct pull p;
    pull(&p, serve(fault), HEADS);
    cr_assert_not_null(p.why);
    cr_assert_not_null(strstr(p.why, part), "%s", p.why);
    cr_assert_not_null(strstr(p.why, "127.0.0.1 port "), "%s", p.why);
    cr_assert_eq(kvcache_keys(p.kv, 1, 0)[0], 0); // nothing of it was taken
    end(&p);
    wait(NULL);
}

static void check_whole(const struct pull *p)
{
    cr_assert_null(p->why, "%s", p->why);
    cr_assert_eq(kvcache_keys(p->kv, 1, 0)[0], 1);
    cr_assert_eq(kvcache_values(p->kv, 1, LAYERS - 1)[POSITIONS * HEADS * HEAD_DIM - 1],
                 FLOATS);
    cr_assert_eq(kvcache_keys(p->kv, 0, 0)[0], 0);
}

Test(kvpull, what_is_right_is_in_the_slot, .timeout = 60)
{
    struct pull p;
    pull(&p, serve(KV_NONE), HEADS);
    check_whole(&p);
    end(&p);
    wait(NULL);
}

Test(kvpull, what_is_wrong_is_refused_with_its_source, .timeout = 60)
{
    refused(KV_FLIPPED, "the checksum of what it sent is wrong");
    refused(KV_CUT, "the connection was closed with 1 bytes to come");
    refused(KV_OTHER_MODEL, "another model");
}

Test(kvpull, a_part_that_nobody_has_is_an_error, .timeout = 60)
{
    struct pull p;
    pull(&p, 1, 0);
    cr_assert_not_null(strstr(p.why, "do not have all layers and heads"));
    end(&p);
}

Test(kvpull, the_same_half_twice_is_not_the_whole, .timeout = 60)
{
    struct pull p;
    const struct kvwire_source sources[] = {at_port(serve(KV_NONE), 1),
                                            at_port(serve(KV_NONE), 1)};
    const struct kvpull_what what = what_of(sources, 2);
    begin(&p, &shard, &what);
    finish(&p);
    cr_assert_not_null(strstr(p.why, "do not have all layers and heads"), "%s", p.why);
    end(&p);
    while (wait(NULL) > 0)
        ;
}

// A listener with a full queue lets the kernel drop what comes: as a machine that is gone.
Test(kvpull, who_cannot_be_connected_is_given_up_soon, .timeout = 60)
{
    struct pull p;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    CLEANUP_CLOSE int listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(listen(listener, 0), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    CLEANUP_CLOSE int first = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(first, (struct sockaddr *)&at, len), 0);
    uint64_t begun = loop_now_ms();
    pull(&p, ntohs(at.sin_port), HEADS);
    cr_assert_not_null(strstr(p.why, "timed out"), "%s", p.why);
    cr_assert_geq(loop_now_ms() - begun, KVPULL_CONNECT_MS - 1);
    end(&p);
}

// ---- beside other things ----------------------------------------------------------

// A source that has sent half of what it is asked for.
static struct kv_source begin_half(struct pull *p, uint32_t quiet_ms)
{
    char c;
    struct kv_source s = kv_source_start(KV_PAUSED, HEAD_DIM);
    const struct kvwire_source source = at_port(s.port, HEADS);
    struct kvpull_what what = what_of(&source, 1);
    what.quiet_ms = quiet_ms;
    begin(p, &shard, &what);
    while (recv(s.told, &c, 1, MSG_DONTWAIT) != 1)
        cr_assert_geq(event_base_loop(p->base, EVLOOP_NONBLOCK), 0);
    return s;
}

static void end_half(struct pull *p, const struct kv_source *s)
{
    end(p);
    close(s->told);
    wait(NULL);
}

Test(kvpull, turns_of_the_loop_go_on_while_a_source_is_slow, .timeout = 60)
{
    struct pull p;
    struct kv_source s = begin_half(&p, 0);
    for (int turn = 0; turn < 100; turn++) {
        cr_assert_eq(event_base_loop(p.base, EVLOOP_NONBLOCK), 0);
        cr_assert(!p.over);
        cr_assert_eq(kvcache_keys(p.kv, 1, 0)[0], 0);
    }
    cr_assert_eq(send(s.told, "g", 1, 0), 1);
    finish(&p);
    check_whole(&p);
    end_half(&p, &s);
}

Test(kvpull, a_source_that_falls_silent_is_given_up, .timeout = 60)
{
    struct pull p;
    struct kv_source s = begin_half(&p, 100);
    finish(&p);
    cr_assert_not_null(strstr(p.why, "nothing came for 100 ms, with 96 bytes to come"),
                       "%s", p.why);
    end_half(&p, &s);
}

Test(kvpull, one_that_is_not_over_can_be_dropped, .timeout = 60)
{
    struct pull p;
    struct kv_source s = begin_half(&p, 0);
    end_half(&p, &s);
    cr_assert(!p.over);
}

Test(kvpull, what_is_large_comes_in_many_turns, .timeout = 60)
{
    enum { DIM = 512, N = 1000, ROW = HEADS * DIM, LAYER = 2 * N * ROW };
    const size_t bytes = LAYERS * LAYER * sizeof(float);
    const struct shard large = {.config = {.layers = LAYERS, .seq_len = N},
                                .head_dim = DIM,
                                .layers = {0, LAYERS},
                                .kv_heads = {0, HEADS}};
    struct pull p;
    struct kv_source s = kv_source_start(KV_NONE, DIM);
    const struct kvwire_source source = at_port(s.port, HEADS);
    struct kvpull_what what = what_of(&source, 1);
    what.n = N;
    begin(&p, &large, &what);
    int turns = finish(&p);
    cr_assert_null(p.why, "%s", p.why);
    cr_assert_geq(turns, (int)(bytes / KVPULL_SLICE));
    size_t wrong = 0;
    for (size_t layer = 0; layer < LAYERS; layer++) {
        const float *keys = kvcache_keys(p.kv, 1, layer),
                    *values = kvcache_values(p.kv, 1, layer);
        for (size_t i = 0; i < N * ROW; i++)
            wrong += keys[i] != (float)(layer * LAYER + i + 1) ||
                     values[i] != (float)(layer * LAYER + N * ROW + i + 1);
    }
    cr_assert_eq(wrong, 0);
    end(&p);
    close(s.told);
    wait(NULL);
}
