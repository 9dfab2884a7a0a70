// muster status: how a running job is, asked from any of its pods.
#include "launcher/cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "launcher/ask_opts.h"
#include "launcher/status_text.h"

enum { KEY_JSON = 0x3600, KEY_WATCH, FAILED = 125, NO_JOB = 1, WATCH_S = 2 };

struct order {
    struct ask_opts ask;
    bool json, watch;
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Print it as JSON, one line", 1},
    {"watch", KEY_WATCH, NULL, 0,
     "Print it again each 2 s, until no job answers or this is interrupted", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct order *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->ask; return 0;
    case KEY_JSON: o->json = true; return 0;
    case KEY_WATCH: o->watch = true; return 0;
    case ARGP_KEY_ARG:
        if (o->ask.at != NULL)
            argp_error(state, "one pod is asked: %s, or %s?", o->ask.at, arg);
        o->ask.at = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int print(const struct order *o, const char *json, struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    if (o->json)
        buf_append_str(&text, json);
    else if (status_text(json, &text, err) < 0)
        return ASK_NOT;
    if (o->watch && !o->json)
        fputs(isatty(STDOUT_FILENO) ? "\033[H\033[J" : "", stdout);
    fwrite(buf_data(&text), 1, buf_len(&text), stdout);
    if (o->watch && !o->json && !isatty(STDOUT_FILENO))
        putchar('\n');
    if (fflush(stdout) == 0)
        return 0;
    err_set(err, "cannot write to stdout: %m");
    return ASK_NOT;
}

static int ask_once(const struct order *o)
{
    Muster__Ask q = MUSTER__ASK__INIT;
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *text = NULL;
    q.op = MUSTER__ASK__OP__STATUS;
    int code = ask_opts_put(&o->ask, &q, &text, &err);
    if (code == 0)
        code = print(o, text, &err);
    else if (code != ASK_NOT)
        fprintf(stderr, "muster status: %s\n", text);
    if (code == ASK_NOT)
        fprintf(stderr, "muster status: %s\n", err_text(&err));
    return code == ASK_NOT ? FAILED : code;
}

int cmd_status(int argc, char **argv)
{
    const struct argp_child children[] = {{.argp = ask_opts_argp()}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[ADDRESS[:PORT]]",
        .doc = "Tell how the job of this pod is: its state, what it waits for, and its "
               "members."
               "\vThe question goes through the pod's musterd to the job's launcher; "
               "ADDRESS is another pod's. Exit code 0: there is a job; 1: there is "
               "none, or it has lost its launcher; 125: nobody could be asked.",
        .children = children,
    };
    struct order o = {0};
    argp_err_exit_status = FAILED;
    argv[0] = (char[]){"muster status"};
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, &o);
    int code = ask_once(&o);
    while (o.watch && code == 0) {
        nanosleep(&(struct timespec){.tv_sec = WATCH_S}, NULL);
        code = ask_once(&o);
    }
    return code;
}
