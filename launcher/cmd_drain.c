// muster drain: the next attempt of a running job does without a member's agent.
#include "launcher/cmd.h"

#include "launcher/ask_opts.h"

enum { KEY_REASON = 0x3400, USAGE = 125 };

struct order {
    struct ask_opts ask;
    const char *member, *reason;
};

static const struct argp_option options[] = {
    {"reason", KEY_REASON, "TEXT", 0, "Why, for logs and status", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct order *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->ask; return 0;
    case KEY_REASON: o->reason = arg; return 0;
    case ARGP_KEY_ARG:
        if (o->member != NULL)
            argp_error(state, "one member at a time: %s, or %s?", o->member, arg);
        o->member = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which member? muster drain MEMBER");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cmd_drain(int argc, char **argv)
{
    const struct argp_child children[] = {{.argp = ask_opts_argp()}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "MEMBER",
        .doc =
            "Let a running job go on, and have its next attempt do without the agent "
            "that a member has now."
            "\vWhen the job is restarted, for whatever reason, it waits for another "
            "agent of that member: of the pod that replaces this one. Exit code 0: "
            "done; 1: refused, or there is no job; 125: nobody could be asked.",
        .children = children,
    };
    struct order o = {0};
    argp_err_exit_status = USAGE;
    argv[0] = (char[]){"muster drain"};
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, &o);
    return ask_opts_order(&o.ask, "muster drain", MUSTER__ASK__OP__DRAIN, o.member,
                          o.reason);
}
