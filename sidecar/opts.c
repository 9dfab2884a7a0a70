// Options of muster-sidecar.
#include "sidecar/opts.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "common/listener.h"
#include "common/mem.h"
#include "common/seconds.h"

enum {
    KEY_RUN_DIR = 0x100,
    KEY_ONCE,
    KEY_DIFF,
    KEY_WAIT,
    KEY_INTERVAL,
    KEY_LOG,
    KEY_LISTEN,
    KEY_ON_CHANGE,
    KEY_ON_CHANGE_TIMEOUT,
    USAGE = 125,
};

static const struct argp_option options[] = {
    {"run-dir", KEY_RUN_DIR, "DIR", 0,
     "Follow the roll that a launcher leaves there through musterd (default: "
     "/run/muster, where it is there; empty: none)",
     2},
    {"once", KEY_ONCE, NULL, 0,
     "Write everything once and end (init container); exit code 1: members are missing",
     3},
    {"diff", KEY_DIFF, NULL, 0, "Print what would change, and write nothing", 3},
    {"wait", KEY_WAIT, "SECONDS", 0,
     "--once, --diff: how long to wait for members (default: 300)", 3},
    {"interval", KEY_INTERVAL, "SECONDS", 0,
     "Ask for names again after their TTL, at the latest after this (default: 5)", 3},
    {"listen", KEY_LISTEN, "[ADDRESS:]PORT", 0,
     "Serve /healthz, /readyz and /metrics there (default address: 127.0.0.1; "
     "kubelet's "
     "probes need the pod's)",
     4},
    {"on-change", KEY_ON_CHANGE, "PROGRAM", 0,
     "Run it after the files were written, with the difference as JSON on stdin", 4},
    {"on-change-timeout", KEY_ON_CHANGE_TIMEOUT, "SECONDS", 0,
     "How long it may take (default: 30)", 4},
    {"log", KEY_LOG, "text|json", 0, "Form of the log on stderr (default: text)", 4},
    {"verbose", 'v', NULL, 0, "Log what happens", 4},
    {0},
};

static uint32_t milliseconds(struct argp_state *state, const char *option,
                             const char *text, double least)
{
    uint32_t ms = 0;
    if (!seconds_parse(text, &ms) || ms < least * 1000)
        argp_error(state, "%s %s: give seconds, %g to %d", option, text, least,
                   SECONDS_MAX);
    return ms;
}

// One of two words; true: the second.
static bool second(struct argp_state *state, const char *option, const char *text,
                   const char *a, const char *b)
{
    if (strcmp(text, a) != 0 && strcmp(text, b) != 0)
        argp_error(state, "%s %s: give %s or %s", option, text, a, b);
    return strcmp(text, b) == 0;
}

static void take_listen(struct argp_state *state, struct sidecar_opts *o,
                        const char *text)
{
    ERR_AUTO err = ERR_INIT;
    if (listener_check(text, &err) < 0)
        argp_error(state, "--listen: %s", err_text(&err));
    o->listen = text;
}

static void check_once(struct argp_state *state, const struct sidecar_opts *o)
{
    const char *mode = o->once ? "--once" : "--diff";
    if (!o->once && !o->diff)
        return;
    if (o->listen != NULL)
        argp_error(state, "--listen has no use with %s, which ends by itself", mode);
    if (o->on_change != NULL)
        argp_error(state,
                   "--on-change has no use with %s: start the program afterwards",
                   mode);
}

static void check(struct argp_state *state, const struct sidecar_opts *o)
{
    check_once(state, o);
    if (!write_opts_any(&o->files))
        argp_error(state,
                   "nothing to keep: give --hosts, --write DIALECT:PATH or both");
}

// Once the source is known.
static int check_source(struct sidecar_opts *o, struct err *err)
{
    if (source_opts_settle(&o->source, true, err) < 0)
        return -1;
    for (size_t i = 0; i < o->files.nhostfiles; i++) {
        if (o->source.spec.kind == SOURCE_HOSTFILE &&
            strcmp(o->files.hostfiles[i].path, o->source.spec.text) == 0) {
            err_set(err, "--write %s: this is the file that --hostfile reads",
                    o->files.hostfiles[i].path);
            return -1;
        }
    }
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sidecar_opts *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->source;
        state->child_inputs[1] = &o->files;
        return 0;
    case KEY_RUN_DIR: o->run_dir = arg; return 0;
    case KEY_ONCE: o->once = true; return 0;
    case KEY_DIFF: o->diff = true; return 0;
    case KEY_WAIT: o->wait_ms = milliseconds(state, "--wait", arg, 0); return 0;
    case KEY_INTERVAL:
        o->interval_ms = milliseconds(state, "--interval", arg, 0.1);
        return 0;
    case KEY_LOG: o->json_log = second(state, "--log", arg, "text", "json"); return 0;
    case KEY_LISTEN: take_listen(state, o, arg); return 0;
    case KEY_ON_CHANGE: o->on_change = arg; return 0;
    case KEY_ON_CHANGE_TIMEOUT:
        o->on_change_ms = milliseconds(state, "--on-change-timeout", arg, 0.1);
        return 0;
    case 'v': o->verbose = true; return 0;
    case ARGP_KEY_ARG:
        argp_error(state,
                   "what is '%s'? a path for --hosts stands behind '=': --hosts=%s",
                   arg, arg);
        return 0;
    case ARGP_KEY_END: check(state, o); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void sidecar_opts_parse(struct sidecar_opts *o, int argc, char **argv)
{
    const struct argp_child children[] = {
        {source_opts_argp(), 0, "Where the members come from:", 1},
        {write_opts_argp(), 0, "What is kept:", 2},
        {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Keep /etc/hosts and hostfiles current while pods are replaced.",
        .children = children};
    *o = (struct sidecar_opts){
        .wait_ms = 300000, .interval_ms = 5000, .on_change_ms = 30000};
    source_opts_init(&o->source);
    argp_err_exit_status = USAGE;
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, o);
    ERR_AUTO err = ERR_INIT;
    if (check_source(o, &err) == 0)
        return;
    fprintf(stderr, "muster-sidecar: %s\n", err_text(&err));
    exit(USAGE);
}
