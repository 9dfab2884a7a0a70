// One rule a function; what a device does not tell breaks no rule.
#include "kernels/check/nv_judge.h"

#include <string.h>

static void judge_memory(const struct nvml_device *d, const struct thresholds *t,
                         struct finding *f)
{
    uint64_t retired = d->pages_single.v + d->pages_double.v;
    if (d->rows_failed.v != 0)
        finding_fail(f, "device %u: a row could not be remapped: replace the GPU",
                     d->index);
    if (d->rows_pending.v != 0)
        finding_fail(f, "device %u: a row waits to be remapped: reset the GPU",
                     d->index);
    if (d->pages_pending.v != 0)
        finding_fail(f, "device %u: a page waits to be retired: reset the GPU",
                     d->index);
    if ((double)retired > t->v[THRESHOLD_GPU_RETIRED_PAGES_MAX])
        finding_fail(f, "device %u: %llu pages are retired, more than %s %g", d->index,
                     (unsigned long long)retired,
                     thresholds_name(THRESHOLD_GPU_RETIRED_PAGES_MAX),
                     t->v[THRESHOLD_GPU_RETIRED_PAGES_MAX]);
    if ((double)d->uncorrected.v > t->v[THRESHOLD_GPU_UNCORRECTED_MAX])
        finding_fail(f,
                     "device %u: %llu uncorrected ECC errors since the driver was "
                     "loaded, more than %s %g",
                     d->index, (unsigned long long)d->uncorrected.v,
                     thresholds_name(THRESHOLD_GPU_UNCORRECTED_MAX),
                     t->v[THRESHOLD_GPU_UNCORRECTED_MAX]);
}

static void judge_link(const struct nvml_device *d, const struct thresholds *t,
                       struct finding *f)
{
    double least = (double)d->pcie_width_max.v * t->v[THRESHOLD_GPU_PCIE_WIDTH_SHARE];
    if (!d->pcie_width.known || !d->pcie_width_max.known ||
        (double)d->pcie_width.v >= least)
        return;
    finding_fail(f, "device %u: its PCIe link has %llu lanes of %llu", d->index,
                 (unsigned long long)d->pcie_width.v,
                 (unsigned long long)d->pcie_width_max.v);
}

static void judge_heat(const struct nvml_device *d, const struct thresholds *t,
                       struct finding *f)
{
    double limit = (double)d->slowdown_at.v - t->v[THRESHOLD_GPU_TEMPERATURE_MARGIN_C];
    uint64_t hardware = NVML_THROTTLE_HW_THERMAL | NVML_THROTTLE_HW_POWER_BRAKE;
    if (d->temperature.known && d->slowdown_at.known && d->slowdown_at.v > 0 &&
        (double)d->temperature.v >= limit)
        finding_fail(f, "device %u: %llu degrees Celsius; it slows down at %llu",
                     d->index, (unsigned long long)d->temperature.v,
                     (unsigned long long)d->slowdown_at.v);
    if ((d->throttle.v & hardware) == 0)
        return;
    finding_fail(
        f, "device %u: its clocks are held down by the hardware (%s)", d->index,
        (d->throttle.v & NVML_THROTTLE_HW_THERMAL) != 0 ? "heat" : "power brake");
}

static void judge_xid(const struct nvml_device *d, const struct xid_event *logged,
                      uint64_t now_us, const struct thresholds *t, struct finding *f)
{
    if (xid_meaning(d->xid) >= XID_WORKFLOW)
        finding_fail(f, "device %u: Xid %llu while it was looked at (%s)", d->index,
                     (unsigned long long)d->xid, xid_meaning_text(xid_meaning(d->xid)));
    if (logged == NULL || xid_meaning(logged->number) < XID_WORKFLOW)
        return;
    double age_s = (double)(now_us - logged->at_us) / 1e6;
    bool for_ever = xid_meaning(logged->number) == XID_REBOOT;
    if (for_ever || logged->at_us > now_us || age_s <= t->v[THRESHOLD_XID_WINDOW_S])
        finding_fail(f, "device %u: Xid %u in the kernel's log (%s)", d->index,
                     logged->number, xid_meaning_text(xid_meaning(logged->number)));
}

void nv_judge_device(const struct nvml_device *d, const struct xid_event *logged,
                     uint64_t now_us, const struct thresholds *t, struct finding *f)
{
    if (d->lost[0] != '\0')
        finding_fail(f, "device %u: %s", d->index, d->lost);
    judge_xid(d, logged, now_us, t, f);
    judge_memory(d, t, f);
    judge_link(d, t, f);
    judge_heat(d, t, f);
}

void nv_judge_count(unsigned count, long expect, struct finding *f)
{
    if (expect >= 0 && (long)count < expect)
        finding_fail(f, "%u of %ld GPUs are there", count, expect);
    else if (expect < 0 && count == 0)
        finding_could_not_run(f,
                              "the driver is there, and no GPU: is one given to this "
                              "container? (--expect says how many there should be)");
}

static void put(json_t *o, const char *name, const struct nvml_value *v)
{
    if (v->known)
        json_object_set_new(o, name, json_integer((json_int_t)v->v));
}

json_t *nv_judge_evidence(const struct nvml_device *d, const struct xid_event *logged)
{
    json_t *o = jsonpack("{s:i, s:s, s:s, s:s}", "index", (int)d->index, "name",
                         d->name, "uuid", d->uuid, "bus_id", d->bus_id);
    put(o, "ecc", &d->ecc_on);
    put(o, "ecc_uncorrected", &d->uncorrected);
    put(o, "ecc_corrected", &d->corrected);
    put(o, "rows_remapped_corrected", &d->rows_corrected);
    put(o, "rows_remapped_uncorrected", &d->rows_uncorrected);
    put(o, "rows_remap_pending", &d->rows_pending);
    put(o, "rows_remap_failed", &d->rows_failed);
    put(o, "pages_retired_single", &d->pages_single);
    put(o, "pages_retired_double", &d->pages_double);
    put(o, "pages_retire_pending", &d->pages_pending);
    put(o, "pcie_width", &d->pcie_width);
    put(o, "pcie_width_max", &d->pcie_width_max);
    put(o, "temperature_c", &d->temperature);
    put(o, "slowdown_c", &d->slowdown_at);
    put(o, "throttle", &d->throttle);
    if (d->xid != 0)
        json_object_set_new(o, "xid", json_integer((json_int_t)d->xid));
    if (logged != NULL)
        json_object_set_new(o, "xid_logged", json_integer(logged->number));
    if (d->lost[0] != '\0')
        json_object_set_new(o, "error", jsonpack_text(d->lost));
    return o;
}
