// Hand-over of keys and values: parts, what is refused, and bytes from one cache to another.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/infer/kvcache.h"
#include "kernels/infer/kvwire.h"

enum { LAYERS = 3, KV_HEADS = 4, HEAD_DIM = 2, LENGTH = 5, SLOTS = 2 };

// A rank's part of a model without a file.
static struct shard shard_of(int tp, int tp_size, int pp, int pp_size)
{
    return (struct shard){.config = {.layers = LAYERS, .seq_len = LENGTH},
                          .head_dim = HEAD_DIM,
                          .layers = place_part(LAYERS, pp_size, pp),
                          .kv_heads = place_part(KV_HEADS, tp_size, tp)};
}

// What stands for a key or value of the whole model.
static float value(int v, size_t layer, size_t pos, size_t head, size_t d)
{
    return (float)((((v * 10 + (int)layer) * 10 + (int)pos) * 10 + (int)head) * 10 +
                   (int)d);
}

static float *at(struct kvcache *k, const struct shard *s, int v, size_t layer,
                 size_t pos, size_t head)
{
    float *base = v != 0 ? kvcache_values(k, 1, layer - s->layers.at)
                         : kvcache_keys(k, 1, layer - s->layers.at);
    return base + pos * kvcache_row(k) + (head - s->kv_heads.at) * HEAD_DIM;
}

static void each(struct kvcache *k, const struct shard *s, size_t n, bool fill)
{
    for (size_t layer = s->layers.at; layer < s->layers.at + s->layers.n; layer++)
        for (size_t i = 0; i < 2 * n * s->kv_heads.n * HEAD_DIM; i++) {
            size_t d = i % HEAD_DIM,
                   head = s->kv_heads.at + i / HEAD_DIM % s->kv_heads.n;
            size_t pos = i / HEAD_DIM / s->kv_heads.n % n;
            int v = i >= n * s->kv_heads.n * HEAD_DIM;
            float *p = at(k, s, v, layer, pos, head) + d;
            if (fill)
                *p = value(v, layer, pos, head, d);
            else
                cr_assert_eq(*p, value(v, layer, pos, head, d));
        }
}

// From all ranks of one grid to one rank of another.
static void move(int from_tp, int from_pp, const struct shard *to, uint32_t n)
{
    struct kvcache *dest = kvcache_create(compute_cpu(), to, SLOTS);
    struct kvwire_part own = kvwire_part_of(to);
    size_t moved = 0;
    for (int rank = 0; rank < from_tp * from_pp; rank++) {
        struct shard s = shard_of(rank % from_tp, from_tp, rank / from_tp, from_pp);
        struct kvcache *source = kvcache_create(compute_cpu(), &s, SLOTS);
        struct kvwire_part theirs = kvwire_part_of(&s);
        struct kvwire_part part = kvwire_common(&own, &theirs);
        CLEANUP_FREE float *floats = xmalloc(kvwire_bytes(&part, HEAD_DIM, n) + 1);
        each(source, &s, n, true);
        if (part.layers > 0 && part.heads > 0) {
            kvcache_export(source, 1, &part, n, floats);
            kvcache_import(dest, 1, &part, n, floats);
            moved += part.layers * part.heads;
        }
        kvcache_destroy(source);
    }
    cr_assert_eq(moved, to->layers.n * to->kv_heads.n);
    each(dest, to, n, false);
    kvcache_destroy(dest);
}

Test(kvwire, any_grid_hands_over_to_any_other)
{
    for (int grids = 0; grids < 3 * 3 * 3 * 3; grids++) {
        int tp = 1 + grids % 3, pp = 1 + grids / 3 % 3;
        int to_tp = 1 + grids / 9 % 3, to_pp = 1 + grids / 27;
        for (int rank = 0; rank < to_tp * to_pp; rank++) {
            struct shard to = shard_of(rank % to_tp, to_tp, rank / to_tp, to_pp);
            move(tp, pp, &to, LENGTH - 1);
        }
    }
}

static void refused(const struct kvwire_data *d, const struct kvwire_pull *pull,
                    const char *model, const char *part)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(kvwire_check_data(d, pull, model, HEAD_DIM, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), part), "%s", err_text(&err));
}

Test(kvwire, data_that_was_not_asked_for_is_refused)
{
    char model[KVWIRE_MODEL + 1], other[KVWIRE_MODEL + 1];
    memset(model, 'a', KVWIRE_MODEL);
    memset(other, 'b', KVWIRE_MODEL);
    const struct kvwire_pull pull = {.n = 4, .hold = 9, .part = {0, 2, 1, 3}};
    struct kvwire_data good = {.magic = {'M', 'K', 'D', '2'},
                               .hold = 9,
                               .part = pull.part,
                               .n = 4,
                               .bytes = kvwire_bytes(&pull.part, HEAD_DIM, 4)};
    memcpy(good.model, model, KVWIRE_MODEL);
    cr_assert_eq(kvwire_check_data(&good, &pull, model, HEAD_DIM, NULL), 0);
    cr_assert_eq(good.bytes, 2 * 2 * 4 * 3 * HEAD_DIM * sizeof(float));
    refused(&good, &pull, other, "another model");
    struct kvwire_data d = good;
    d.magic[3] = '1';
    refused(&d, &pull, model, "this version");
    d = good;
    d.status = KVWIRE_GONE;
    refused(&d, &pull, model, "does not hold");
    d = good;
    d.part.head = 0;
    refused(&d, &pull, model, "other positions, layers or heads");
    d = good;
    d.hold++;
    refused(&d, &pull, model, "other positions");
    d = good;
    d.bytes += 4;
    refused(&d, &pull, model, "another size");
}

Test(kvwire, an_answer_without_ranks_is_refused)
{
    ERR_AUTO err = ERR_INIT;
    struct kvwire_ready r = {.magic = {'M', 'K', 'R', '1'}, .nsources = 1};
    cr_assert_eq(kvwire_check_ready(&r, &err), 0);
    r.nsources = KVWIRE_SOURCES_MAX + 1;
    cr_assert_eq(kvwire_check_ready(&r, &err), -1);
    r.nsources = 0;
    cr_assert_eq(kvwire_check_ready(&r, &err), -1);
    r = (struct kvwire_ready){.magic = {'M', 'K', 'R', '1'}, .status = KVWIRE_BUSY};
    cr_assert_eq(kvwire_check_ready(&r, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), "too many"));
}

Test(kvwire, ranks_that_cannot_be_reached_are_refused)
{
    struct kvwire_source s = {.address = "10.0.0.1", .port = 65535};
    cr_assert_eq(kvwire_check_sources(&s, 1, NULL), 0);
    memcpy(s.address, "fd00::1", sizeof "fd00::1");
    cr_assert_eq(kvwire_check_sources(&s, 1, NULL), 0);
    s.port = 65536 + 22; // not port 22
    cr_assert_eq(kvwire_check_sources(&s, 1, NULL), -1);
    s.port = 0;
    cr_assert_eq(kvwire_check_sources(&s, 1, NULL), -1);
    s.port = 1;
    memset(s.address, '1', sizeof s.address); // without an end
    cr_assert_eq(kvwire_check_sources(&s, 1, NULL), -1);
    memcpy(s.address, "\033[2J", sizeof "\033[2J"); // would go to a terminal
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(kvwire_check_sources(&s, 1, &err), -1);
    cr_assert_null(strchr(err_text(&err), '\033'));
}
