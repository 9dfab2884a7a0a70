// The loop of training: samples, step, loss, checkpoint.
#include "kernels/train/run.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/loop.h"
#include "common/mem.h"
#include "kernels/comm/agree.h"
#include "kernels/comm/nccl.h"
#include "kernels/train/checkpoint.h"
#include "kernels/train/export.h"
#include "kernels/train/losslog.h"
#include "kernels/train/net.h"
#include "kernels/train/plot.h"
#include "kernels/train/text.h"
#include "kernels/train/wholefile.h"

enum { PROGRESS_MS = 1000 };

struct run {
    const struct train_opts *o;
    struct comm *comm;
    const struct compute *compute;
    struct gpu_way way;
    struct comm *nccl; // NULL: not this way
    bool first;        // rank 0, which tells and logs
    struct recipe recipe;
    struct units units;
    struct text *text;
    struct params *params;
    struct net *net;
    struct losslog *log; // rank 0's
    int32_t *tokens;
    uint64_t step;              // done
    uint64_t began_ms, told_ms; // this run; the last line
};

__attribute__((format(printf, 2, 3))) static void tell(const struct run *r,
                                                       const char *fmt, ...)
{
    if (!r->first)
        return;
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

static void warn_damaged(void *arg, const char *text)
{
    tell(arg, "damaged checkpoint: %s; the one before it is taken", text);
}

// ---- begin ------------------------------------------------------------------------

static size_t sample_tokens(const struct run *r)
{
    return (size_t)r->recipe.config.seq_len + 1;
}

static int open_all(struct run *r, struct err *err)
{
    r->compute = compute_open(r->o->compute, err);
    if (r->compute == NULL)
        return -1;
    r->text = text_open(r->o->text, sample_tokens(r), err);
    if (r->text == NULL)
        return -1;
    r->recipe.text_len = text_len(r->text);
    r->recipe.text_crc = text_crc(r->text);
    if (mkdir(r->o->dir, 0755) < 0 && errno != EEXIST) {
        err_set_errno(err, errno, "--dir %s cannot be made", r->o->dir);
        return -1;
    }
    return 0;
}

static struct checkpoint checkpoint_of(const struct run *r)
{
    return (struct checkpoint){.dir = r->o->dir,
                               .keep = r->o->keep,
                               .recipe = &r->recipe,
                               .units = &r->units,
                               .params = r->params,
                               .comm = r->comm};
}

static int open_log(struct run *r, struct err *err)
{
    if (r->first)
        r->log = losslog_open(r->o->dir, r->step, err);
    return agree(r->comm, r->first && r->log == NULL ? -1 : 0, NULL, err);
}

// One text and one recipe on all ranks: else they would train something that none of them can
// load again.
static int compare(const struct run *r, struct err *err)
{
    const uint64_t text[] = {r->recipe.text_len, r->recipe.text_crc};
    uint64_t fields[RECIPE_FIELDS];
    recipe_fields(&r->recipe, fields);
    if (agree_same(r->comm, text, sizeof text, "text (--text)", err) < 0)
        return -1;
    return agree_same(r->comm, fields, sizeof fields,
                      "recipe (--seed, --steps, --lr, the model's shape, ...)", err);
}

static int choose_way(struct run *r, struct err *err)
{
    char device[COMPUTE_DEVICE];
    r->compute->device(device);
    if (gpu_way_choose(r->comm, r->o->gpu_way, device, &r->way, err) < 0)
        return -1;
    if (r->way.nccl)
        r->nccl = comm_nccl(r->comm, &r->way.lib, COMM_NCCL_INIT_MS);
    return 0;
}

static void tell_begin(const struct run *r)
{
    const char *attempt = getenv("MUSTER_ATTEMPT");
    tell(r,
         "muster-train: from step %" PRIu64 " of %" PRIu64
         ": %d ranks (%s%s%s), zero %d, %zu parameters (%s)%s%s",
         r->step, r->recipe.steps, comm_size(r->comm),
         comm_name(r->nccl != NULL ? r->nccl : r->comm),
         r->way.why != NULL ? ", staged: " : "", r->way.why != NULL ? r->way.why : "",
         r->o->zero, units_count(&r->units), r->compute->name,
         attempt != NULL ? ", attempt " : "", attempt != NULL ? attempt : "");
}

static int begin(struct run *r, struct err *err)
{
    if (agree(r->comm, open_all(r, err), NULL, err) < 0 || compare(r, err) < 0 ||
        choose_way(r, err) < 0)
        return -1;
    r->tokens = xcalloc(sample_tokens(r), sizeof *r->tokens);
    r->params = params_create(&r->units, r->compute,
                              r->nccl != NULL ? r->nccl : r->comm, r->o->zero);
    r->net = net_create(&r->units, r->compute);
    struct checkpoint c = checkpoint_of(r);
    int rc = checkpoint_load(&c, &r->step, warn_damaged, r, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        params_init(r->params, r->recipe.seed);
    if (open_log(r, err) < 0)
        return -1;
    tell_begin(r);
    return 0;
}

static void end(struct run *r)
{
    losslog_close(r->log);
    net_destroy(r->net);
    params_destroy(r->params);
    comm_destroy(r->nccl);
    gpu_way_clear(&r->way);
    text_close(r->text);
    free(r->tokens);
}

// ---- a step -----------------------------------------------------------------------

// A loss as an integer: summed over samples it is the same in any order.
static int fixed_loss(double loss, int64_t *sum, struct err *err)
{
    if (!(fabs(loss) < COMPUTE_FIXED_MAX)) {
        err_set(err, "the loss is %g: the training diverges; give a smaller --lr",
                loss);
        return -1;
    }
    *sum += llrint(loss * (double)(INT64_C(1) << COMPUTE_FIXED_BITS));
    return 0;
}

// Sample i of the step, if there is one. Without one a rank takes part in the exchange only, with
// another sample that does not count.
static int one_sample(struct run *r, uint64_t i, int64_t *sum, struct err *err)
{
    bool counts = i < r->recipe.batch;
    double loss;
    text_sample(r->text, r->recipe.seed, r->step + 1, counts ? i : 0, r->tokens,
                sample_tokens(r));
    int rc = net_sample(r->net, r->params, r->tokens, counts, &loss, err);
    if (rc == 0 && counts)
        rc = fixed_loss(loss, sum, err);
    return rc;
}

// Rank r has samples r, r + ranks, ... Returns the mean loss through *loss.
static int all_samples(struct run *r, double *loss, struct err *err)
{
    uint64_t ranks = (uint64_t)comm_size(r->comm), rank = (uint64_t)comm_rank(r->comm);
    struct {
        int64_t loss, failed;
    } sum = {0};
    int rc = 0;
    for (uint64_t i = 0; i < r->recipe.batch; i += ranks) {
        if (one_sample(r, i + rank, &sum.loss, err) < 0)
            rc = -1;
    }
    sum.failed = rc < 0;
    comm_allreduce_i64(r->comm, &sum.loss, 2);
    if (sum.failed > 0) {
        agree(r->comm, rc, NULL, err);
        err_prefix(err, "step %" PRIu64, r->step + 1);
        return -1;
    }
    *loss = (double)sum.loss / (double)(INT64_C(1) << COMPUTE_FIXED_BITS) /
            (double)r->recipe.batch;
    return 0;
}

static void tell_step(struct run *r, const struct loss_line *line)
{
    uint64_t now = loop_now_ms();
    if (now - r->told_ms < PROGRESS_MS && line->step != r->o->until)
        return;
    r->told_ms = now;
    tell(r,
         "step %" PRIu64 "/%" PRIu64 "  loss %.4f  norm %.3f  lr %.2g  %.0f tokens/s",
         line->step, r->recipe.steps, line->loss, line->norm, line->lr,
         line->tokens_per_s);
}

static int one_step(struct run *r, struct err *err)
{
    uint64_t began = loop_now_ms();
    struct params_step how = {.samples = (double)r->recipe.batch,
                              .clip = r->recipe.clip,
                              .adamw = recipe_adamw(&r->recipe, r->step + 1)};
    double loss;
    if (all_samples(r, &loss, err) < 0)
        return -1;
    double norm = params_step(r->params, &how);
    r->step++;
    uint64_t now = loop_now_ms(), took = now - began > 0 ? now - began : 1;
    double tokens = (double)r->recipe.batch * r->recipe.config.seq_len;
    struct loss_line line = {.step = r->step,
                             .loss = loss,
                             .norm = norm,
                             .lr = (double)how.adamw.lr,
                             .run = r->first ? losslog_run(r->log) : 0,
                             .ranks = (uint32_t)comm_size(r->comm),
                             .seconds = (double)(now - r->began_ms) / 1000,
                             .tokens_per_s = tokens * 1000 / (double)took};
    tell_step(r, &line);
    if (r->first)
        losslog_add(r->log, &line);
    return 0;
}

// ---- the run ----------------------------------------------------------------------

// The log's lines are on the disk before a checkpoint says that their steps are done. An error of
// the log, which rank 0 alone has, is told here.
static int save(struct run *r, struct err *err)
{
    struct checkpoint c = checkpoint_of(r);
    int rc = r->first ? losslog_sync(r->log, err) : 0;
    if (agree(r->comm, rc, NULL, err) < 0 || checkpoint_save(&c, r->step, err) < 0)
        return -1;
    tell(r, "checkpoint of step %" PRIu64, r->step);
    return 0;
}

static int steps(struct run *r, struct err *err)
{
    while (r->step < r->o->until) {
        if (one_step(r, err) < 0)
            return -1;
        bool due = r->step % r->o->every == 0 || r->step == r->o->until;
        if (due && save(r, err) < 0)
            return -1;
    }
    return 0;
}

static int draw(const struct run *r, struct err *err)
{
    BUF_AUTO svg = BUF_INIT;
    size_t n;
    const struct loss_line *lines = losslog_lines(r->log, &n);
    const char *slash = strrchr(r->o->text, '/');
    CLEANUP_FREE char *title =
        xasprintf("%s, %zu parameters", slash != NULL ? slash + 1 : r->o->text,
                  units_count(&r->units));
    plot_svg(&svg, title, lines, n);
    return wholefile_put(r->o->plot, &svg, err);
}

static int finish(struct run *r, struct err *err)
{
    if (r->o->export_path != NULL &&
        export_model(r->o->export_path, &r->units, r->params, r->comm, err) < 0)
        return -1;
    int rc = r->first && r->o->plot != NULL ? draw(r, err) : 0;
    if (agree(r->comm, rc, NULL, err) < 0)
        return -1;
    tell(r, "muster-train: ended at step %" PRIu64, r->step);
    return 0;
}

int run_train(const struct train_opts *o, struct comm *comm, struct err *err)
{
    uint64_t now = loop_now_ms();
    struct run r = {.o = o,
                    .comm = comm,
                    .first = comm_rank(comm) == 0,
                    .recipe = o->recipe,
                    .units = units_of(&o->recipe.config),
                    .began_ms = now};
    int rc = begin(&r, err);
    if (rc == 0)
        rc = steps(&r, err);
    if (rc == 0)
        rc = finish(&r, err);
    end(&r);
    return rc;
}
