// The head says how long the file has to be; all else is where its floats lie.
#include "kernels/model/llama2c.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/crc32.h"
#include "common/fd.h"
#include "common/mem.h"
#include "kernels/model/mapped.h"
#include "kernels/model/mix.h"
#include "kernels/model/rope.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints are little-endian, and mapped as they are"
#endif

struct llama2c {
    struct mapped file;
    struct model_config config;
    struct model_layout layout;
};

// Floats of the two tables that nobody reads.
static size_t table_floats(const struct model_config *c)
{
    return (size_t)c->seq_len * (model_head_dim(c) / 2) * 2;
}

static size_t file_bytes(const struct model_config *c, const struct model_layout *l)
{
    return MODEL_HEADER_BYTES + (l->count + table_floats(c)) * sizeof(float);
}

// ---- reading ----------------------------------------------------------------------

int llama2c_check(const char *name, const uint8_t *data, size_t n,
                  struct model_config *config, struct err *err)
{
    if (n < MODEL_HEADER_BYTES) {
        err_set(err,
                "%s: offset 0: the head has %d bytes, and the file %zu: it is no "
                "checkpoint of llama2.c (version 0)",
                name, MODEL_HEADER_BYTES, n);
        return -1;
    }
    if (model_config_read(config, data, err) < 0) {
        err_prefix(err, "%s: offset 0: no head of a llama2.c checkpoint (version 0)",
                   name);
        return -1;
    }
    struct model_layout layout = model_layout_of(config);
    size_t want = file_bytes(config, &layout);
    if (n == want)
        return 0;
    err_set(
        err,
        "%s: offset %zu: the file %s here, but by its head (dim %d, hidden %d, %d "
        "layers, %d heads, %d of keys, %s vocabulary %d, length %d) it has %zu bytes: "
        "it is cut, or has another format",
        name, n < want ? n : want, n < want ? "ends" : "goes on", config->dim,
        config->hidden_dim, config->layers, config->heads, config->kv_heads,
        config->shared ? "shared" : "unshared", config->vocab, config->seq_len, want);
    return -1;
}

struct llama2c *llama2c_open(const char *path, struct err *err)
{
    struct llama2c *c = xcalloc(1, sizeof *c);
    if (mapped_open(path, &c->file, err) < 0 ||
        llama2c_check(path, c->file.data, c->file.n, &c->config, err) < 0) {
        llama2c_close(c);
        return NULL;
    }
    c->layout = model_layout_of(&c->config);
    return c;
}

void llama2c_close(struct llama2c *c)
{
    if (c == NULL)
        return;
    mapped_close(&c->file);
    free(c);
}

const struct model_config *llama2c_config(const struct llama2c *c)
{
    return &c->config;
}

const float *llama2c_tensor(const struct llama2c *c, enum model_tensor t, size_t layer)
{
    size_t at = model_at(&c->layout, t, layer);
    if (t == MODEL_CLASSIFIER && !c->config.shared)
        at += table_floats(&c->config);
    const void *p = c->file.data + MODEL_HEADER_BYTES + at * sizeof(float);
    return p;
}

void llama2c_hash(const struct llama2c *c, char out[SHA256_HEX])
{
    sha256_hex(c->file.data, c->file.n, out);
}

uint32_t llama2c_crc(const struct llama2c *c)
{
    return crc32_add(0, c->file.data, c->file.n);
}

// ---- writing ----------------------------------------------------------------------

static int put_floats(int fd, const float *floats, size_t n)
{
    return fd_write(fd, floats, n * sizeof *floats);
}

static int write_all(int fd, const struct model_config *config, const float *weights)
{
    uint8_t head[MODEL_HEADER_BYTES];
    struct model_layout layout = model_layout_of(config);
    size_t before = config->shared ? layout.count : layout.tensor[MODEL_CLASSIFIER].at;
    CLEANUP_FREE float *tables = xcalloc(table_floats(config) + 1, sizeof *tables);
    rope_columns(tables, (size_t)config->seq_len, model_head_dim(config));
    model_config_write(config, head);
    if (fd_write(fd, head, sizeof head) < 0 || put_floats(fd, weights, before) < 0 ||
        put_floats(fd, tables, table_floats(config)) < 0 ||
        put_floats(fd, weights + before, layout.count - before) < 0)
        return -1;
    return fsync(fd);
}

int llama2c_write(const char *path, const struct model_config *config,
                  const float *weights, struct err *err)
{
    enum { MODE = 0644 };
    CLEANUP_FREE char *fresh = xasprintf("%s.XXXXXX", path);
    CLEANUP_CLOSE int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0) {
        err_set_errno(err, errno, "%s: it cannot be written", path);
        return -1;
    }
    if (write_all(fd, config, weights) == 0 && fchmod(fd, MODE) == 0 &&
        rename(fresh, path) == 0)
        return 0;
    err_set_errno(err, errno, "%s: it cannot be written", path);
    unlink(fresh);
    return -1;
}

// ---- a model of no training -------------------------------------------------------

// From -1 to 1.
static float draw(uint64_t *state)
{
    uint64_t bits = mix(*state);
    *state += MIX_STEP;
    return (float)(int32_t)(bits >> 40) / (float)(1 << 23) - 1.0F;
}

void llama2c_fill_random(const struct model_config *config, uint64_t seed,
                         float *weights)
{
    struct model_layout layout = model_layout_of(config);
    for (int t = 0; t < MODEL_TENSORS; t++) {
        const struct model_place *p = &layout.tensor[t];
        bool norm = t == MODEL_ATT_NORM || t == MODEL_FFN_NORM || t == MODEL_FINAL_NORM;
        if (t == MODEL_CLASSIFIER && config->shared)
            continue;
        // Large enough that tokens matter, so that texts do not run into one token.
        float scale = t == MODEL_EMBEDDING ? 1.0F : 2.0F / sqrtf((float)p->cols);
        for (size_t i = 0; i < p->layers * p->rows * p->cols; i++) {
            float x = draw(&seed);
            weights[p->at + i] = norm ? 1.0F + 0.1F * x : scale * x;
        }
    }
}
