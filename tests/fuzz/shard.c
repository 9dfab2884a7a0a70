// libFuzzer target for a rank's part of a checkpoint: a byte that says which part it should be,
// then the file. Its last four bytes become the CRC of the others, or what is behind the check of
// that would hardly be seen.
#include <string.h>

#include "common/buf.h"
#include "common/crc32.h"
#include "common/mem.h"
#include "demand.h"
#include "kernels/train/shard.h"
#include "kernels/train/wholefile.h"
#include "scratch.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { UNITS = 2, FILE_MAX = 1 << 16 };

static const struct recipe recipe = {.config = {.dim = 2,
                                                .hidden_dim = 2,
                                                .layers = 1,
                                                .heads = 1,
                                                .kv_heads = 1,
                                                .vocab = 4,
                                                .seq_len = 2,
                                                .shared = true},
                                     .seed = 1,
                                     .steps = 10,
                                     .batch = 1,
                                     .lr = 0.5,
                                     .text_len = 100};
static struct units units; // set once, by LLVMFuzzerInitialize

// ---- in place of kernels/train/params.c ---------------------------------------------

struct params {
    float *floats[UNITS][PARAMS_KINDS]; // exactly as many as there are
    int puts;
};

const float *params_slice(const struct params *p, size_t unit, enum params_kind kind)
{
    return p->floats[unit][kind];
}

void params_put(struct params *p, size_t unit, enum params_kind kind, size_t at,
                const float *from, size_t n)
{
    demand(at + n <= units_get(&units, unit)->count, "more floats than there are");
    if (n > 0)
        memcpy(p->floats[unit][kind] + at, from, n * sizeof(float));
    p->puts++;
}

static void make(struct params *p)
{
    *p = (struct params){.puts = 0};
    for (size_t u = 0; u < UNITS; u++)
        for (int kind = 0; kind < PARAMS_KINDS; kind++)
            p->floats[u][kind] = xcalloc(units_get(&units, u)->count, sizeof(float));
}

static void end(struct params *p)
{
    for (size_t u = 0; u < UNITS; u++)
        for (int kind = 0; kind < PARAMS_KINDS; kind++)
            free(p->floats[u][kind]);
}

// -------------------------------------------------------------------------------------

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    units = units_of(&recipe.config);
    demand(units.n == UNITS, "another model");
    return 0;
}

static void correct(uint8_t *file, size_t n)
{
    uint32_t crc;
    if (n < sizeof crc)
        return;
    crc = crc32_add(0, file, n - sizeof crc);
    memcpy(file + n - sizeof crc, &crc, sizeof crc);
}

// What was taken is written as the same bytes. (The first of more ranks has all of this model.)
static void write_again(const struct shard *s, const struct params *p,
                        const uint8_t *file, size_t n)
{
    BUF_AUTO again = BUF_INIT;
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *path = xasprintf("%s/again", scratch_dir());
    demand(shard_write(path, s, &recipe, &units, p, &err) == 0, err_text(&err));
    demand(wholefile_get(path, FILE_MAX, &again, &err) == 0, err_text(&err));
    demand(buf_len(&again) == n && memcmp(buf_data(&again), file, n) == 0,
           "it is written as something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct shard parts[] = {
        {.rank = 0, .ranks = 1, .step = 7},
        {.rank = 0, .ranks = 3, .step = 7},
        {.rank = 1, .ranks = 3, .step = 8},
    };
    ERR_AUTO err = ERR_INIT;
    struct params params;
    if (size == 0)
        return 0;
    const struct shard *s = &parts[data[0] % (sizeof parts / sizeof *parts)];
    size_t n = size - 1;
    CLEANUP_FREE uint8_t *file = xmemdup(data + 1, n);
    correct(file, n);
    CLEANUP_FREE char *path = scratch_put("shard", file, n);
    make(&params);
    if (shard_read(path, s, &recipe, &units, &params, &err) == 0) {
        write_again(s, &params, file, n);
    } else {
        demand_error(&err);
        demand(params.puts == 0, "some of it was taken, and it was refused");
    }
    end(&params);
    return 0;
}
