// The curve of losses as an SVG picture, with a line at each restart. Pure.
#ifndef MUSTER_KERNELS_TRAIN_PLOT_H
#define MUSTER_KERNELS_TRAIN_PLOT_H

#include "common/buf.h"
#include "kernels/train/losslog.h"

// Appends the picture of n lines, whose steps rise (to 2^32 at most) and whose losses are as
// losslog_open() takes them.
void plot_svg(struct buf *out, const char *title, const struct loss_line *lines,
              size_t n);

#endif
