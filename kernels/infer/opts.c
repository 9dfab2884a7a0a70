// argp, and what options have to be.
#include "kernels/infer/opts.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "common/listener.h"
#include "common/opt_number.h"
#include "config.h"
#include "kernels/infer/engine.h"

enum {
    KEY_TOKENIZER = 0x100,
    KEY_TP,
    KEY_PP,
    KEY_PROMPT,
    KEY_MAX_TOKENS,
    KEY_TEMPERATURE,
    KEY_TOP_P,
    KEY_SEED,
    KEY_JSON,
    KEY_LISTEN,
    KEY_MODEL_NAME,
    KEY_COMPUTE,
    KEY_COMM,
    KEY_SLOTS,
    KEY_ROWS,
    KEY_WAITING,
    KEY_MAKE_RANDOM,
    KEY_ROLE,
    KEY_KV_LISTEN,
    KEY_PREFILL,
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "The model:", 1},
    {"tokenizer", KEY_TOKENIZER, "FILE", 0,
     "Its tokenizer.bin (llama2.c's); default: a model of bytes, with 256 tokens", 1},
    {"tp", KEY_TP, "N", 0, "N tensor-parallel ranks; default: the grid's, else all", 1},
    {"pp", KEY_PP, "N", 0, "N pipeline stages; default: the grid's, else 1", 1},
    {"compute", KEY_COMPUTE, "cpu|cuda", 0,
     "What ranks compute with; the tokens are the same (cpu)", 1},
    {"comm", KEY_COMM, "auto|mpi|nccl", 0,
     "cuda: how tensor-parallel ranks exchange what lies on GPUs: staged through the "
     "host's memory by MPI, or by NCCL, which auto takes where each rank has a GPU of "
     "its own (auto)",
     1},
    {"make-random", KEY_MAKE_RANDOM, "SHAPE", 0,
     "Write MODEL anew, with random weights (of --seed), and end; SHAPE is as "
     "dim=64,hidden=172,layers=4,heads=8,kv_heads=4,vocab=256,length=256,shared=0",
     1},
    {0, 0, 0, 0, "Texts:", 2},
    {"prompt", KEY_PROMPT, "TEXT", 0,
     "Go on from TEXT, and print what follows; several are worked on together", 2},
    {"max-tokens", KEY_MAX_TOKENS, "N", 0, "End a text after N tokens (64)", 2},
    {"temperature", KEY_TEMPERATURE, "T", 0, "0 (default): always the likeliest token",
     2},
    {"top-p", KEY_TOP_P, "P", 0,
     "Draw from the likeliest tokens that together have the probability P (1)", 2},
    {"seed", KEY_SEED, "N", 0, "What is drawn follows from N (0)", 2},
    {"json", KEY_JSON, NULL, 0, "Print a JSON line for each prompt, with its tokens",
     2},
    {0, 0, 0, 0, "Serving:", 3},
    {"listen", KEY_LISTEN, "[ADDRESS:]PORT", 0,
     "Serve OpenAI's /v1/completions and /v1/models over HTTP, until SIGTERM", 3},
    {"model-name", KEY_MODEL_NAME, "NAME", 0, "Name for clients (MODEL's file name)",
     3},
    {"slots", KEY_SLOTS, "N", 0, "Work on N texts at once (8)", 3},
    {"rows", KEY_ROWS, "N", 0, "At most N tokens in a step (64)", 3},
    {"waiting", KEY_WAITING, "N", 0, "At most N prompts wait for a slot (256)", 3},
    {0, 0, 0, 0, "Prefill and decode apart:", 4},
    {"role", KEY_ROLE, "prefill|decode", 0,
     "Only compute prompts for others; or have them computed, and go on from there", 4},
    {"kv-listen", KEY_KV_LISTEN, "[ADDRESS:]PORT", 0,
     "prefill: its leader listens there (0.0.0.0:$MASTER_PORT)", 4},
    {"prefill", KEY_PREFILL, "ADDRESS:PORT", 0,
     "decode: the prefill role's leader (the one that $MUSTER_ROLE_FILE names)", 4},
    {0},
};

static const char *place(struct argp_state *state, const char *option, const char *text)
{
    ERR_AUTO err = ERR_INIT;
    if (listener_check(text, &err) < 0)
        argp_error(state, "--%s %s", option, err_text(&err));
    return text;
}

static enum opts_role role(struct argp_state *state, const char *text)
{
    if (strcmp(text, "prefill") != 0 && strcmp(text, "decode") != 0)
        argp_error(state, "--role %s: it has to be prefill or decode", text);
    return text[0] == 'p' ? OPTS_PREFILL : OPTS_DECODE;
}

static void check_role(const struct opts *o, struct argp_state *state)
{
    if (o->role == OPTS_PREFILL) {
        if (o->listen != NULL || o->prompts.n > 0)
            argp_error(state, "--role prefill has no --listen and no --prompt");
        if (o->kv_listen == NULL && getenv("MASTER_PORT") == NULL)
            argp_error(state, "--role prefill without $MASTER_PORT: give --kv-listen");
    }
    if (o->role != OPTS_DECODE)
        return;
    if (o->listen == NULL)
        argp_error(state, "--role decode serves: give --listen PORT");
    if (o->prefill == NULL && getenv("MUSTER_ROLE_FILE") == NULL)
        argp_error(state, "--role decode without $MUSTER_ROLE_FILE: give --prefill");
}

static void check(struct opts *o, struct argp_state *state)
{
    if (o->model == NULL)
        argp_error(state, "which model? Give its file (llama2.c's format, version 0)");
    if (o->make_random != NULL)
        return;
    check_role(o, state);
    if (o->role != OPTS_PREFILL && o->listen == NULL && o->prompts.n == 0)
        argp_error(state, "what is to be done? Give --prompt TEXT or --listen PORT");
    if (o->listen != NULL && o->prompts.n > 0)
        argp_error(state, "--prompt and --listen exclude each other");
    if (o->model_name == NULL && o->model != NULL)
        o->model_name = basename(o->model);
}

enum { ROWS_MOST = ENGINE_ROWS_MAX, SLOTS_MOST = ENGINE_SLOTS_MAX };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct opts *o = state->input;
    switch (key) {
    case KEY_TOKENIZER: o->tokenizer = arg; return 0;
    case KEY_TP:
        o->place.tp_size = (int)opt_number(state, "--tp", arg, 1, 1 << 16);
        return 0;
    case KEY_PP:
        o->place.pp_size = (int)opt_number(state, "--pp", arg, 1, SCHED_DEPTH_MAX);
        return 0;
    case KEY_MAKE_RANDOM: o->make_random = arg; return 0;
    case KEY_PROMPT: strv_add(&o->prompts, arg); return 0;
    case KEY_MAX_TOKENS:
        o->max_tokens = opt_number(state, "--max-tokens", arg, 1, 1 << 24);
        return 0;
    case KEY_TEMPERATURE:
        o->how.temperature = (float)opt_real(state, "--temperature", arg, 100);
        return 0;
    case KEY_TOP_P: o->how.top_p = (float)opt_real(state, "--top-p", arg, 1); return 0;
    case KEY_SEED:
        o->how.seed = opt_whole(state, "--seed", arg, 0, UINT64_MAX);
        return 0;
    case KEY_JSON: o->json = true; return 0;
    case KEY_LISTEN: o->listen = place(state, "listen", arg); return 0;
    case KEY_ROLE: o->role = role(state, arg); return 0;
    case KEY_KV_LISTEN: o->kv_listen = place(state, "kv-listen", arg); return 0;
    case KEY_PREFILL: o->prefill = place(state, "prefill", arg); return 0;
    case KEY_MODEL_NAME: o->model_name = arg; return 0;
    case KEY_COMPUTE:
        if (!compute_kind_parse(&o->compute, arg))
            argp_error(state, "--compute %s: it has to be cpu or cuda", arg);
        return 0;
    case KEY_COMM:
        if (!gpu_way_parse(&o->gpu_way, arg))
            argp_error(state, "--comm %s: it has to be auto, mpi or nccl", arg);
        return 0;
    case KEY_SLOTS:
        o->slots = opt_number(state, "--slots", arg, 1, SLOTS_MOST);
        return 0;
    case KEY_ROWS: o->rows = opt_number(state, "--rows", arg, 1, ROWS_MOST); return 0;
    case KEY_WAITING:
        o->waiting = opt_number(state, "--waiting", arg, 1, 1 << 20);
        return 0;
    case ARGP_KEY_ARG:
        if (o->model != NULL)
            argp_error(state, "one model: %s, or %s?", o->model, arg);
        o->model = arg;
        return 0;
    case ARGP_KEY_END: check(o, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void opts_parse(int argc, char **argv, struct opts *o)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "MODEL",
        .doc =
            "Let a model go on with texts, on one rank or on several that muster run "
            "has started."
            "\vThe tokens are the same, bit for bit, on any number of ranks and in "
            "any batch. MODEL and FILE are llama2.c's formats.",
    };
    *o = (struct opts){
        .max_tokens = 64, .slots = 8, .rows = 64, .waiting = 256, .how = {.top_p = 1}};
    argp_program_version = "muster-infer " MUSTER_VERSION;
    argp_err_exit_status = OPTS_FAILED;
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, o);
}

void opts_free(struct opts *o)
{
    strv_free(&o->prompts);
}
