// The dialling end of a link over SSH: connect, pin the peer's key, show ours, open
// both channels.
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/proc.h"
#include "wire/keyring.h"
#include "wire/link_sock.h"
#include "wire/link_ssh.h"

enum stage { STAGE_TCP, STAGE_KEX, STAGE_AUTH, STAGE_CHANNELS };
enum opening { OPENING_CHANNEL, OPENING_SUBSYSTEM, OPENING_DONE };

struct client {
    struct link_ssh *ssh;
    const struct keyring *keys;
    uint32_t dead_ms;
    enum stage stage;
    size_t tried; // private keys of the ring
    enum opening opening[LINK_SSH_USES];
};

// ---- TCP --------------------------------------------------------------------

static ssh_session make_session(const struct client *c, int fd)
{
    static const int off = 0;
    ssh_session session = ssh_new();
    // Nothing of this machine's own ssh set-up counts, and nothing of it is needed (a
    // home, a passwd entry).
    const struct {
        enum ssh_options_e option;
        const void *value;
    } options[] = {
        {SSH_OPTIONS_PROCESS_CONFIG, &off},
        {SSH_OPTIONS_SSH_DIR, "/nonexistent"},
        {SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_HOST, "muster"},
        {SSH_OPTIONS_USER, LINK_SSH_USER},
        {SSH_OPTIONS_HOSTKEYS, keyring_hostkey_types(c->keys)},
        {SSH_OPTIONS_FD, &fd},
    };
    for (size_t i = 0; session != NULL && i < sizeof options / sizeof *options; i++)
        if (ssh_options_set(session, options[i].option, options[i].value) < 0) {
            ssh_free(session);
            return NULL;
        }
    return session;
}

static int step_tcp(struct client *c, struct err *err)
{
    struct link_ssh *s = c->ssh;
    int why = 0;
    socklen_t len = sizeof why;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0)
        why = errno;
    if (why != 0) {
        link_sock_refused(err, why, link_peer_text(s->link));
        return -1;
    }
    ssh_session session = make_session(c, s->fd);
    if (session == NULL) {
        err_set_kind(err, "PROTOCOL", 0, "libssh takes none of our options");
        return -1;
    }
    char local[LINK_SOCK_TEXT];
    link_sock_local(s->fd, local);
    link_sock_tune(s->fd, c->dead_ms);
    link_core_set_local(s->link, local);
    link_ssh_set_session(s, session);
    link_core_connected(s->link);
    c->stage = STAGE_KEX;
    return 1;
}

// ---- key exchange and pinning -----------------------------------------------

static int pin(struct client *c, struct err *err)
{
    ssh_key key = NULL;
    if (ssh_get_server_publickey(c->ssh->session, &key) != SSH_OK) {
        err_set_kind(err, "KEY", 0, "the peer shows no key");
        return -1;
    }
    int rc = 0;
    if (!keyring_accepts(c->keys, key)) {
        CLEANUP_FREE char *print = keyring_fingerprint_of(key);
        err_set_kind(
            err, "KEY", 0,
            "the peer's key is not in the key ring of this group (%s; ours is %s)",
            print, keyring_fingerprint(c->keys));
        rc = -1;
    }
    ssh_key_free(key);
    return rc;
}

static void explain_kex(struct client *c, struct err *err)
{
    const char *why = ssh_get_error(c->ssh->session);
    if (strstr(why, "Socket error") != NULL)
        err_set_kind(
            err, "LOST", 0,
            "%s closed the connection in the SSH handshake (it may be full, or "
            "stopping)",
            link_peer_text(c->ssh->link));
    else
        err_set_kind(err, "PROTOCOL", 0, "no SSH handshake with %s: %.200s",
                     link_peer_text(c->ssh->link), why);
}

static int step_kex(struct client *c, struct err *err)
{
    int rc = ssh_connect(c->ssh->session);
    // libssh makes a given fd blocking; one write could then stop the whole program.
    int fd = ssh_get_fd(c->ssh->session);
    if (fd >= 0)
        proc_set_nonblock(fd);
    if (rc == SSH_AGAIN)
        return 0;
    if (rc != SSH_OK) {
        explain_kex(c, err);
        return -1;
    }
    if (pin(c, err) < 0)
        return -1;
    link_ssh_start_polling(c->ssh);
    c->stage = STAGE_AUTH;
    return 1;
}

// ---- authentication ---------------------------------------------------------

static int step_auth(struct client *c, struct err *err)
{
    ssh_key key = keyring_private(c->keys, c->tried);
    if (key == NULL) {
        err_set_kind(
            err, "KEY", 0,
            "the peer refused our key (%s; %zu tried): do both pods mount the same "
            "Secret?",
            keyring_fingerprint(c->keys), c->tried);
        return -1;
    }
    switch (ssh_userauth_publickey(c->ssh->session, NULL, key)) {
    case SSH_AUTH_AGAIN: return 0;
    case SSH_AUTH_SUCCESS: c->stage = STAGE_CHANNELS; return 1;
    case SSH_AUTH_ERROR:
        if (link_ssh_check(c->ssh, err) == 0)
            err_set_kind(err, "PROTOCOL", 0, "SSH authentication failed: %.200s",
                         ssh_get_error(c->ssh->session));
        return -1;
    default: c->tried++; return 1; // denied
    }
}

// ---- channels ---------------------------------------------------------------

// 1 done, 0 waiting, -1 refused.
static int open_one(struct client *c, enum link_ssh_use use)
{
    struct link_ssh_channel *ch = &c->ssh->channels[use];
    if (ch->channel == NULL) {
        ch->channel = ssh_channel_new(c->ssh->session);
        link_ssh_adopt(c->ssh, ch->channel);
    }
    while (c->opening[use] != OPENING_DONE) {
        int rc =
            c->opening[use] == OPENING_CHANNEL
                ? ssh_channel_open_session(ch->channel)
                : ssh_channel_request_subsystem(ch->channel, link_ssh_subsystems[use]);
        if (rc != SSH_OK)
            return rc == SSH_AGAIN ? 0 : -1;
        c->opening[use]++;
    }
    return 1;
}

// Both at once: it costs two round trips, not four.
static int step_channels(struct client *c, struct err *err)
{
    int done = 0;
    for (int use = 0; use < LINK_SSH_USES; use++) {
        int rc = open_one(c, use);
        if (link_ssh_check(c->ssh, err) < 0)
            return -1;
        if (rc < 0) {
            err_set_kind(err, "PROTOCOL", 0,
                         "the peer gives no '%s' channel (is it a musterd?): %.200s",
                         link_ssh_subsystems[use], ssh_get_error(c->ssh->session));
            return -1;
        }
        done += rc;
    }
    c->ssh->open = done == LINK_SSH_USES;
    return c->ssh->open ? 1 : 0;
}

// ---- as a role --------------------------------------------------------------

static const struct {
    const char *name;
    int (*step)(struct client *, struct err *);
} stages[] = {
    [STAGE_TCP] = {"TCP connect", step_tcp},
    [STAGE_KEX] = {"SSH key exchange", step_kex},
    [STAGE_AUTH] = {"SSH authentication", step_auth},
    [STAGE_CHANNELS] = {"SSH channels", step_channels},
};

static int client_step(void *state, struct err *err)
{
    struct client *c = state;
    return stages[c->stage].step(c, err);
}

static const char *client_stage(const void *state)
{
    return stages[((const struct client *)state)->stage].name;
}

static void client_destroy(void *state)
{
    free(state);
}

static const struct link_ssh_role client_role = {client_step, client_stage,
                                                 client_destroy};

struct link *link_dial(const struct link_conf *conf, const struct sockaddr *addr,
                       socklen_t len, const struct link_ops *ops, void *arg)
{
    char peer[LINK_SOCK_TEXT];
    ERR_AUTO err = ERR_INIT;
    link_sock_text(addr, len, peer);
    struct link *l = link_core_create(conf, peer, LINK_DIALING, ops, arg);
    int fd = link_sock_connect(addr, len, peer, &err);
    struct client *c = xcalloc(1, sizeof *c);
    c->keys = conf->keys;
    c->dead_ms = link_core_dead_ms(l);
    c->ssh = link_ssh_create(l, conf->base, fd, &client_role, c);
    if (fd < 0)
        link_core_fail_later(l, &err);
    return l;
}
