// What the cores' work says of this machine.
#ifndef MUSTER_KERNELS_CHECK_CPU_JUDGE_H
#define MUSTER_KERNELS_CHECK_CPU_JUDGE_H

#include "common/thresholds.h"
#include "kernels/check/cores.h"
#include "kernels/check/finding.h"

void cpu_judge(const struct cores *cores, const struct thresholds *t,
               struct finding *f);

#endif
