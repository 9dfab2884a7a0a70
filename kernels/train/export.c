// Units gathered one by one, their tensors written to where llama2.c has them.
#include "kernels/train/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/mem.h"
#include "kernels/comm/agree.h"
#include "kernels/model/rope.h"
#include "kernels/train/wholefile.h"

struct out {
    const struct units *units;
    struct model_layout layout;
    int fd;
};

// The file's floats, of which two tables for RoPE stand before the classifier.
static size_t table_floats(const struct out *o)
{
    const struct model_config *c = &o->units->config;
    return (size_t)c->seq_len * model_head_dim(c);
}

static int put(const struct out *o, size_t at, const float *from, size_t n)
{
    const char *bytes = (const char *)from;
    size_t left = n * sizeof *from;
    off_t to = (off_t)(MODEL_HEADER_BYTES + at * sizeof *from);
    while (left > 0) {
        ssize_t put = pwrite(o->fd, bytes, left, to);
        if (put < 0)
            return -1;
        bytes += put;
        left -= (size_t)put;
        to += put;
    }
    return 0;
}

static int put_tables(const struct out *o)
{
    const struct model_config *c = &o->units->config;
    size_t n = table_floats(o);
    CLEANUP_FREE float *columns = xcalloc(n, sizeof *columns);
    rope_columns(columns, (size_t)c->seq_len, model_head_dim(c));
    const struct model_place *last = &o->layout.tensor[MODEL_FINAL_NORM];
    return put(o, last->at + last->cols, columns, n);
}

static int put_unit(const struct out *o, size_t u, const float *values)
{
    const struct unit *unit = units_get(o->units, u);
    for (int t = 0; t < MODEL_TENSORS; t++) {
        const struct model_place *p = &o->layout.tensor[t];
        if (unit->at[t] == UNIT_NONE ||
            (t == MODEL_CLASSIFIER && o->units->config.shared))
            continue;
        size_t to = model_at(&o->layout, t, u == 0 ? 0 : u - 1) +
                    (t == MODEL_CLASSIFIER ? table_floats(o) : 0);
        if (put(o, to, values + unit->at[t], p->rows * p->cols) < 0)
            return -1;
    }
    return 0;
}

static int put_header(const struct out *o)
{
    uint8_t header[MODEL_HEADER_BYTES];
    model_config_write(&o->units->config, header);
    return pwrite(o->fd, header, sizeof header, 0) == sizeof header ? 0 : -1;
}

static int begin(struct out *o, const char *fresh)
{
    o->fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return o->fd < 0 || put_header(o) < 0 || put_tables(o) < 0 ? -1 : 0;
}

int export_model(const char *path, const struct units *units, struct params *params,
                 struct comm *comm, struct err *err)
{
    CLEANUP_FREE char *fresh = xasprintf("%s.tmp", path);
    struct out o = {
        .units = units, .layout = model_layout_of(&units->config), .fd = -1};
    bool first = comm_rank(comm) == 0;
    int why = first && begin(&o, fresh) < 0 ? errno : 0;
    for (size_t u = 0; u < units->n; u++) {
        const float *values = params_values(params, u);
        if (first && why == 0 && put_unit(&o, u, values) < 0)
            why = errno;
    }
    if (o.fd >= 0) {
        if (why == 0 && fsync(o.fd) < 0)
            why = errno;
        close(o.fd);
    }
    if (first && why == 0 &&
        (rename(fresh, path) < 0 || wholefile_sync_folder(path) < 0))
        why = errno;
    if (why != 0) {
        err_set_errno(err, why, "--export %s cannot be written", path);
        unlink(fresh);
    }
    return agree(comm, why != 0 ? -1 : 0, NULL, err);
}
