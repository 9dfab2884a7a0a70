// --check-command and --check-timeout, and the message that they become.
#include "launcher/check_opts.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/seconds.h"

enum { KEY_COMMAND = 0x3a00, KEY_TIMEOUT, KEY_PAIRS, KEY_OVER, KEY_THRESHOLDS };
enum { COMMANDS_MAX = 16, TIMEOUT_MS = 60000 };

static const struct argp_option options[] = {
    {"check-command", KEY_COMMAND, "CMD", 0,
     "A check: a program there and its arguments, parted by blanks; several are run in "
     "turn (default: those that are installed there)",
     8},
    {"check-timeout", KEY_TIMEOUT, "SECONDS", 0,
     "A check that takes longer has failed (default: 60)", 8},
    {"check-thresholds", KEY_THRESHOLDS, "FILE", 0,
     "Override thresholds, here and there, by `name value` lines (muster-checks(7))",
     8},
    {"check-pairs", KEY_PAIRS, NULL, 0,
     "Check the network between members, too, in pairs (`muster check` does)", 8},
    {"check-over", KEY_OVER, "tcp|nccl", 0,
     "--check-pairs, from node to node, or from GPU to GPU by NCCL, which takes "
     "--check-timeout at most (default: tcp)",
     8},
    {0},
};

void check_opts_init(struct check_opts *o)
{
    *o = (struct check_opts){.timeout_ms = TIMEOUT_MS};
    thresholds_default(&o->thresholds);
}

void check_opts_free(struct check_opts *o)
{
    strv_free(&o->commands);
}

static void take_command(struct argp_state *state, struct check_opts *o, char *text)
{
    STRV_AUTO words = STRV_INIT;
    strv_add_split(&words, text, ' ');
    if (words.n == 0)
        argp_error(state, "--check-command '%s': which program?", text);
    if (o->commands.n == COMMANDS_MAX)
        argp_error(state, "--check-command %s: %d of them are enough", text,
                   COMMANDS_MAX);
    strv_add(&o->commands, text);
    o->stray = "--check-command";
}

static void take_thresholds(struct argp_state *state, struct check_opts *o,
                            const char *path)
{
    ERR_AUTO err = ERR_INIT;
    if (thresholds_read(&o->thresholds, path, &err) < 0)
        argp_error(state, "--check-thresholds: %s", err_text(&err));
    o->tuned = true;
    o->stray = "--check-thresholds";
}

static void take_over(struct argp_state *state, struct check_opts *o, const char *way)
{
    if (strcmp(way, "tcp") != 0 && strcmp(way, "nccl") != 0)
        argp_error(state, "--check-over %s: give tcp or nccl", way);
    o->nccl = strcmp(way, "nccl") == 0;
    o->pairs = true;
    o->stray = "--check-over";
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct check_opts *o = state->input;
    switch (key) {
    case KEY_COMMAND: take_command(state, o, arg); return 0;
    case KEY_TIMEOUT:
        if (!seconds_parse(arg, &o->timeout_ms) || o->timeout_ms == 0)
            argp_error(state, "--check-timeout %s: give seconds, above 0, to %d", arg,
                       SECONDS_MAX);
        o->stray = "--check-timeout";
        return 0;
    case KEY_OVER: take_over(state, o, arg); return 0;
    case KEY_THRESHOLDS: take_thresholds(state, o, arg); return 0;
    case KEY_PAIRS:
        o->pairs = true;
        o->stray = "--check-pairs";
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *check_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}

// ---- the message ------------------------------------------------------------

static Muster__Check *make_check(const char *command)
{
    struct strv words = STRV_INIT;
    Muster__Check *c = xmalloc(sizeof *c);
    strv_add_split(&words, command, ' ');
    const char *slash = strrchr(words.v[0], '/');
    muster__check__init(c);
    c->name = xstrdup(slash != NULL && slash[1] != '\0' ? slash + 1 : words.v[0]);
    c->argv = strv_take(&words, &c->n_argv);
    return c;
}

char *check_opts_thresholds_env(const struct check_opts *o)
{
    CLEANUP_FREE char *text = o->tuned ? thresholds_text(&o->thresholds) : NULL;
    return text != NULL ? xasprintf("MUSTER_CHECK_THRESHOLDS=%s", text) : NULL;
}

Muster__Inspect *check_opts_message(const struct check_opts *o)
{
    Muster__Inspect *m = xmalloc(sizeof *m);
    muster__inspect__init(m);
    m->timeout_ms = o->timeout_ms;
    m->full = o->full;
    m->checks = xcalloc(o->commands.n, sizeof(Muster__Check *));
    for (size_t i = 0; i < o->commands.n; i++)
        m->checks[m->n_checks++] = make_check(o->commands.v[i]);
    m->env = xcalloc(1, sizeof(char *));
    m->env[0] = check_opts_thresholds_env(o);
    m->n_env = m->env[0] != NULL ? 1 : 0;
    return m;
}
