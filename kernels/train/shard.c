// A shard as bytes, and those in a file.
#include "kernels/train/shard.h"

#include <string.h>

#include "common/buf.h"
#include "common/crc32.h"
#include "kernels/train/wholefile.h"

enum { VERSION = 1, HEADER_BYTES = 40 + 8 * RECIPE_FIELDS, CRC_BYTES = 4 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "floats lie in files as here");

static const char magic[8] = {'M', 'U', 'S', 'T', 'E', 'R', 'C', 'K'};

// ---- the bytes --------------------------------------------------------------------

struct header {
    char magic[8];
    uint32_t version, rank, ranks, zero;
    uint64_t step, floats;
    uint64_t recipe[RECIPE_FIELDS];
};

_Static_assert(sizeof(struct header) == HEADER_BYTES, "no padding");

static uint64_t floats_of(const struct units *units, const struct shard *s)
{
    uint64_t n = 0;
    for (size_t u = 0; u < units->n; u++)
        n += unit_slice_of(units_get(units, u), s->rank, s->ranks).n;
    return n * PARAMS_KINDS;
}

static struct header header_of(const struct shard *s, const struct recipe *recipe,
                               const struct units *units)
{
    struct header h = {.version = VERSION,
                       .rank = s->rank,
                       .ranks = s->ranks,
                       .step = s->step,
                       .floats = floats_of(units, s)};
    memcpy(h.magic, magic, sizeof magic);
    recipe_fields(recipe, h.recipe);
    return h;
}

static void encode(struct buf *out, const struct shard *s, const struct recipe *recipe,
                   const struct units *units, const struct params *params)
{
    struct header h = header_of(s, recipe, units);
    buf_append(out, &h, sizeof h);
    for (size_t u = 0; u < units->n; u++) {
        size_t n = unit_slice_of(units_get(units, u), s->rank, s->ranks).n;
        for (int kind = 0; kind < PARAMS_KINDS; kind++)
            buf_append(out, params_slice(params, u, kind), n * sizeof(float));
    }
    uint32_t crc = crc32_add(0, buf_data(out), buf_len(out));
    buf_append(out, &crc, sizeof crc);
}

static void decode(const uint8_t *at, const struct shard *s, const struct units *units,
                   struct params *params)
{
    at += HEADER_BYTES; // a multiple of 4, so that floats are aligned
    for (size_t u = 0; u < units->n; u++) {
        struct unit_slice slice = unit_slice_of(units_get(units, u), s->rank, s->ranks);
        for (int kind = 0; kind < PARAMS_KINDS; kind++) {
            params_put(params, u, kind, slice.at, (const float *)(const void *)at,
                       slice.n);
            at += slice.n * sizeof(float);
        }
    }
}

// ---- what can be wrong with it ----------------------------------------------------

static int check_header(const struct header *h, const struct shard *s, struct err *err)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0 || h->zero != 0) {
        err_set(err, "it is no checkpoint: it begins with other bytes");
        return -1;
    }
    if (h->version != VERSION) {
        err_set(err, "its version is %u, and this program reads %d", h->version,
                VERSION);
        return -1;
    }
    if (h->rank == s->rank && h->ranks == s->ranks && h->step == s->step)
        return 0;
    err_set(err, "it is rank %u of %u at step %llu: it was put in another one's place",
            h->rank, h->ranks, (unsigned long long)h->step);
    return -1;
}

// No product with a number of the file: it could be any.
static int check_size(const struct header *h, size_t len, struct err *err)
{
    size_t rest = len - HEADER_BYTES - CRC_BYTES;
    if (rest % sizeof(float) == 0 && rest / sizeof(float) == h->floats)
        return 0;
    err_set(err, "it has %zu bytes and should have %d and %llu floats: it was cut off",
            len, HEADER_BYTES + CRC_BYTES, (unsigned long long)h->floats);
    return -1;
}

static int check_crc(const uint8_t *bytes, size_t len, struct err *err)
{
    uint32_t said, is = crc32_add(0, bytes, len - CRC_BYTES);
    memcpy(&said, bytes + len - CRC_BYTES, sizeof said);
    if (said == is)
        return 0;
    err_set(err,
            "its CRC is %08x, and it says %08x: bytes have changed since it was "
            "written",
            is, said);
    return -1;
}

static int check(const uint8_t *bytes, size_t len, const struct shard *s,
                 const struct recipe *recipe, const struct units *units,
                 struct err *err)
{
    struct header h;
    if (len < HEADER_BYTES + CRC_BYTES) {
        err_set(err, "it has %zu bytes: it was cut off", len);
        return -1;
    }
    memcpy(&h, bytes, sizeof h);
    if (check_header(&h, s, err) < 0)
        return -1;
    if (check_size(&h, len, err) < 0 || check_crc(bytes, len, err) < 0)
        return -1;
    if (recipe_check(recipe, h.recipe, err) < 0) {
        err->kind = SHARD_RECIPE;
        return -1;
    }
    if (h.floats == floats_of(units, s))
        return 0;
    err_set(err, "it has %llu floats, and this rank's part of the model has %llu",
            (unsigned long long)h.floats, (unsigned long long)floats_of(units, s));
    return -1;
}

// ---- files ------------------------------------------------------------------------

int shard_write(const char *path, const struct shard *s, const struct recipe *recipe,
                const struct units *units, const struct params *params, struct err *err)
{
    BUF_AUTO out = BUF_INIT;
    encode(&out, s, recipe, units, params);
    return wholefile_put(path, &out, err);
}

int shard_read(const char *path, const struct shard *s, const struct recipe *recipe,
               const struct units *units, struct params *params, struct err *err)
{
    BUF_AUTO bytes = BUF_INIT;
    size_t most =
        HEADER_BYTES + CRC_BYTES + units_count(units) * PARAMS_KINDS * sizeof(float);
    int rc = wholefile_get(path, most, &bytes, err);
    if (rc > 0)
        err_set(err, "%s: it is not there: is this directory one that all ranks share?",
                path);
    if (rc != 0)
        return -1;
    if (check(buf_data(&bytes), buf_len(&bytes), s, recipe, units, err) < 0) {
        err_prefix(err, "%s", path);
        return -1;
    }
    decode(buf_data(&bytes), s, units, params);
    return 0;
}
