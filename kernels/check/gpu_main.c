// gpucheck: memory, copies and products on each GPU that this process may use.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/opt_number.h"
#include "kernels/check/check_opts.h"
#include "kernels/check/gpu_here.h"
#include "kernels/check/gpu_run.h"
#include "kernels/check/supervise.h"

enum { KEY_MEMORY = 0x100, KEY_ROUNDS, KEY_SEED, ROUNDS_DEFAULT = 5, PERCENT = 90 };

struct gpu_opts {
    struct check_opts common;
    double percent;
    unsigned rounds;
    uint64_t seed;
};

static const struct argp_option options[] = {
    {"memory", KEY_MEMORY, "PERCENT%", 0,
     "March over so much of the memory that is free (default: 90%)", 1},
    {"rounds", KEY_ROUNDS, "N", 0, "Matrix products of each kind (default: 5)", 1},
    {"seed", KEY_SEED, "N", 0, "Begin of the patterns (default: from the clock)", 1},
    {0},
};

static double percent(struct argp_state *state, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || (strcmp(end, "%") != 0 && *end != '\0') || !(v > 0 && v <= 95))
        argp_error(state, "--memory %s: give a percentage up to 95%%", text);
    return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct gpu_opts *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_MEMORY: o->percent = percent(state, arg); return 0;
    case KEY_ROUNDS:
        o->rounds = opt_number(state, "--rounds", arg, 0, 1000000);
        return 0;
    case KEY_SEED: o->seed = opt_whole(state, "--seed", arg, 0, UINT32_MAX); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void say_stage(void *arg, int device, const char *what)
{
    if (what[0] == '\0')
        stages_set(arg, (size_t)device, "%s", "");
    else
        stages_set(arg, (size_t)device, "device %d: %s", device, what);
}

static void *run(void *arg)
{
    gpu_run(arg);
    return NULL;
}

// One thread a GPU.
static void run_all(struct gpu_work *works, int n, struct finding *f)
{
    CLEANUP_FREE pthread_t *threads = xcalloc((size_t)n, sizeof *threads);
    int started = 0;
    for (int rc = 0; started < n && rc == 0; started += rc == 0 ? 1 : 0) {
        rc = pthread_create(&threads[started], NULL, run, &works[started]);
        if (rc != 0)
            finding_could_not_run(f, "no thread for device %d: %s", started,
                                  strerror(rc));
    }
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

static json_t *place(const char *in, const struct gpu_wrong *w)
{
    return jsonpack("{s:s, s:I, s:i, s:o}", "in", in, "count", (json_int_t)w->count,
                    "sm", (int)w->sm, "differs", finding_hex(w->expected ^ w->got, 16));
}

static void judge_words(struct finding *f, json_t *list, const struct gpu_work *w,
                        const char *in, const struct gpu_wrong *wrong)
{
    if (wrong->count == 0)
        return;
    finding_fail(f, "device %d, SM %u: %s: %llu wrong words, the first at byte %llu",
                 w->device, wrong->sm, in, wrong->count,
                 (unsigned long long)wrong->place);
    json_t *e = place(in, wrong);
    json_object_set_new(e, "address", finding_hex(wrong->place, 12));
    json_object_set_new(e, "expected", finding_hex(wrong->expected, 16));
    json_object_set_new(e, "got", finding_hex(wrong->got, 16));
    json_array_append_new(list, e);
}

static const char *const kinds[GPU_KINDS] = {"fp32", "bf16", "fp16"};

static void judge_product(struct finding *f, json_t *list, const struct gpu_work *w,
                          enum gpu_kind kind)
{
    const struct gpu_wrong *wrong = &w->product[kind];
    if (wrong->count == 0)
        return;
    int row = (int)(wrong->place / GPU_N), column = (int)(wrong->place % GPU_N);
    finding_fail(f,
                 "device %d, SM %u: %s product: %llu wrong elements, the first in row "
                 "%d, column %d",
                 w->device, wrong->sm, kinds[kind], wrong->count, row, column);
    json_t *e = place("product", wrong);
    json_object_set_new(e, "kind", jsonpack_text(kinds[kind]));
    json_object_set_new(e, "row", json_integer(row));
    json_object_set_new(e, "column", json_integer(column));
    json_object_set_new(e, "expected",
                        json_real(gpu_float_of((uint32_t)wrong->expected)));
    json_object_set_new(e, "got",
                        finding_hex(wrong->got, 8)); // may be no number at all
    json_array_append_new(list, e);
}

static json_t *judge_device(struct finding *f, const struct gpu_work *w, double least)
{
    json_t *list = json_array();
    json_t *device =
        jsonpack("{s:i, s:s, s:s, s:f, s:f, s:f, s:o}", "index", w->device, "name",
                 w->name, "bus_id", w->bus_id, "memory_mib", (double)w->bytes / 1048576,
                 "march_gb_s", w->march_gb_s, "copy_gb_s", w->copy_gb_s, "gflop_s",
                 jsonpack("{s:f, s:f, s:f}", kinds[0], w->gflop_s[0], kinds[1],
                          w->gflop_s[1], kinds[2], w->gflop_s[2]));
    judge_words(f, list, w, "march", &w->march);
    judge_words(f, list, w, "copy", &w->copy);
    for (int k = 0; k < GPU_KINDS; k++)
        judge_product(f, list, w, (enum gpu_kind)k);
    if (w->trouble == GPU_FAILS)
        finding_fail(f, "device %d: %s", w->device, w->why);
    else if (w->trouble == GPU_COULD_NOT_RUN)
        finding_could_not_run(f, "device %d: %s", w->device, w->why);
    else if (w->copy_gb_s < least)
        finding_fail(f, "device %d: copies run at %.1f GB/s, less than %s %.1f",
                     w->device, w->copy_gb_s,
                     thresholds_name(THRESHOLD_GPU_COPY_MIN_GB_S), least);
    if (json_array_size(list) > 0)
        json_object_set_new(device, "wrong", list);
    else
        json_decref(list);
    return device;
}

static void check_all(const struct gpu_opts *o, int n, const struct supervised *s)
{
    CLEANUP_FREE struct gpu_work *works = xcalloc((size_t)n, sizeof *works);
    json_t *devices = json_array();
    for (int i = 0; i < n; i++)
        works[i] = (struct gpu_work){.device = i,
                                     .percent = o->percent,
                                     .rounds = o->rounds,
                                     .seed = o->seed,
                                     .until_ms = s->until_ms,
                                     .stage = say_stage,
                                     .arg = s->stages};
    run_all(works, n, s->finding);
    for (int i = 0; i < n; i++)
        json_array_append_new(
            devices, judge_device(s->finding, &works[i],
                                  o->common.thresholds.v[THRESHOLD_GPU_COPY_MIN_GB_S]));
    finding_set(s->finding, "devices", devices);
    finding_set(s->finding, "seed", json_integer((json_int_t)o->seed));
}

static void work(void *arg, const struct supervised *s)
{
    const struct gpu_opts *o = arg;
    char why[GPU_TEXT];
    int n = 0;
    stages_set(s->stages, 0, "cudaGetDeviceCount");
    enum gpu_trouble trouble = gpu_count(&n, why);
    if (trouble == GPU_FAILS)
        finding_fail(s->finding, "%s", why);
    else if (trouble == GPU_COULD_NOT_RUN)
        finding_could_not_run(s->finding, "%s", why);
    else if (n < 1)
        finding_could_not_run(s->finding, "no GPU is given to this process");
    else
        check_all(o, n, s);
    gpu_here_settle(s->finding, gpu_here_expected(-1));
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Find faulty GPUs: a march over their memory, copies, and matrix products "
            "in fp32, bf16 and fp16 whose every element is known.\v"
            "Prints one JSON object; exit code 0: pass, 1: fail, 2: could not run, "
            "3: there is no GPU here."};
    struct gpu_opts o = {.percent = PERCENT,
                         .rounds = ROUNDS_DEFAULT,
                         .seed = loop_wall_ms() % UINT32_MAX};
    check_opts_parse(&argp, argc, argv, &o);
    struct supervise_conf conf = {.check = "gpu", .deadline_ms = o.common.deadline_ms};
    return supervise(&conf, work, &o);
}
