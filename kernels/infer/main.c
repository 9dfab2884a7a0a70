// muster-infer: a model's ranks. Rank 0 leads: it prints texts, or serves them.
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"
#include "kernels/comm/agree.h"
#include "kernels/comm/comm.h"
#include "kernels/compute/compute.h"
#include "kernels/infer/engine.h"
#include "kernels/infer/generate.h"
#include "kernels/infer/opts.h"
#include "kernels/infer/prefill_ranks.h"
#include "kernels/infer/random_model.h"
#include "kernels/infer/sched.h"
#include "kernels/infer/service.h"
#include "kernels/model/llama2c.h"
#include "kernels/model/tokenizer.h"

enum { FAILED = 1 };

struct program {
    struct opts opts;
    struct comm *world;
    struct llama2c *model;
    struct tokenizer *tokenizer;
    struct shard shard;
    const struct compute *compute;
    struct gpu_way way;
    struct engine *engine;
    struct event_base *base;
    char hash[SHA256_HEX]; // of the model, with a role
    // The prefill role.
    struct prefill_ranks *ranks;
    const struct kvwire_source *sources; // all ranks
};

// ---- set-up -----------------------------------------------------------------------

static int load_tokenizer(struct program *p, struct err *err)
{
    int vocab = llama2c_config(p->model)->vocab;
    if (p->opts.tokenizer != NULL) {
        p->tokenizer = tokenizer_load(p->opts.tokenizer, vocab, err);
        return p->tokenizer != NULL ? 0 : -1;
    }
    if (vocab != TOKENIZER_BYTES) {
        err_set(
            err,
            "%s has a vocabulary of %d tokens, so it is no model of bytes (%d): give "
            "its --tokenizer FILE",
            p->opts.model, vocab, TOKENIZER_BYTES);
        return -1;
    }
    p->tokenizer = tokenizer_create_bytes();
    return 0;
}

static int load(struct program *p, struct err *err)
{
    struct place place;
    if (place_find(comm_rank(p->world), comm_size(p->world), &p->opts.place, getenv,
                   &place, err) < 0)
        return -1;
    p->compute = compute_open(p->opts.compute, err);
    if (p->compute == NULL)
        return -1;
    p->model = llama2c_open(p->opts.model, err);
    if (p->model == NULL || load_tokenizer(p, err) < 0)
        return -1;
    return shard_init(&p->shard, p->model, &place, p->opts.role != OPTS_PREFILL, err);
}

// ---- the leader -------------------------------------------------------------------

static int serve(struct program *p, struct sched *sched, struct err *err)
{
    struct service_opts o = {.opts = &p->opts,
                             .base = p->base,
                             .engine = p->engine,
                             .sched = sched,
                             .tokenizer = p->tokenizer,
                             .model = p->hash,
                             .sources = p->sources,
                             .nsources = (uint32_t)comm_size(p->world)};
    if (p->ranks != NULL)
        o.listen = prefill_ranks_listen(p->ranks);
    return service_run(&o, err);
}

static int lead(struct program *p, struct err *err)
{
    bool prompts = p->opts.prompts.n > 0;
    const struct sched_limits limits = {
        .slots = p->opts.slots,
        .rows = p->opts.rows,
        .depth = (uint32_t)p->shard.place.pp_size,
        .waiting = prompts ? UINT32_MAX : p->opts.waiting,
        .length = (uint32_t)p->shard.config.seq_len,
    };
    struct sched *sched = sched_create(&limits);
    int rc = prompts ? generate(p->engine, sched, p->tokenizer, &p->opts, err)
                     : serve(p, sched, err);
    sched_destroy(sched);
    engine_end(p->engine);
    return rc;
}

// ---- all ranks --------------------------------------------------------------------

static void look(void *arg)
{
    event_base_loop(arg, EVLOOP_NONBLOCK);
}

// Ranks with several models would go on, to texts of none of them.
static int compare_models(const struct program *p, struct err *err)
{
    if (comm_size(p->world) == 1)
        return 0;
    struct {
        uint8_t head[MODEL_HEADER_BYTES];
        uint32_t crc;
    } own = {.crc = llama2c_crc(p->model)};
    model_config_write(llama2c_config(p->model), own.head);
    CLEANUP_FREE char *what = xasprintf("model (%s)", p->opts.model);
    return agree_same(p->world, &own, sizeof own, what, err);
}

// (all) How the ranks of a stage exchange what lies on their GPUs.
static int choose_way(struct program *p, struct err *err)
{
    char device[COMPUTE_DEVICE];
    p->compute->device(device);
    if (gpu_way_choose(p->world, p->opts.gpu_way, device, &p->way, err) < 0)
        return -1;
    if (p->way.why != NULL && p->shard.place.tp_size > 1 && comm_rank(p->world) == 0)
        fprintf(stderr,
                "muster-infer: no NCCL, so ranks go through the host's memory: %s\n",
                p->way.why);
    return 0;
}

// From rank 0 alone: all have the same file.
static void hash_model(struct program *p)
{
    if (comm_rank(p->world) == 0)
        llama2c_hash(p->model, p->hash);
    comm_broadcast(p->world, p->hash, sizeof p->hash, 0);
}

static int begin_prefill(struct program *p, struct err *err)
{
    if (comm_size(p->world) > KVWIRE_SOURCES_MAX) {
        err_set(err, "--role prefill: %d ranks; at most %d can hand over",
                comm_size(p->world), KVWIRE_SOURCES_MAX);
        return -1;
    }
    p->ranks = prefill_ranks_create(p->base, p->engine, &p->shard, p->opts.slots,
                                    p->hash, p->opts.kv_listen, err);
    if (agree(p->world, p->ranks != NULL ? 0 : -1, NULL, err) < 0)
        return -1;
    p->sources = prefill_ranks_gather(p->ranks, p->world);
    return 0;
}

static int run(struct program *p, struct err *err)
{
    if (agree(p->world, load(p, err), NULL, err) < 0 || compare_models(p, err) < 0)
        return -1;
    if (choose_way(p, err) < 0)
        return -1;
    p->base = loop_create();
    p->engine = engine_create(p->world, &p->way, p->base, p->compute, &p->shard,
                              p->opts.slots, p->opts.rows);
    if (p->opts.role != OPTS_ALL)
        hash_model(p);
    if (p->opts.role == OPTS_PREFILL && begin_prefill(p, err) < 0)
        return -1;
    if (comm_rank(p->world) == 0)
        return lead(p, err);
    // The leader ends in order when it is told to, and the others with it.
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    engine_follow(p->engine, look, p->base);
    return 0;
}

static int make_random(const struct opts *o, struct err *err)
{
    struct model_config config;
    if (random_model_parse(o->make_random, &config, err) < 0) {
        err_prefix(err, "--make-random");
        return -1;
    }
    return random_model_write(o->model, &config, o->how.seed, err);
}

int main(int argc, char **argv)
{
    ERR_AUTO err = ERR_INIT;
    struct program p = {0};
    int rc;
    std_fill();
    opts_parse(argc, argv, &p.opts);
    if (p.opts.make_random != NULL) {
        rc = make_random(&p.opts, &err);
    } else {
        p.world = comm_open(&err);
        rc = p.world != NULL ? run(&p, &err) : -1;
    }
    if (err.text != NULL && (p.world == NULL || comm_rank(p.world) == 0))
        fprintf(stderr, "muster-infer: %s\n", err_text(&err));
    prefill_ranks_destroy(p.ranks);
    engine_destroy(p.engine);
    loop_destroy(p.base);
    gpu_way_clear(&p.way);
    tokenizer_destroy(p.tokenizer);
    llama2c_close(p.model);
    comm_destroy(p.world);
    opts_free(&p.opts);
    return rc < 0 ? FAILED : 0;
}
