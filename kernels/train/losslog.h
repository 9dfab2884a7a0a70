// The log of losses: one line a step, tab-separated, appended; over restarts one file.
//
//   step  loss  grad_norm  lr  run  ranks  seconds  tokens_per_s
//
// The first four are the same bits for every number of ranks and after every restart (17 digits);
// run counts the starts that added to the file.
#ifndef MUSTER_KERNELS_TRAIN_LOSSLOG_H
#define MUSTER_KERNELS_TRAIN_LOSSLOG_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct loss_line {
    uint64_t step;
    double loss, norm, lr;
    uint32_t run, ranks;
    double seconds, tokens_per_s;
};

struct losslog;

// Opens DIR/loss.tsv, makes it where it is not there, and drops all lines of steps beyond
// `step`, and half a line at the end. Error: a line that is none, or whose step is not above the one
// before it, with its number.
struct losslog *losslog_open(const char *dir, uint64_t step, struct err *err);
void losslog_close(struct losslog *l); // NULL-safe
// The lines that stayed, and 1 + the highest run of them.
uint32_t losslog_run(const struct losslog *l);
const struct loss_line *losslog_lines(const struct losslog *l, size_t *n);
// Appends a line. That it could not be written is losslog_sync()'s to tell.
void losslog_add(struct losslog *l, const struct loss_line *line);
// All lines are on the disk.
int losslog_sync(struct losslog *l, struct err *err);

#endif
