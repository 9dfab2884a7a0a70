// A stage's layers with the CUDA back end's kernels: the logits, keys and values are the CPU's.
#include <criterion/criterion.h>
#include <unistd.h>

#include "kernels/infer/forward.h"
#include "kernels/infer/kvwire.h"
#include "kernels/infer/random_model.h"
#include "tests/unit/emulated.h"
#include "tests/unit/numbers.h"

enum { VOCAB = 30, SLOTS = 2, ROWS = 8, TEXT = 6, LOGITS = 3 * VOCAB, KV = 2048 };

struct result {
    float logits[LOGITS]; // of the step with one text, and of that with two
    float kv[KV];         // of the first text
};

// A prompt of 5 tokens; then its sixth together with a prompt of 3.
static void run(const struct compute *c, const struct shard *s, struct result *r)
{
    struct comm *self = comm_self();
    struct kvcache *kv = kvcache_create(c, s, SLOTS);
    struct forward *f = forward_create(c, s, self, kv, ROWS);
    int32_t tokens[] = {3, 1, 4, 1, 5}, more[] = {9, 2, 6, 5};
    struct sched_part first = {.slot = 0, .n = 5, .sample = true};
    struct sched_part both[] = {{.slot = 0, .pos = 5, .n = 1, .sample = true},
                                {.slot = 1, .n = 3, .sample = true}};
    struct sched_step steps[] = {{1, 5, &first, tokens}, {2, 4, both, more}};
    size_t at = 0, n = 0;
    for (int i = 0; i < 2; i++) {
        forward_embed(f, &steps[i]);
        forward_x_goes(f, steps[i].nrows); // as from one stage to the next
        forward_x_came(f, steps[i].nrows);
        forward_layers(f, &steps[i]);
        const float *logits = forward_logits(f, &steps[i], &n);
        cr_assert_eq(n, steps[i].nparts);
        memcpy(r->logits + at, logits, n * VOCAB * sizeof *logits);
        at += n * VOCAB;
    }
    struct kvwire_part part = kvwire_part_of(s);
    kvcache_export(kv, 0, &part, TEXT, r->kv);
    kvcache_import(kv, 1, &part, TEXT, r->kv);
    memset(r->kv, 0, sizeof r->kv);
    kvcache_export(kv, 1, &part, TEXT, r->kv);
    forward_destroy(f);
    kvcache_destroy(kv);
    comm_destroy(self);
}

static void check_model(const char *shape)
{
    ERR_AUTO err = ERR_INIT;
    struct model_config config;
    char path[] = "/tmp/forward-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert_eq(random_model_parse(shape, &config, &err), 0, "%s", err_text(&err));
    cr_assert_eq(random_model_write(path, &config, 7, &err), 0);
    struct llama2c *model = llama2c_open(path, &err);
    unlink(path);
    cr_assert_not_null(model);
    const struct place alone = {.tp_size = 1, .pp_size = 1};
    struct shard s;
    cr_assert_eq(shard_init(&s, model, &alone, true, &err), 0);
    static struct result cpu, gpu;
    memset(&cpu, 0, sizeof cpu);
    memset(&gpu, 0, sizeof gpu);
    run(compute_cpu(), &s, &cpu);
    run(compute_emulated(), &s, &gpu);
    cr_assert(same_bits(cpu.logits, gpu.logits, LOGITS));
    cr_assert(same_bits(cpu.kv, gpu.kv, KV));
    cr_assert_neq(cpu.logits[0], 0);
    cr_assert_neq(cpu.kv[0], 0);
    llama2c_close(model);
}

Test(forward, the_cuda_kernels_give_the_same_logits)
{
    check_model(
        "dim=16,hidden=40,layers=2,heads=4,kv_heads=2,vocab=30,length=12,shared=1");
    check_model(
        "dim=24,hidden=20,layers=3,heads=3,kv_heads=3,vocab=30,length=9,shared=0");
}
