// What a GPU's numbers mean: which of them make it a faulty one. Pure.
#ifndef MUSTER_KERNELS_CHECK_NV_JUDGE_H
#define MUSTER_KERNELS_CHECK_NV_JUDGE_H

#include "common/thresholds.h"
#include "kernels/check/finding.h"
#include "kernels/check/nvml.h"
#include "kernels/check/xid.h"

// Adds to the finding what is wrong with the device. `logged`: the worst Xid that the
// kernel's log has of it, NULL: none; now_us: since boot.
void nv_judge_device(const struct nvml_device *d, const struct xid_event *logged,
                     uint64_t now_us, const struct thresholds *t, struct finding *f);
// Fewer devices than there should be; expect < 0: nobody said how many.
void nv_judge_count(unsigned count, long expect, struct finding *f);

// The device as evidence: what is known of it.
json_t *nv_judge_evidence(const struct nvml_device *d, const struct xid_event *logged);

#endif
