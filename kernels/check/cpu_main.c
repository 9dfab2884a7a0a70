// cpucheck: memory, copies and products on each core that this process may use.
#include "common/loop.h"
#include "common/opt_number.h"
#include "kernels/check/check_opts.h"
#include "kernels/check/cores.h"
#include "kernels/check/cpu_judge.h"
#include "kernels/check/supervise.h"

enum { KEY_MEMORY = 0x100, KEY_ROUNDS, KEY_SEED, ROUNDS_DEFAULT = 40 };

struct cpu_opts {
    struct check_opts common;
    struct memroom_share memory; // value 0: the default
    unsigned rounds;
    uint64_t seed;
};

static const struct argp_option options[] = {
    {"memory", KEY_MEMORY, "SIZE|PERCENT%", 0,
     "March over so much memory, of all cores together: 64M, 2G, 25% of what is free "
     "(default: 64M a core, at most 5% or 4M a core)",
     1},
    {"rounds", KEY_ROUNDS, "N", 0, "Matrix products of each kind on each core (40)", 1},
    {"seed", KEY_SEED, "N", 0, "Begin of the patterns (default: from the clock)", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cpu_opts *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_MEMORY:
        if (!memroom_parse(arg, &o->memory))
            argp_error(state, "--memory %s: give a size (64M, 2G) or up to %d%%", arg,
                       MEMROOM_MAX_PERCENT);
        return 0;
    case KEY_ROUNDS:
        o->rounds = opt_number(state, "--rounds", arg, 0, 1000000);
        return 0;
    case KEY_SEED: o->seed = opt_whole(state, "--seed", arg, 0, UINT32_MAX); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void work(void *arg, const struct supervised *s)
{
    const struct cpu_opts *o = arg;
    struct cores cores = {0};
    ERR_AUTO err = ERR_INIT;
    struct core like = {.seed = o->seed,
                        .rounds = o->rounds,
                        .until_ms = s->until_ms,
                        .stages = s->stages};
    if (cores_find(&cores, &err) < 0 || cores_map(&cores, &o->memory, &err) < 0 ||
        cores_run(&cores, &like, &err) < 0)
        finding_could_not_run(s->finding, "%s", err_text(&err));
    else
        cpu_judge(&cores, &o->common.thresholds, s->finding);
    cores_free(&cores);
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Find faulty memory and cores: a march over memory, copies, and matrix "
               "products whose every element is known, on each core at once.\v"
               "Prints one JSON object; exit code 0: pass, 1: fail, 2: could not run."};
    struct cpu_opts o = {.rounds = ROUNDS_DEFAULT, .seed = loop_wall_ms() % UINT32_MAX};
    check_opts_parse(&argp, argc, argv, &o);
    struct supervise_conf conf = {
        .check = "cpu", .deadline_ms = o.common.deadline_ms, .crash_fails = true};
    return supervise(&conf, work, &o);
}
