// nvprobe: what NVIDIA's driver and the kernel's log know of the GPUs.
#include <string.h>

#include "common/mem.h"
#include "common/opt_number.h"
#include "kernels/check/check_opts.h"
#include "kernels/check/gpu_here.h"
#include "kernels/check/kernel_log.h"
#include "kernels/check/nv_judge.h"
#include "kernels/check/supervise.h"

enum { KEY_EXPECT = 0x100, KEY_LIBRARY, KEY_KERNEL_LOG, DEVICES_MAX = 1024 };

struct nv_opts {
    struct check_opts common;
    long expect; // -1: not said
    const char *nvml, *kernel_log;
};

static const struct argp_option options[] = {
    {"expect", KEY_EXPECT, "N", 0,
     "So many GPUs should be there (default: $MUSTER_CHECK_GPUS, else what "
     "$NVIDIA_VISIBLE_DEVICES lists, else one at least on a machine that has some)",
     1},
    {"library", KEY_LIBRARY, "FILE", 0, "NVML (default: libnvidia-ml.so.1)", 1},
    {"kernel-log", KEY_KERNEL_LOG, "FILE", 0,
     "Look for Xids there, where it can be read (default: /dev/kmsg)", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct nv_opts *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_EXPECT:
        o->expect = (long)opt_whole(state, "--expect", arg, 0, DEVICES_MAX);
        return 0;
    case KEY_LIBRARY: o->nvml = arg; return 0;
    case KEY_KERNEL_LOG: o->kernel_log = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void judge(const struct nv_opts *o, const struct nvml_device *found, unsigned n,
                  struct finding *f)
{
    struct kernel_log log;
    ERR_AUTO err = ERR_INIT;
    json_t *list = json_array();
    bool readable = kernel_log_read(&log, o->kernel_log, &err) == 0;
    for (unsigned i = 0; i < n; i++) {
        const struct xid_event *logged = kernel_log_of(&log, found[i].bus_id);
        nv_judge_device(&found[i], logged, kernel_log_now_us(), &o->common.thresholds,
                        f);
        json_array_append_new(list, nv_judge_evidence(&found[i], logged));
    }
    finding_set(f, "kernel_log", jsonpack_text(readable ? "read" : err_text(&err)));
    finding_set(f, "devices", list);
    kernel_log_free(&log);
}

static void look(const struct nv_opts *o, struct nvml *n, unsigned count,
                 const struct supervised *s)
{
    CLEANUP_FREE struct nvml_device *found = xcalloc((size_t)count + 1, sizeof *found);
    for (unsigned i = 0; i < count; i++)
        found[i].index = i;
    nvml_watch_xids(n, found, count, s->stages, 0);
    for (unsigned i = 0; i < count; i++)
        nvml_look(n, i, &found[i], s->stages, 0);
    stages_set(s->stages, 0, "nvmlEventSetWait_v2");
    nvml_take_xids(n, found, count);
    stages_set(s->stages, 0, "the kernel's log, %s", o->kernel_log);
    judge(o, found, count, s->finding);
}

static void say_error(struct finding *f, const struct err *err)
{
    if (err->code == FINDING_COULD_NOT_RUN)
        finding_could_not_run(f, "%s", err_text(err));
    else
        finding_fail(f, "%s", err_text(err));
}

static void work(void *arg, const struct supervised *s)
{
    const struct nv_opts *o = arg;
    ERR_AUTO err = ERR_INIT;
    unsigned count = 0;
    long expected = gpu_here_expected(o->expect);
    stages_set(s->stages, 0, "nvmlInit_v2");
    struct nvml *n = nvml_open(o->nvml, &err);
    stages_set(s->stages, 0, "nvmlDeviceGetCount_v2");
    if (n == NULL || nvml_count(n, &count, &err) < 0) {
        say_error(s->finding, &err);
    } else if (count > DEVICES_MAX) {
        finding_fail(s->finding, "the driver counts %u GPUs", count);
    } else {
        finding_set(s->finding, "count", json_integer(count));
        nv_judge_count(count, expected, s->finding);
        look(o, n, count, s);
    }
    stages_set(s->stages, 0, "nvmlShutdown");
    nvml_close(n);
    gpu_here_settle(s->finding, expected);
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Ask NVIDIA's driver how its GPUs are: their number, memory errors, row "
               "remapping, Xids, PCIe width, heat.\v"
               "Prints one JSON object; exit code 0: pass, 1: fail, 2: could not run, "
               "3: there is no GPU here."};
    struct nv_opts o = {
        .expect = -1, .nvml = "libnvidia-ml.so.1", .kernel_log = "/dev/kmsg"};
    check_opts_parse(&argp, argc, argv, &o);
    struct supervise_conf conf = {.check = "nv", .deadline_ms = o.common.deadline_ms};
    return supervise(&conf, work, &o);
}
