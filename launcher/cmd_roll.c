// muster roll: prints the members that a source gives, and starts nothing.
#include "launcher/cmd.h"

#include <argp.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "hostfile/source.h"
#include "hostfile/source_opts.h"
#include "launcher/roll_print.h"

enum { KEY_JSON = 0x2000, KEY_WAIT, FAILED = 125, WAIT_MAX = 1000000 };

struct roll {
    struct source_opts source;
    bool json;
    long wait_s;
    struct event_base *base;
    struct event *deadline;
    struct members members; // newest
    struct err err;
    bool have, late; // an update came; the wait is over
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON instead of a table", 2},
    {"wait", KEY_WAIT, "SECONDS", 0,
     "Wait so long for members without an address (0: ask once)", 2},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct roll *r = state->input;
    char *end;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->source; return 0;
    case KEY_JSON: r->json = true; return 0;
    case KEY_WAIT:
        r->wait_s = strtol(arg, &end, 10);
        if (*arg == '\0' || *end != '\0' || r->wait_s < 0 || r->wait_s > WAIT_MAX)
            argp_error(state, "--wait is '%s', not a number of seconds", arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state,
                   "'%s' is no option; host lists are comma separated: --host a,b",
                   arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool complete(const struct members *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].addr.ss_family == 0)
            return false;
    return m->n > 0;
}

static void on_update(void *arg, const struct members *members)
{
    struct roll *r = arg;
    members_copy(&r->members, members);
    r->have = true;
    if (r->late || r->wait_s == 0 || complete(members))
        event_base_loopbreak(r->base);
}

static void on_failed(void *arg, const struct err *err)
{
    struct roll *r = arg;
    err_copy(&r->err, err);
    event_base_loopbreak(r->base);
}

// The first round is waited for in any case: it is bounded by the DNS module.
static void on_deadline(int fd, short what, void *arg)
{
    struct roll *r = arg;
    r->late = true;
    if (r->have)
        event_base_loopbreak(r->base);
}

static void gather(struct roll *r)
{
    static const struct source_ops ops = {.update = on_update, .failed = on_failed};
    r->base = loop_create();
    r->deadline = loop_timer(r->base, on_deadline, r);
    struct source *s = source_start(r->base, &r->source.spec, &ops, r, NULL, &r->err);
    if (s != NULL) {
        loop_timer_arm(r->deadline, (uint64_t)r->wait_s * 1000);
        event_base_dispatch(r->base);
    }
    source_destroy(s);
    loop_timer_free(r->deadline);
    loop_destroy(r->base);
}

static int report(const struct roll *r)
{
    if (r->err.text != NULL) {
        fprintf(stderr, "muster roll: %s\n", r->err.text);
        return FAILED;
    }
    for (size_t i = 0; !r->json && i < r->members.warnings.n; i++)
        fprintf(stderr, "muster roll: %s\n", r->members.warnings.v[i]);
    if (r->json)
        roll_print_json(&r->members, stdout);
    else
        roll_print_table(&r->members, stdout);
    if (fflush(stdout) != 0) {
        perror("muster roll: cannot write");
        return FAILED;
    }
    return complete(&r->members) ? 0 : 1;
}

int cmd_roll(int argc, char **argv)
{
    const struct argp_child children[] = {{.argp = source_opts_argp()}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Print the members that a source gives, with slots and addresses, and "
            "start nothing.\vWithout a source: this machine. Exit code 0: every member "
            "has an address; 1: some have none; 125: the source cannot be used.",
        .children = children,
    };
    struct roll r = {0};
    source_opts_init(&r.source);
    argp_err_exit_status = FAILED;
    argv[0] = (char[]){"muster roll"};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_LONG_ONLY, NULL, &r);
    gather(&r);
    int rc = report(&r);
    members_free(&r.members);
    err_clear(&r.err);
    return rc;
}
