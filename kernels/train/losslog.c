// The log of losses, cut back to a checkpoint and appended to.
#include "kernels/train/losslog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/mem.h"
#include "kernels/compute/compute.h"
#include "kernels/train/wholefile.h"

enum { LOG_MAX = 1 << 30 }; // bytes

static const char title[] =
    "# step\tloss\tgrad_norm\tlr\trun\tranks\tseconds\ttokens_per_s\n";

struct losslog {
    char *path;
    int fd;
    struct loss_line *lines;
    size_t n;
    uint32_t run;
    int failed; // errno of a write
};

// ---- lines ------------------------------------------------------------------------

static void print_line(struct buf *out, const struct loss_line *l)
{
    buf_printf(
        out, "%" PRIu64 "\t%.17g\t%.17g\t%.17g\t%" PRIu32 "\t%" PRIu32 "\t%.3f\t%.0f\n",
        l->step, l->loss, l->norm, l->lr, l->run, l->ranks, l->seconds,
        l->tokens_per_s);
}

// A number that is too large, or below 0, is read as another one: run and ranks have room for
// that. No loss that was logged was as large as those that are refused.
static int parse_line(const char *text, struct loss_line *l)
{
    uint64_t run, ranks;
    int used = 0;
    if (sscanf(text, "%" SCNu64 " %lf %lf %lf %" SCNu64 " %" SCNu64 " %lf %lf%n",
               &l->step, &l->loss, &l->norm, &l->lr, &run, &ranks, &l->seconds,
               &l->tokens_per_s, &used) != 8 ||
        text[used] != '\0' || run >= UINT32_MAX || ranks > UINT32_MAX ||
        !(fabs(l->loss) < COMPUTE_FIXED_MAX))
        return -1;
    l->run = (uint32_t)run;
    l->ranks = (uint32_t)ranks;
    return 0;
}

static void keep(struct losslog *l, const struct loss_line *line)
{
    l->lines = xrealloc(l->lines, l->n + 1, sizeof *l->lines);
    l->lines[l->n++] = *line;
}

// Whole lines up to the step. A last one without its end was being written when all ended.
static int parse(struct losslog *l, char *text, uint64_t step, struct err *err)
{
    size_t number = 0;
    for (char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        struct loss_line line;
        *end = '\0';
        number++;
        if (*text == '#' || *text == '\0')
            continue;
        if (parse_line(text, &line) < 0) {
            err_set(
                err,
                "%s:%zu: '%.40s' is no line of a loss log: correct it, or remove the "
                "file",
                l->path, number, text);
            return -1;
        }
        if (line.step > step)
            continue;
        if (l->n > 0 && line.step <= l->lines[l->n - 1].step) {
            err_set(err,
                    "%s:%zu: step %" PRIu64 " comes behind step %" PRIu64
                    ": correct it, or remove the file",
                    l->path, number, line.step, l->lines[l->n - 1].step);
            return -1;
        }
        keep(l, &line);
        l->run = line.run >= l->run ? line.run + 1 : l->run;
    }
    return 0;
}

// ---- the file ---------------------------------------------------------------------

static int rewrite(const struct losslog *l, struct err *err)
{
    BUF_AUTO out = BUF_INIT;
    buf_append_str(&out, title);
    for (size_t i = 0; i < l->n; i++)
        print_line(&out, &l->lines[i]);
    return wholefile_put(l->path, &out, err);
}

static int open_at(struct losslog *l, uint64_t step, struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    if (wholefile_get(l->path, LOG_MAX, &text, err) < 0)
        return -1;
    // The bytes before a NUL are text; what is behind one is none of ours.
    buf_append(&text, "", 1);
    if (parse(l, (char *)buf_data(&text), step, err) < 0 || rewrite(l, err) < 0)
        return -1;
    l->fd = open(l->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (l->fd >= 0)
        return 0;
    err_set_errno(err, errno, "%s cannot be opened", l->path);
    return -1;
}

struct losslog *losslog_open(const char *dir, uint64_t step, struct err *err)
{
    struct losslog *l = xcalloc(1, sizeof *l);
    *l = (struct losslog){.path = xasprintf("%s/loss.tsv", dir), .fd = -1, .run = 1};
    if (open_at(l, step, err) == 0)
        return l;
    losslog_close(l);
    return NULL;
}

void losslog_close(struct losslog *l)
{
    if (l == NULL)
        return;
    if (l->fd >= 0)
        close(l->fd);
    free(l->lines);
    free(l->path);
    free(l);
}

uint32_t losslog_run(const struct losslog *l)
{
    return l->run;
}

const struct loss_line *losslog_lines(const struct losslog *l, size_t *n)
{
    *n = l->n;
    return l->lines;
}

void losslog_add(struct losslog *l, const struct loss_line *line)
{
    BUF_AUTO out = BUF_INIT;
    if (l->failed != 0)
        return; // it would be glued to what was written of a line
    print_line(&out, line);
    keep(l, line);
    if (fd_write(l->fd, buf_data(&out), buf_len(&out)) < 0)
        l->failed = errno;
}

int losslog_sync(struct losslog *l, struct err *err)
{
    if (l->failed == 0 && fsync(l->fd) < 0)
        l->failed = errno;
    if (l->failed == 0)
        return 0;
    err_set_errno(err, l->failed, "%s cannot be written", l->path);
    return -1;
}
