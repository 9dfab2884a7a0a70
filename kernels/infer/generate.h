// Texts that go on from prompts of the command line, printed when all are there.
#ifndef MUSTER_KERNELS_INFER_GENERATE_H
#define MUSTER_KERNELS_INFER_GENERATE_H

#include "common/err.h"
#include "kernels/infer/engine.h"
#include "kernels/infer/opts.h"
#include "kernels/infer/sched.h"
#include "kernels/model/tokenizer.h"

// On the leader. Error: a prompt that is too long, or stdout cannot be written.
int generate(struct engine *engine, struct sched *sched, const struct tokenizer *t,
             const struct opts *o, struct err *err);

#endif
