// muster roll: prints the members that a source gives, and starts nothing.
#include "launcher/cmd.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/seconds.h"
#include "hostfile/source_opts.h"
#include "launcher/look.h"
#include "launcher/roll_print.h"
#include "launcher/source_json.h"

enum { KEY_JSON = 0x2000, KEY_WAIT, FAILED = 125 };

struct roll {
    struct source_opts source;
    bool json;
    uint32_t wait_ms;
    struct members members;
    struct err err;
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
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->source; return 0;
    case KEY_JSON: r->json = true; return 0;
    case KEY_WAIT:
        if (!seconds_parse(arg, &r->wait_ms))
            argp_error(state, "--wait %s: give seconds, 0 to %d", arg, SECONDS_MAX);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state,
                   "'%s' is no option; host lists are comma separated: --host a,b",
                   arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int report(const struct roll *r, int rc)
{
    if (rc < 0) {
        fprintf(stderr, "muster roll: %s\n", r->err.text);
        return FAILED;
    }
    for (size_t i = 0; !r->json && i < r->members.warnings.n; i++)
        fprintf(stderr, "muster roll: %s\n", r->members.warnings.v[i]);
    if (r->json)
        roll_print_json(&r->members, source_json(&r->source), stdout);
    else
        roll_print_table(&r->members, stdout);
    if (fflush(stdout) != 0) {
        perror("muster roll: cannot write");
        return FAILED;
    }
    return look_complete(&r->members, r->source.members) ? 0 : 1;
}

static int look(struct roll *r)
{
    if (source_opts_settle(&r->source, false, &r->err) < 0)
        return -1;
    CLEANUP_FREE char *line = source_opts_line(&r->source);
    if (line != NULL)
        fprintf(stderr, "muster roll: %s\n", line);
    return look_up(&r->source.spec, r->source.members, r->wait_ms, &r->members,
                   &r->err);
}

int cmd_roll(int argc, char **argv)
{
    const struct argp_child children[] = {{.argp = source_opts_argp()}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Print the members that a source gives, with slots and addresses, and "
            "start nothing.\vWithout a source: the group that this pod is in, or this "
            "machine. Exit code 0: every member has an address; 1: some have none, or "
            "there are fewer than --members; 125: the source cannot be used.",
        .children = children,
    };
    struct roll r = {0};
    source_opts_init(&r.source);
    argp_err_exit_status = FAILED;
    argv[0] = (char[]){"muster roll"};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_LONG_ONLY, NULL, &r);
    int rc = report(&r, look(&r));
    source_opts_free(&r.source);
    members_free(&r.members);
    err_clear(&r.err);
    return rc;
}
