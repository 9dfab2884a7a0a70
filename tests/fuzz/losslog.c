// libFuzzer target for the log of losses: a step (two bytes), and the file. What is taken is drawn,
// and is read the same once more.
#include <inttypes.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "demand.h"
#include "kernels/train/losslog.h"
#include "kernels/train/plot.h"
#include "scratch.h"

static void check(const struct losslog *l, uint64_t step)
{
    size_t n;
    const struct loss_line *lines = losslog_lines(l, &n);
    for (size_t i = 0; i < n; i++) {
        demand(lines[i].step <= step, "a step beyond the checkpoint's");
        demand(i == 0 || lines[i].step > lines[i - 1].step, "the steps' order");
        demand(lines[i].run < losslog_run(l), "this start's number is taken");
    }
}

static void draw(const struct losslog *l)
{
    BUF_AUTO svg = BUF_INIT;
    size_t n;
    const struct loss_line *lines = losslog_lines(l, &n);
    plot_svg(&svg, "t", lines, n);
    demand(memmem(buf_data(&svg), buf_len(&svg), "nan", 3) == NULL &&
               memmem(buf_data(&svg), buf_len(&svg), "inf", 3) == NULL,
           "a place that is no number");
}

// What a step's line says of every run; the rest is rounded. Caller frees.
static char *describe(const struct losslog *l)
{
    BUF_AUTO out = BUF_INIT;
    size_t n;
    const struct loss_line *lines = losslog_lines(l, &n);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%" PRIu64 " %a %a %a %u %u\n", lines[i].step, lines[i].loss,
                   lines[i].norm, lines[i].lr, lines[i].run, lines[i].ranks);
    return buf_steal_str(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    if (size < 2)
        return 0;
    uint64_t step = data[0] | (uint64_t)data[1] << 8;
    free(scratch_put("loss.tsv", data + 2, size - 2));
    struct losslog *l = losslog_open(scratch_dir(), step, &err);
    if (l == NULL) {
        demand_error(&err);
        return 0;
    }
    check(l, step);
    draw(l);
    CLEANUP_FREE char *once = describe(l);
    losslog_close(l);
    l = losslog_open(scratch_dir(), step, &err);
    demand(l != NULL, err_text(&err));
    CLEANUP_FREE char *twice = describe(l);
    demand(strcmp(once, twice) == 0, "it is read as something else");
    losslog_close(l);
    return 0;
}
