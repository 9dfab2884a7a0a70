// Options of musterd.
#include "agent/opts.h"

#include <argp.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/members.h"

enum { KEY_ANNOUNCE = 0x100, KEY_NO_STANDBY, KEY_RUN_DIR, KEY_LEAD };

static const struct argp_option options[] = {
    {"listen", 'l', "ADDRESS[:PORT]", 0,
     "Listen there; IPv6 in brackets when a port follows (default: [::]:7822)", 0},
    {"key", 'k', "DIR", 0,
     "Key ring of the group (default: $MUSTER_KEY_DIR, else /etc/muster/ssh)", 0},
    {"stdio", 's', NULL, 0, "Serve one launcher on stdin and stdout, then end", 0},
    {"announce", KEY_ANNOUNCE, NULL, 0,
     "With --stdio: say first where the frames begin; shells may print before", 0},
    {"no-standby", KEY_NO_STANDBY, NULL, 0,
     "Keep no PMIx server ready: saves memory, launches take longer", 0},
    {"lead", KEY_LEAD, "POD", OPTION_ARG_OPTIONAL,
     "Start the launcher (the command behind --), see it through, end with its code; "
     "with =POD only in the pod that has this host name",
     0},
    {"run-dir", KEY_RUN_DIR, "DIR", 0,
     "Leave the launcher's roll there for a muster-sidecar (default: /run/muster, "
     "where "
     "it is there; empty: nowhere)",
     0},
    {"verbose", 'v', NULL, 0, "Log what happens", 0},
    {0},
};

static int split(const char *text, char *address, size_t size, long *port)
{
    const char *colon = strrchr(text, ':'), *end = text + strlen(text);
    size_t skip = 0;
    *port = MEMBERS_DEFAULT_PORT;
    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (close == NULL)
            return -1;
        skip = 1;
        end = close;
        colon = close[1] == ':' ? close + 1 : NULL;
        if (colon == NULL && close[1] != '\0')
            return -1;
    } else if (colon != NULL && strchr(text, ':') == colon) {
        end = colon;
    } else {
        colon = NULL; // none, or an IPv6 literal without brackets
    }
    if (colon != NULL) {
        char *rest;
        *port = strtol(colon + 1, &rest, 10);
        if (rest == colon + 1 || *rest != '\0' || *port < 0 || *port > 65535)
            return -1;
    }
    size_t len = (size_t)(end - text) - skip;
    if (len == 0 || len >= size)
        return -1;
    memcpy(address, text + skip, len);
    address[len] = '\0';
    return 0;
}

static int parse_listen(struct agent_opts *o, const char *text)
{
    char address[INET6_ADDRSTRLEN + 1];
    long port;
    struct sockaddr_in *v4 = (void *)&o->addr;
    struct sockaddr_in6 *v6 = (void *)&o->addr;
    if (split(text, address, sizeof address, &port) < 0)
        return -1;
    memset(&o->addr, 0, sizeof o->addr);
    o->listen = text;
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        o->addr_len = sizeof *v4;
        return 0;
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1)
        return -1;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    o->addr_len = sizeof *v6;
    return 0;
}

static void check(struct argp_state *state, const struct agent_opts *o)
{
    if (o->launcher != NULL && !o->lead)
        argp_error(state,
                   "what is '%s'? musterd takes options only, but for the launcher's "
                   "command with --lead",
                   o->launcher[0]);
    if (o->lead && o->launcher == NULL)
        argp_error(state,
                   "--lead: which launcher? give musterd --lead -- muster run ...");
    if (o->lead && o->stdio)
        argp_error(state,
                   "--lead and --stdio: an agent that a launcher starts leads none");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct agent_opts *o = state->input;
    switch (key) {
    case 'l':
        if (parse_listen(o, arg) < 0)
            argp_error(state,
                       "--listen %s: give an address, as 10.0.0.5, 10.0.0.5:7822 "
                       "or [fd00::5]:7822",
                       arg);
        return 0;
    case 'k': o->key = arg; return 0;
    case 's': o->stdio = true; return 0;
    case KEY_ANNOUNCE: o->announce = true; return 0;
    case KEY_NO_STANDBY: o->no_standby = true; return 0;
    case KEY_RUN_DIR: o->run_dir = arg; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->files; return 0;
    case 'v': o->verbose = true; return 0;
    case KEY_LEAD:
        o->lead = true;
        o->lead_pod = arg;
        if (arg != NULL && arg[0] == '\0')
            argp_error(state, "--lead=: which pod? give its host name, as train-0");
        return 0;
    case ARGP_KEY_ARGS: o->launcher = state->argv + state->next; return 0;
    case ARGP_KEY_END: check(state, o); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void agent_opts_parse(struct agent_opts *o, int argc, char **argv)
{
    const struct argp_child children[] = {
        {write_opts_argp(), 0,
         "What is kept of the launcher's roll, without a sidecar:", 0},
        {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[-- LAUNCHER [ARG...]]",
        .doc =
            "The agent of Muster in each pod: starts and keeps ranks for a launcher.",
        .children = children};
    char any[] = "[::]";
    *o = (struct agent_opts){0};
    parse_listen(o, any);
    o->listen = "[::]:7822";
    argp_err_exit_status = 125;
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, o);
}
