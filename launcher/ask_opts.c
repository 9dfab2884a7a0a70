// Options and orders of the commands that ask a running job.
#include "launcher/ask_opts.h"

#include <stdint.h>
#include <stdio.h>

#include "common/mem.h"

enum { KEY_KEY = 0x3500, KEY_JOB, KEY_AGENT, FAILED = 125 };

static const struct argp_option options[] = {
    {"key", KEY_KEY, "DIR", 0,
     "Key ring of the group (default: $MUSTER_KEY_DIR, else /etc/muster/ssh)", 8},
    {"job", KEY_JOB, "JOB", 0, "Which job, where the pod has several", 8},
    {"agent", KEY_AGENT, "ADDRESS[:PORT]", 0,
     "Ask the musterd there (default: this pod's, port 7822)", 8},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct ask_opts *o = state->input;
    switch (key) {
    case KEY_KEY: o->key = arg; return 0;
    case KEY_JOB: o->job = arg; return 0;
    case KEY_AGENT: o->at = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *ask_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}

const struct argp *ask_opts_argp_keyless(void)
{
    static const struct argp argp = {.options = options + 1, .parser = parse};
    return &argp;
}

int ask_opts_put(const struct ask_opts *o, Muster__Ask *question, char **text,
                 struct err *err)
{
    struct ask where = {.key_dir = o->key};
    CLEANUP_FREE char *job = xstrdup(o->job != NULL ? o->job : "");
    *text = NULL;
    if (ask_find(&where, o->at, err) < 0)
        return ASK_NOT;
    question->job_key = job;
    int code = ask_job(&where, question, text, err);
    question->job_key = NULL;
    return code;
}

int ask_opts_order(const struct ask_opts *o, const char *name, Muster__Ask__Op op,
                   const char *member, const char *reason)
{
    Muster__Ask q = MUSTER__ASK__INIT;
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *who = xstrdup(member);
    CLEANUP_FREE char *why = xstrdup(reason != NULL ? reason : "");
    CLEANUP_FREE char *text = NULL;
    if (member[0] == '\0') {
        fprintf(stderr,
                "%s: the member's name is empty (a variable that is not set?)\n", name);
        return FAILED;
    }
    q.op = op;
    q.member = who;
    q.reason = why;
    int code = ask_opts_put(o, &q, &text, &err);
    fprintf(stderr, "%s: %s\n", name, code == ASK_NOT ? err_text(&err) : text);
    return code == ASK_NOT ? FAILED : code;
}
