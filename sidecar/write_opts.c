// --hosts, --write, --by.
#include "sidecar/write_opts.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { KEY_HOSTS = 0x800, KEY_WRITE, KEY_BY };

static const struct argp_option options[] = {
    {"hosts", KEY_HOSTS, "PATH", OPTION_ARG_OPTIONAL,
     "Keep the members in /etc/hosts, where kubelet made it for this pod; with =PATH: "
     "in "
     "that file, whoever made it",
     0},
    {"write", KEY_WRITE, "DIALECT:PATH", 0,
     "Keep a hostfile there, in a dialect of muster hostfile; can be given several "
     "times",
     0},
    {"by", KEY_BY, "address|name", 0, "Hostfiles hold addresses (the default) or names",
     0},
    {0},
};

static bool is_written(const struct write_opts *o, const char *path)
{
    for (size_t i = 0; i < o->nhostfiles; i++)
        if (strcmp(o->hostfiles[i].path, path) == 0)
            return true;
    return false;
}

static void take_write(struct argp_state *state, struct write_opts *o, const char *text)
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
    else if (o->nhostfiles == WRITE_OPTS_MAX)
        argp_error(state, "--write: at most %d hostfiles", WRITE_OPTS_MAX);
    else
        o->hostfiles[o->nhostfiles++] = h;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct write_opts *o = state->input;
    switch (key) {
    case KEY_HOSTS:
        o->hosts = arg != NULL ? arg : "/etc/hosts";
        o->any_hosts = arg != NULL;
        return 0;
    case KEY_WRITE: take_write(state, o, arg); return 0;
    case KEY_BY:
        if (strcmp(arg, "address") != 0 && strcmp(arg, "name") != 0)
            argp_error(state, "--by %s: give address or name", arg);
        o->by_name = strcmp(arg, "name") == 0;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *write_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}

bool write_opts_any(const struct write_opts *o)
{
    return o->hosts != NULL || o->nhostfiles > 0;
}

void write_opts_conf(const struct write_opts *o, struct keep_conf *conf)
{
    conf->hosts = o->hosts;
    conf->any_hosts = o->any_hosts;
    conf->hostfiles = o->hostfiles;
    conf->nhostfiles = o->nhostfiles;
    conf->by_name = o->by_name;
}
