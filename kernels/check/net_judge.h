// What a pair's numbers mean: evidence and verdict of netcheck.
#ifndef MUSTER_KERNELS_CHECK_NET_JUDGE_H
#define MUSTER_KERNELS_CHECK_NET_JUDGE_H

#include "common/thresholds.h"
#include "kernels/check/finding.h"
#include "kernels/check/net_nccl.h"
#include "kernels/check/net_pair.h"

// err: what hindered the rounds, if something did; then times say nothing.
void net_judge_tcp(struct finding *f, const struct net_pair *p, const struct err *err,
                   const struct thresholds *t);
void net_judge_nccl(struct finding *f, const struct net_nccl *p, const struct err *err,
                    const struct thresholds *t);
// The last word: what became of the pair, in one word for whoever blames, and err's text.
void net_judge_outcome(struct finding *f, const struct err *err);

#endif
