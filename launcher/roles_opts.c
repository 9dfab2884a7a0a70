// Roles: what can be said of them, and who gets which members.
#include "launcher/roles_opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/opt_number.h"
#include "launcher/roles.h"

enum { KEY_SCOPE = 0x3200, KEY_SIGNAL, KEY_PART };

static const struct argp_option options[] = {
    {"restart-scope", KEY_SCOPE, "role|job", 0,
     "Who starts again when a role does: it alone (the default), or all roles", 7},
    {"role-signal", KEY_SIGNAL, "SIGNAL", 0,
     "Send SIGNAL to the ranks of the other roles when a role runs again", 7},
    {"role-part", KEY_PART, "FROM,TO,FD", OPTION_HIDDEN, NULL, 7},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct roles_opts *o = state->input;
    switch (key) {
    case KEY_SCOPE:
        o->option = "--restart-scope";
        o->whole_job = strcmp(arg, "job") == 0;
        if (!o->whole_job && strcmp(arg, "role") != 0)
            argp_error(state, "--restart-scope %s: role or job", arg);
        return 0;
    case KEY_SIGNAL:
        o->option = "--role-signal";
        o->signal = opt_signal(state, "--role-signal", arg);
        return 0;
    case KEY_PART:
        o->is_part = true;
        if (sscanf(arg, "%u,%u,%d", &o->from, &o->to, &o->fd) != 3)
            argp_error(state, "--role-part %s: is not for people", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *roles_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}

static int check_name(const struct apps_opts *apps, size_t i, struct err *err)
{
    const char *name = apps->v[i].role;
    if (!roles_name_is_valid(name)) {
        err_set(err,
                "--role '%s': give a letter, then letters, digits and dashes, up to %d",
                name, ROLES_NAME_MAX);
        return -1;
    }
    for (size_t k = 0; k < i; k++)
        if (strcasecmp(apps->v[k].role, name) == 0) {
            err_set(err,
                    "--role %s is there twice (case does not count, as in "
                    "MUSTER_ROLE_ADDRS_...): each program has a role of its own",
                    name);
            return -1;
        }
    return 0;
}

int roles_opts_check(const struct roles_opts *o, const struct apps_opts *apps,
                     struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < apps->n; i++)
        n += apps->v[i].role != NULL ? 1 : 0;
    if (n == 0 && o->option != NULL)
        err_set(err, "%s is about roles: give each program its --role", o->option);
    else if (n > 0 && n < apps->n)
        err_set(err, "%zu of %zu programs have a --role: give one to each, or to none",
                n, apps->n);
    else {
        for (size_t i = 0; i < n; i++)
            if (check_name(apps, i, err) < 0)
                return -1;
        return 0;
    }
    return -1;
}

int roles_opts_share(const struct apps_opts *apps, uint32_t each, uint32_t *from,
                     uint32_t *to, struct err *err)
{
    uint32_t at = 0;
    if (each == 0) {
        err_set(err, "how many members each role takes is not known: give --per-node, "
                     "--ppn K or --slots K");
        return -1;
    }
    for (size_t i = 0; i < apps->n; i++) {
        uint32_t ranks = apps->v[i].ranks;
        if (ranks == 0 && i + 1 < apps->n) {
            err_set(
                err,
                "--role %s has no -n and no --grid: only the last role can have all "
                "members that are left",
                apps->v[i].role);
            return -1;
        }
        from[i] = at;
        to[i] = ranks > 0 ? at + (ranks + each - 1) / each + apps->v[i].spares : 0;
        at = to[i];
    }
    return 0;
}

char *roles_opts_status(const char *where, size_t role, struct err *err)
{
    const char *colon = strrchr(where, ':');
    const char *port = colon != NULL ? colon + 1 : where;
    unsigned long first = strtoul(port, NULL, 10), own = first > 0 ? first + role : 0;
    if (own > UINT16_MAX) {
        err_set(err,
                "--status %s: role number %zu would have port %lu: give a lower one",
                where, role + 1, own);
        return NULL;
    }
    return xasprintf("%.*s%lu", (int)(port - where), where, own);
}
