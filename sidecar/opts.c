// Options of muster-sidecar.
#include "sidecar/opts.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/seconds.h"

enum {
    KEY_HOSTS = 0x100,
    KEY_WRITE,
    KEY_BY,
    KEY_ONCE,
    KEY_DIFF,
    KEY_WAIT,
    KEY_INTERVAL,
    KEY_LOG,
    USAGE = 125,
};

static const struct argp_option options[] = {
    {"hosts", KEY_HOSTS, "PATH", OPTION_ARG_OPTIONAL,
     "Keep the members in /etc/hosts, where kubelet made it for this pod; with =PATH: "
     "in "
     "that file, whoever made it",
     2},
    {"write", KEY_WRITE, "DIALECT:PATH", 0,
     "Keep a hostfile there, in a dialect of muster hostfile; can be given several "
     "times",
     2},
    {"by", KEY_BY, "address|name", 0, "Hostfiles hold addresses (the default) or names",
     2},
    {"once", KEY_ONCE, NULL, 0,
     "Write everything once and end (init container); exit code 1: members are missing",
     3},
    {"diff", KEY_DIFF, NULL, 0, "Print what would change, and write nothing", 3},
    {"wait", KEY_WAIT, "SECONDS", 0,
     "--once, --diff: how long to wait for members (default: 300)", 3},
    {"interval", KEY_INTERVAL, "SECONDS", 0,
     "Ask for names again after their TTL, at the latest after this (default: 5)", 3},
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

static bool is_written(const struct sidecar_opts *o, const char *path)
{
    for (size_t i = 0; i < o->nhostfiles; i++)
        if (strcmp(o->hostfiles[i].path, path) == 0)
            return true;
    return false;
}

static void take_write(struct argp_state *state, struct sidecar_opts *o,
                       const char *text)
{
    size_t len = strcspn(text, ":"), all = strlen(text);
    if (len == all || len + 1 == all || text[all - 1] == '/') {
        argp_error(state,
                   "--write %s: give DIALECT:PATH, as openmpi:/run/muster/hostfile",
                   text);
        return;
    }
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *name = xstrndup(text, len);
    struct keep_hostfile h = {.dialect = dialect_find(name, "--write", true, &err),
                              .path = text + len + 1};
    if (h.dialect == NULL)
        argp_error(state, "%s", err_text(&err));
    else if (strcmp(name, "json") == 0 || strcmp(name, "horovod") == 0)
        argp_error(state,
                   "--write %s: %s has no comments, and so no place for the mark that "
                   "such a file is no source; make it with muster hostfile",
                   text, name);
    else if (is_written(o, h.path))
        argp_error(state, "--write %s: this file is written already", text);
    else if (o->nhostfiles == OPTS_HOSTFILES_MAX)
        argp_error(state, "--write: at most %d hostfiles", OPTS_HOSTFILES_MAX);
    else
        o->hostfiles[o->nhostfiles++] = h;
}

// One of two words; true: the second.
static bool second(struct argp_state *state, const char *option, const char *text,
                   const char *a, const char *b)
{
    if (strcmp(text, a) != 0 && strcmp(text, b) != 0)
        argp_error(state, "%s %s: give %s or %s", option, text, a, b);
    return strcmp(text, b) == 0;
}

static void take_hosts(struct sidecar_opts *o, const char *path)
{
    o->hosts = path != NULL ? path : "/etc/hosts";
    o->any_hosts = path != NULL;
}

static void check(struct argp_state *state, const struct sidecar_opts *o)
{
    if (o->hosts == NULL && o->nhostfiles == 0)
        argp_error(state,
                   "nothing to keep: give --hosts, --write DIALECT:PATH or both");
}

// Once the source is known.
static int check_source(struct sidecar_opts *o, struct err *err)
{
    if (source_opts_settle(&o->source, true, err) < 0)
        return -1;
    for (size_t i = 0; i < o->nhostfiles; i++) {
        if (o->source.spec.kind == SOURCE_HOSTFILE &&
            strcmp(o->hostfiles[i].path, o->source.spec.text) == 0) {
            err_set(err, "--write %s: this is the file that --hostfile reads",
                    o->hostfiles[i].path);
            return -1;
        }
    }
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sidecar_opts *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->source; return 0;
    case KEY_HOSTS: take_hosts(o, arg); return 0;
    case KEY_WRITE: take_write(state, o, arg); return 0;
    case KEY_BY: o->by_name = second(state, "--by", arg, "address", "name"); return 0;
    case KEY_ONCE: o->once = true; return 0;
    case KEY_DIFF: o->diff = true; return 0;
    case KEY_WAIT: o->wait_ms = milliseconds(state, "--wait", arg, 0); return 0;
    case KEY_INTERVAL:
        o->interval_ms = milliseconds(state, "--interval", arg, 0.1);
        return 0;
    case KEY_LOG: o->json_log = second(state, "--log", arg, "text", "json"); return 0;
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
        {source_opts_argp(), 0, "Where the members come from:", 1}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Keep /etc/hosts and hostfiles current while pods are replaced.",
        .children = children};
    *o = (struct sidecar_opts){.wait_ms = 300000, .interval_ms = 5000};
    source_opts_init(&o->source);
    argp_err_exit_status = USAGE;
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, o);
    ERR_AUTO err = ERR_INIT;
    if (check_source(o, &err) == 0)
        return;
    fprintf(stderr, "muster-sidecar: %s\n", err_text(&err));
    exit(USAGE);
}
