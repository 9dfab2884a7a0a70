// Metrics in the text form of Prometheus (version 0.0.4). Pure.
#ifndef MUSTER_COMMON_PROMTEXT_H
#define MUSTER_COMMON_PROMTEXT_H

#include "common/buf.h"

#define PROMTEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum promtext_kind { PROMTEXT_GAUGE, PROMTEXT_COUNTER, PROMTEXT_HISTOGRAM };

// The two lines before a metric's samples.
void promtext_head(struct buf *out, const char *name, enum promtext_kind kind,
                   const char *help);
// One sample; `label` NULL: without. The label's value may be any text.
void promtext_sample(struct buf *out, const char *name, const char *label,
                     const char *value, double number);
// A metric with one sample and no label.
void promtext_one(struct buf *out, const char *name, enum promtext_kind kind,
                  const char *help, double number);

#endif
