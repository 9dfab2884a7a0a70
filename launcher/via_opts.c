// The options of --via ssh, and the message that they become.
#include "launcher/via_opts.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/strv.h"
#include "hostfile/slurp.h"
#include "wire/link_hostkeys.h"
#include "wire/msg.h"

enum { KEY_VIA = 0x3000, KEY_USER, KEY_AGENT_PATH, KEY_PUSH, KEY_HOST_KEYS };
enum { SSH_PORT = 22 };

static const struct argp_option options[] = {
    {"via", KEY_VIA, "ssh[:PORT]", 0,
     "No agent listens there: let each member's sshd start one (port 22)", 6},
    {"user", KEY_USER, "NAME", 0,
     "Log in as NAME where the source names no user (default: as here)", 6},
    {"agent-path", KEY_AGENT_PATH, "PATH", 0,
     "musterd there (default: the path that it has here, then PATH)", 6},
    {"push-agent", KEY_PUSH, NULL, 0,
     "Bring musterd and muster-pmixd along, where they are not there yet", 6},
    {"host-keys", KEY_HOST_KEYS, "FILE|accept", 0,
     "Trust the host keys in FILE (known_hosts), or any, besides the group's own", 6},
    {0},
};

void via_opts_init(struct via_opts *o)
{
    *o = (struct via_opts){.port = SSH_PORT};
}

int via_opts_parse_way(struct via_opts *o, const char *text)
{
    if (strncmp(text, "ssh", 3) != 0 || (text[3] != '\0' && text[3] != ':'))
        return -1;
    if (text[3] == ':') {
        char *end;
        long port = strtol(text + 4, &end, 10);
        if (text[4] < '0' || text[4] > '9' || *end != '\0' || port < 1 || port > 65535)
            return -1;
        o->port = (uint16_t)port;
    }
    o->ssh = true;
    return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct via_opts *o = state->input;
    bool has_value = key >= KEY_VIA && key <= KEY_HOST_KEYS && key != KEY_PUSH;
    if (has_value && arg[0] == '\0')
        argp_error(state, "an option of --via ssh has an empty value");
    switch (key) {
    case KEY_VIA:
        if (via_opts_parse_way(o, arg) < 0)
            argp_error(state,
                       "--via %s: give ssh, or ssh:PORT with a port from 1 to 65535",
                       arg);
        return 0;
    case KEY_USER: o->user = arg; return 0;
    case KEY_AGENT_PATH: o->agent_path = arg; return 0;
    case KEY_PUSH: o->push = true; return 0;
    case KEY_HOST_KEYS: o->host_keys = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *via_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}

const char *via_opts_stray(const struct via_opts *o)
{
    if (o->ssh)
        return NULL;
    return o->user != NULL         ? "--user"
           : o->agent_path != NULL ? "--agent-path"
           : o->push               ? "--push-agent"
           : o->host_keys != NULL  ? "--host-keys"
                                   : NULL;
}

// ---- the message ------------------------------------------------------------

// The name of this process's user; its number where there is no passwd entry, as in pods
// with an arbitrary uid.
static char *own_user(void)
{
    const struct passwd *pw = getpwuid(geteuid());
    return pw != NULL ? xstrdup(pw->pw_name) : xasprintf("%u", (unsigned)geteuid());
}

static void set_agents(Muster__Via *m, const struct via_opts *o, const char *musterd)
{
    m->agents = xcalloc(2, sizeof *m->agents);
    if (o->agent_path != NULL) {
        m->agents[m->n_agents++] = xstrdup(o->agent_path);
        return;
    }
    if (musterd != NULL)
        m->agents[m->n_agents++] = xstrdup(musterd);
    m->agents[m->n_agents++] = xstrdup("musterd");
}

static int set_host_keys(Muster__Via *m, const struct via_opts *o, struct err *err)
{
    if (o->host_keys == NULL)
        return 0;
    if (strcmp(o->host_keys, "accept") == 0) {
        m->host_keys_mode = LINK_HOSTKEYS_ANY;
        return 0;
    }
    BUF_AUTO text = BUF_INIT;
    if (slurp(o->host_keys, &text, err) < 0) {
        err_prefix(err, "--host-keys");
        return -1;
    }
    buf_append(&text, "", 1);
    struct strv lines = STRV_INIT; // becomes the message's
    char *rest = (char *)buf_data(&text);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        strv_add(&lines, line);
    m->host_keys_mode = LINK_HOSTKEYS_FILE;
    m->host_keys = lines.v;
    m->n_host_keys = lines.n;
    free(m->host_keys_file);
    m->host_keys_file = xstrdup(o->host_keys);
    return 0;
}

Muster__Via *via_opts_message(const struct via_opts *o, const char *musterd,
                              const char *key_dir, struct err *err)
{
    Muster__Via *m = xmalloc(sizeof *m);
    muster__via__init(m);
    m->user = o->user != NULL ? xstrdup(o->user) : own_user();
    m->push = o->push;
    m->host_keys_file = xstrdup("");
    m->key_dir = xstrdup(key_dir);
    set_agents(m, o, musterd);
    if (set_host_keys(m, o, err) == 0)
        return m;
    msg_free(m);
    return NULL;
}
