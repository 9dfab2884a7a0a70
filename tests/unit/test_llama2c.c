// llama2.c's checkpoints: what is written is read, and what is none is refused.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "kernels/model/llama2c.h"

static struct model_config config_of(bool shared)
{
    return (struct model_config){.dim = 8,
                                 .hidden_dim = 12,
                                 .layers = 2,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .vocab = 11,
                                 .seq_len = 6,
                                 .shared = shared};
}

static char *written(const struct model_config *c, const float *weights)
{
    char *path = xstrdup("/tmp/checkpoint-test-XXXXXX");
    ERR_AUTO err = ERR_INIT;
    close(mkstemp(path));
    cr_assert_eq(llama2c_write(path, c, weights, &err), 0, "%s", err_text(&err));
    return path;
}

static void round_trip(bool shared)
{
    struct model_config c = config_of(shared);
    struct model_layout layout = model_layout_of(&c);
    CLEANUP_FREE float *weights = xcalloc(layout.count, sizeof *weights);
    llama2c_fill_random(&c, 3, weights);
    CLEANUP_FREE char *path = written(&c, weights);
    ERR_AUTO err = ERR_INIT;
    struct llama2c *file = llama2c_open(path, &err);
    cr_assert_not_null(file, "%s", err_text(&err));
    cr_assert_eq(llama2c_config(file)->shared, shared);
    for (int t = 0; t < MODEL_TENSORS; t++) {
        const struct model_place *p = &layout.tensor[t];
        for (size_t layer = 0; layer < p->layers; layer++)
            cr_assert_eq(
                memcmp(llama2c_tensor(file, (enum model_tensor)t, layer),
                       weights + model_at(&layout, (enum model_tensor)t, layer),
                       p->rows * p->cols * sizeof(float)),
                0, "%s of layer %zu", model_tensor_name((enum model_tensor)t), layer);
    }
    llama2c_close(file);
    unlink(path);
}

Test(llama2c, is_read_as_it_was_written)
{
    round_trip(true);
    round_trip(false);
}

// Where llama2.c's run.c looks for a classifier of its own: behind the two tables.
Test(llama2c, has_llama2_c_s_offsets)
{
    struct model_config c = config_of(false);
    struct model_layout layout = model_layout_of(&c);
    CLEANUP_FREE float *weights = xcalloc(layout.count, sizeof *weights);
    weights[layout.tensor[MODEL_CLASSIFIER].at] = 42;
    CLEANUP_FREE char *path = written(&c, weights);
    enum { DIM = 8, HIDDEN = 12, L = 2, KV = 4, V = 11, LENGTH = 6, HEAD = 2 };
    size_t before = V * DIM +
                    L * (DIM + 2 * DIM * DIM + 2 * KV * DIM + DIM + 3 * DIM * HIDDEN) +
                    DIM + LENGTH * HEAD;
    FILE *f = fopen(path, "rb");
    float value = 0;
    fseek(f, (long)(28 + before * sizeof(float)), SEEK_SET);
    cr_assert_eq(fread(&value, sizeof value, 1, f), 1);
    cr_assert_eq(value, 42);
    int32_t vocab;
    fseek(f, 20, SEEK_SET);
    cr_assert_eq(fread(&vocab, sizeof vocab, 1, f), 1);
    cr_assert_eq(vocab, -V);
    fclose(f);
    unlink(path);
}

Test(llama2c, a_seed_gives_the_same_weights)
{
    struct model_config c = config_of(true);
    struct model_layout layout = model_layout_of(&c);
    CLEANUP_FREE float *a = xcalloc(layout.count, sizeof *a);
    CLEANUP_FREE float *b = xcalloc(layout.count, sizeof *b);
    llama2c_fill_random(&c, 3, a);
    llama2c_fill_random(&c, 3, b);
    cr_assert_eq(memcmp(a, b, layout.count * sizeof *a), 0);
    llama2c_fill_random(&c, 4, b);
    cr_assert_neq(memcmp(a, b, layout.count * sizeof *a), 0);
}

static void refused(const uint8_t *data, size_t n, const char *part)
{
    ERR_AUTO err = ERR_INIT;
    struct model_config c;
    cr_assert_eq(llama2c_check("m.bin", data, n, &c, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), part), "%s", err_text(&err));
    cr_assert_eq(strncmp(err_text(&err), "m.bin: offset ", 14), 0, "%s",
                 err_text(&err));
}

Test(llama2c, what_is_none_is_refused_with_the_offset)
{
    struct model_config c = config_of(true);
    uint8_t head[MODEL_HEADER_BYTES + 4] = {0};
    model_config_write(&c, head);
    refused(head, 5, "the head has 28 bytes, and the file 5");
    refused(head, sizeof head, "offset 32: the file ends here");
    memset(head + 12, 0, 4); // no heads
    refused(head, sizeof head, "offset 0");
    memset(head, 0xFF, sizeof head);
    refused(head, sizeof head, "offset 0");
    memcpy(head, "GGUF", 4);
    refused(head, sizeof head, "offset 0");
}

Test(llama2c, a_file_that_is_not_there_or_empty_is_named)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_null(llama2c_open("/nowhere/m.bin", &err));
    cr_assert_not_null(strstr(err_text(&err), "/nowhere/m.bin: "));
    cr_assert_null(llama2c_open("/dev", &err));
    cr_assert_not_null(strstr(err_text(&err), "/dev: it is no regular file"));
}
