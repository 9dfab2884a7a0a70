// netcheck: one end of a pair that checks the network between two nodes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/seconds.h"
#include "kernels/check/check_opts.h"
#include "kernels/check/cuda_driver.h"
#include "kernels/check/memroom.h"
#include "kernels/check/net_hello.h"
#include "kernels/check/net_judge.h"
#include "kernels/check/net_meet.h"
#include "kernels/check/supervise.h"

enum { KEY_SERVE = 0x100, KEY_TO, KEY_TOKEN_FILE, KEY_BYTES, KEY_TRANSFER, KEY_OVER };
enum { BYTES_DEFAULT = 64 << 20, TRANSFER_MS = 500 };

#define TOKEN_VARIABLE "MUSTER_CHECK_TOKEN"

enum over { OVER_TCP, OVER_NCCL, OVER_AUTO };
static const char *const overs[] = {"tcp", "nccl", "auto"};

struct net_opts {
    struct check_opts common;
    bool serves;
    enum over over;
    const char *where, *token_file;
    struct net_address address;
    uint64_t bytes;
    uint32_t transfer_ms;
    char token[NET_TOKEN_MAX + 2]; // with room to see that one is too long
};

static const struct argp_option options[] = {
    {"serve", KEY_SERVE, "ADDRESS:PORT", 0,
     "Listen there for the other end; port 0: any (stderr says which)", 1},
    {"to", KEY_TO, "ADDRESS:PORT", 0, "The other end listens there, or soon will", 1},
    {"token-file", KEY_TOKEN_FILE, "FILE", 0,
     "The token that both ends know (default: $" TOKEN_VARIABLE ")", 1},
    {"over", KEY_OVER, "tcp|nccl|auto", 0,
     "Check the way between the nodes, or between their GPUs by NCCL, which auto takes "
     "where both ends have GPUs (default: tcp)",
     1},
    {"bytes", KEY_BYTES, "SIZE", 0,
     "At most so much a transfer, and a GPU (default: 64M)", 1},
    {"transfer", KEY_TRANSFER, "SECONDS", 0, "At most so long (default: 0.5)", 1},
    {0},
};

static void take_where(struct argp_state *state, struct net_opts *o, const char *text)
{
    ERR_AUTO err = ERR_INIT;
    if (o->where != NULL)
        argp_error(state, "give --serve or --to, and once");
    if (net_parse(text, &o->address, &err) < 0)
        argp_error(state, "%s", err_text(&err));
    o->where = text;
}

static void take_bytes(struct argp_state *state, struct net_opts *o, const char *text)
{
    struct memroom_share size;
    if (!memroom_parse(text, &size) || size.percent || size.value < NET_PIECE)
        argp_error(state, "--bytes %s: give a size, 256K at least", text);
    o->bytes = (uint64_t)size.value;
}

static void take_over(struct argp_state *state, struct net_opts *o, const char *text)
{
    for (size_t i = 0; i < sizeof overs / sizeof *overs; i++) {
        if (strcmp(text, overs[i]) != 0)
            continue;
        o->over = (enum over)i;
        return;
    }
    argp_error(state, "--over %s: give tcp, nccl or auto", text);
}

// The first line of a file.
static int read_line(const char *path, char *text, int size, struct err *err)
{
    text[0] = '\0';
    FILE *f = fopen(path, "re");
    if (f == NULL || (fgets(text, size, f) == NULL && ferror(f))) {
        err_set_errno(err, errno, "--token-file %s cannot be read", path);
        if (f != NULL)
            fclose(f);
        return -1;
    }
    fclose(f);
    text[strcspn(text, "\r\n")] = '\0';
    return 0;
}

static int read_token(struct net_opts *o, struct err *err)
{
    char text[NET_TOKEN_MAX + 2] = "";
    const char *token = getenv(TOKEN_VARIABLE);
    if (o->token_file != NULL) {
        if (read_line(o->token_file, text, sizeof text, err) < 0)
            return -1;
        token = text;
    }
    if (token == NULL) {
        err_set(err, "no token: set $" TOKEN_VARIABLE " or give --token-file");
        return -1;
    }
    if (net_token_check(token, err) < 0) {
        err_prefix(err, "%s",
                   o->token_file != NULL ? o->token_file : "$" TOKEN_VARIABLE);
        return -1;
    }
    snprintf(o->token, sizeof o->token, "%s", token);
    return 0;
}

static void check(struct argp_state *state, struct net_opts *o)
{
    ERR_AUTO err = ERR_INIT;
    if (o->where == NULL)
        argp_error(state, "give --serve ADDRESS:PORT at one end, --to at the other");
    if (read_token(o, &err) < 0)
        argp_error(state, "%s", err_text(&err));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct net_opts *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_SERVE:
        o->serves = true;
        take_where(state, o, arg);
        return 0;
    case KEY_TO: take_where(state, o, arg); return 0;
    case KEY_TOKEN_FILE: o->token_file = arg; return 0;
    case KEY_BYTES: take_bytes(state, o, arg); return 0;
    case KEY_OVER: take_over(state, o, arg); return 0;
    case KEY_TRANSFER:
        if (!seconds_parse(arg, &o->transfer_ms) || o->transfer_ms == 0)
            argp_error(state, "--transfer %s: give seconds", arg);
        return 0;
    case ARGP_KEY_END: check(state, o); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int serve(const struct net_opts *o, const struct supervised *s,
                 struct net_meeting *m, struct err *err)
{
    char text[NET_ADDRESS_TEXT];
    struct net_address address = o->address;
    CLEANUP_CLOSE int listener = net_listen(&address, err);
    if (listener < 0)
        return -1;
    net_text(&address, text);
    fprintf(stderr, "netcheck: listening on %s\n", text);
    stages_set(s->stages, 0, "waiting for the other end at %s", text);
    return net_accept(listener, o->token, s->until_ms, m, err);
}

static int meet(const struct net_opts *o, const struct supervised *s,
                struct net_meeting *m, struct err *err)
{
    uint64_t seed = loop_wall_ms() * 4096 + (uint64_t)getpid() % 4096;
    if (o->serves)
        return serve(o, s, m, err);
    stages_set(s->stages, 0, "dialling %s", o->where);
    return net_dial(&o->address, o->token, seed, s->until_ms, m, err);
}

// ---- the work ---------------------------------------------------------------------

static void check_tcp(const struct net_opts *o, const struct supervised *s,
                      const struct net_meeting *m, struct err *err)
{
    struct net_pair p = {.fd = m->fd,
                         .dials = !o->serves,
                         .seed = m->seed,
                         .bytes = o->bytes,
                         .transfer_ms = o->transfer_ms,
                         .until_ms = s->until_ms,
                         .stages = s->stages};
    finding_set(s->finding, "over", jsonpack_text("tcp"));
    net_pair_run(&p, err);
    net_judge_tcp(s->finding, &p, err, &o->common.thresholds);
}

static void check_nccl(const struct net_opts *o, const struct supervised *s,
                       struct net_nccl *p, struct err *err)
{
    finding_set(s->finding, "over", jsonpack_text("nccl"));
    net_nccl_run(p, err);
    net_judge_nccl(s->finding, p, err, &o->common.thresholds);
}

// Which way, once both have said what they have.
static void check_pair(const struct net_opts *o, const struct supervised *s,
                       const struct net_meeting *m, struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    struct net_nccl p = {.fd = m->fd,
                         .dials = !o->serves,
                         .seed = m->seed,
                         .bytes = o->bytes,
                         .transfer_ms = o->transfer_ms,
                         .until_ms = s->until_ms,
                         .stages = s->stages,
                         .only = o->over == OVER_NCCL};
    stages_set(s->stages, 0, "looking for GPUs and NCCL");
    if (o->over != OVER_TCP)
        p.gpus = net_gpus_open(CUDA_DRIVER_LIBRARY, NCCL_LIBRARY, &why);
    else
        err_set(&why, "this end goes over TCP");
    if (net_nccl_offer(&p, err) < 0) {
        net_gpus_close(p.gpus);
        return;
    }
    if (p.gpus != NULL && p.others == 0)
        err_set(&why, "the other end has no GPU, or no NCCL, or goes over TCP");
    if (p.gpus != NULL && p.others > 0)
        check_nccl(o, s, &p, err);
    else if (p.only || p.others_only)
        err_set_kind(err, NULL, FINDING_COULD_NOT_RUN, "--over nccl%s: %s",
                     p.only ? "" : " at the other end", err_text(&why));
    else
        check_tcp(o, s, m, err);
    if (o->over == OVER_AUTO && why.text != NULL)
        finding_set(s->finding, "no_nccl", jsonpack_text(err_text(&why)));
    net_gpus_close(p.gpus);
}

static void work(void *arg, const struct supervised *s)
{
    const struct net_opts *o = arg;
    struct finding *f = s->finding;
    struct net_meeting m;
    ERR_AUTO err = ERR_INIT;
    char peer[NET_ADDRESS_TEXT];
    finding_set(f, "role", jsonpack_text(o->serves ? "serve" : "to"));
    if (meet(o, s, &m, &err) == 0) {
        net_text(&m.peer, peer);
        finding_set(f, "peer", jsonpack_text(peer));
        finding_set(f, "strangers", json_integer(m.strangers));
        check_pair(o, s, &m, &err);
        close(m.fd);
    }
    net_judge_outcome(f, &err);
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Check the network between two nodes: round trips, and a pattern both "
               "ways, of which each byte is verified; the best of three. Or between "
               "their GPUs.\v"
               "Prints one JSON object; exit code 0: pass, 1: fail, 2: could not run."};
    struct net_opts o = {.bytes = BYTES_DEFAULT, .transfer_ms = TRANSFER_MS};
    check_opts_parse(&argp, argc, argv, &o);
    struct supervise_conf conf = {.check = "net", .deadline_ms = o.common.deadline_ms};
    return supervise(&conf, work, &o);
}
