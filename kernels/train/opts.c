// Options of muster-train.
#include "kernels/train/opts.h"

#include <argp.h>

#include "common/opt_number.h"
#include "kernels/train/params.h"
#include "kernels/train/text.h"

#define DEFAULT_WARMUP UINT64_MAX // until --steps is known

enum {
    KEY_TEXT = 0x100,
    KEY_DIR,
    KEY_STEPS,
    KEY_UNTIL,
    KEY_EVERY,
    KEY_KEEP,
    KEY_ZERO,
    KEY_COMPUTE,
    KEY_COMM,
    KEY_EXPORT,
    KEY_PLOT,
    KEY_DIM,
    KEY_HIDDEN,
    KEY_LAYERS,
    KEY_HEADS,
    KEY_KV_HEADS,
    KEY_SEQ_LEN,
    KEY_SEED,
    KEY_BATCH,
    KEY_WARMUP,
    KEY_LR,
    KEY_DECAY,
    KEY_CLIP,
    USAGE = 125,
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What is learnt, and where it is kept:", 1},
    {"text", KEY_TEXT, "FILE", 0, "Any file; its bytes are the tokens", 1},
    {"dir", KEY_DIR, "DIR", 0,
     "Checkpoints and loss.tsv, in a directory that all ranks share; a run that finds "
     "a "
     "checkpoint goes on from it",
     1},
    {"every", KEY_EVERY, "STEPS", 0, "Checkpoint each so many steps (default: 50)", 1},
    {"keep", KEY_KEEP, "N", 0, "Checkpoints that stay (default: 2)", 1},
    {"export", KEY_EXPORT, "FILE", 0,
     "At the end write the model there (llama2.c's format)", 1},
    {"plot", KEY_PLOT, "FILE", 0, "At the end draw the losses there (SVG)", 1},
    {"zero", KEY_ZERO, "0|1|2|3", 0,
     "What is sharded over ranks: nothing, the moments, gradients too, parameters too "
     "(default: 1)",
     1},
    {"compute", KEY_COMPUTE, "cpu|cuda", 0,
     "What the network runs on; the losses are the same (default: cpu)", 1},
    {"comm", KEY_COMM, "auto|mpi|nccl", 0,
     "cuda: how ranks exchange what lies on GPUs: staged through the host's memory by "
     "MPI, or by NCCL, which auto takes where each rank has a GPU of its own (default: "
     "auto)",
     1},
    {NULL, 0, NULL, 0, "The model:", 2},
    {"dim", KEY_DIM, "N", 0, "Width (default: 128)", 2},
    {"hidden", KEY_HIDDEN, "N", 0, "Width of the feed-forward layer (default: 352)", 2},
    {"layers", KEY_LAYERS, "N", 0, "Layers (default: 4)", 2},
    {"heads", KEY_HEADS, "N", 0, "Heads of queries (default: 4)", 2},
    {"kv-heads", KEY_KV_HEADS, "N", 0, "Heads of keys and values (default: 2)", 2},
    {"seq-len", KEY_SEQ_LEN, "N", 0, "Tokens of a sample (default: 128)", 2},
    {NULL, 0, NULL, 0, "How it learns:", 3},
    {"steps", KEY_STEPS, "N", 0, "Steps (default: 1000)", 3},
    {"until", KEY_UNTIL, "N", 0, "End after this step, to go on another time", 3},
    {"batch", KEY_BATCH, "N", 0, "Samples of a step, over all ranks (default: 8)", 3},
    {"seed", KEY_SEED, "N", 0, "Of the first values and the samples (default: 1)", 3},
    {"lr", KEY_LR, "X", 0, "Learning rate (default: 0.002)", 3},
    {"warmup", KEY_WARMUP, "N", 0,
     "Steps until it is reached (default: 20, at most half of --steps)", 3},
    {"decay", KEY_DECAY, "X", 0, "Decay of matrices (default: 0.1)", 3},
    {"clip", KEY_CLIP, "X", 0, "Largest norm of the gradient, 0: any (default: 1)", 3},
    {0},
};

// ---- options by where they go -----------------------------------------------------

// The shape is checked as a whole later.
static int32_t *shape_field(struct model_config *c, int key, const char **option)
{
    switch (key) {
    case KEY_DIM: *option = "--dim"; return &c->dim;
    case KEY_HIDDEN: *option = "--hidden"; return &c->hidden_dim;
    case KEY_LAYERS: *option = "--layers"; return &c->layers;
    case KEY_HEADS: *option = "--heads"; return &c->heads;
    case KEY_KV_HEADS: *option = "--kv-heads"; return &c->kv_heads;
    case KEY_SEQ_LEN: *option = "--seq-len"; return &c->seq_len;
    default: return NULL;
    }
}

static error_t parse_shape(int key, const char *arg, struct argp_state *state,
                           struct train_opts *o)
{
    const char *option = NULL;
    int32_t *field = shape_field(&o->recipe.config, key, &option);
    if (field == NULL)
        return ARGP_ERR_UNKNOWN;
    *field = (int32_t)opt_whole(state, option, arg, 1, INT32_MAX);
    return 0;
}

static error_t parse_recipe(int key, const char *arg, struct argp_state *state,
                            struct train_opts *o)
{
    struct recipe *r = &o->recipe;
    switch (key) {
    case KEY_STEPS:
        r->steps = opt_whole(state, "--steps", arg, 1, UINT32_MAX);
        return 0;
    case KEY_BATCH: r->batch = opt_whole(state, "--batch", arg, 1, 4096); return 0;
    case KEY_SEED: r->seed = opt_whole(state, "--seed", arg, 0, UINT64_MAX); return 0;
    case KEY_WARMUP:
        r->warmup = opt_whole(state, "--warmup", arg, 0, UINT32_MAX);
        return 0;
    case KEY_LR: r->lr = opt_real(state, "--lr", arg, 10); return 0;
    case KEY_DECAY: r->decay = opt_real(state, "--decay", arg, 10); return 0;
    case KEY_CLIP: r->clip = opt_real(state, "--clip", arg, 1e9); return 0;
    default: return parse_shape(key, arg, state, o);
    }
}

static void check(struct argp_state *state, struct train_opts *o)
{
    ERR_AUTO err = ERR_INIT;
    if (o->text == NULL)
        argp_error(state, "nothing to learn: give a text with --text FILE");
    if (o->dir == NULL)
        argp_error(state, "nowhere to keep checkpoints: give --dir DIR");
    if (model_config_check(&o->recipe.config, &err) < 0)
        argp_error(state, "no such model: %s", err_text(&err));
    if (o->recipe.warmup == DEFAULT_WARMUP)
        o->recipe.warmup = o->recipe.steps < 40 ? o->recipe.steps / 2 : 20;
    if (o->recipe.warmup >= o->recipe.steps)
        argp_error(state, "--warmup %llu: it has to be less than --steps (%llu)",
                   (unsigned long long)o->recipe.warmup,
                   (unsigned long long)o->recipe.steps);
    if (o->until == 0 || o->until > o->recipe.steps)
        o->until = o->recipe.steps;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct train_opts *o = state->input;
    switch (key) {
    case KEY_TEXT: o->text = arg; return 0;
    case KEY_DIR: o->dir = arg; return 0;
    case KEY_EVERY:
        o->every = opt_whole(state, "--every", arg, 1, UINT32_MAX);
        return 0;
    case KEY_UNTIL:
        o->until = opt_whole(state, "--until", arg, 1, UINT32_MAX);
        return 0;
    case KEY_KEEP: o->keep = (int)opt_whole(state, "--keep", arg, 1, 1000000); return 0;
    case KEY_ZERO:
        o->zero = (int)opt_whole(state, "--zero", arg, 0, ZERO_MOST);
        return 0;
    case KEY_COMPUTE:
        if (!compute_kind_parse(&o->compute, arg))
            argp_error(state, "--compute %s: give cpu or cuda", arg);
        return 0;
    case KEY_COMM:
        if (!gpu_way_parse(&o->gpu_way, arg))
            argp_error(state, "--comm %s: give auto, mpi or nccl", arg);
        return 0;
    case KEY_EXPORT: o->export_path = arg; return 0;
    case KEY_PLOT: o->plot = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); return 0;
    case ARGP_KEY_END: check(state, o); return 0;
    default: return parse_recipe(key, arg, state, o);
    }
}

void train_opts_parse(struct train_opts *o, int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Train a small llama-shaped model on a text, on all ranks of a job. The "
               "losses are the same bits for any number of ranks, and over restarts."};
    *o = (struct train_opts){.zero = 1,
                             .keep = 2,
                             .every = 50,
                             .recipe = {.config = {.dim = 128,
                                                   .hidden_dim = 352,
                                                   .layers = 4,
                                                   .heads = 4,
                                                   .kv_heads = 2,
                                                   .vocab = TEXT_VOCAB,
                                                   .seq_len = 128,
                                                   .shared = true},
                                        .seed = 1,
                                        .steps = 1000,
                                        .batch = 8,
                                        .warmup = DEFAULT_WARMUP,
                                        .lr = 0.002,
                                        .decay = 0.1,
                                        .clip = 1}};
    argp_err_exit_status = USAGE;
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, o);
}
