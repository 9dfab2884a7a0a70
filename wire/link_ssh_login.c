// TCP, key exchange, host key and authentication of a dialler.
#include "wire/link_ssh_login.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/proc.h"
#include "wire/keyring.h"
#include "wire/link_hostkeys.h"
#include "wire/link_sock.h"

// ---- TCP --------------------------------------------------------------------

// Algorithms of host keys to ask for, the best first.
static char *hostkey_types(const struct link_ssh_login *l)
{
    char *wish = NULL;
    if (l->via != NULL && l->via->hostkeys != NULL) {
        const char *names[] = {l->via->name, l->address};
        wish = link_hostkeys_types(l->via->hostkeys, names, 2, l->port);
    }
    return wish != NULL ? wish : xstrdup(keyring_hostkey_types(l->keys));
}

static ssh_session make_session(const struct link_ssh_login *l, int fd)
{
    static const int off = 0;
    ssh_session session = ssh_new();
    CLEANUP_FREE char *types = hostkey_types(l);
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
        {SSH_OPTIONS_USER, l->via != NULL ? l->via->user : LINK_SSH_USER},
        {SSH_OPTIONS_HOSTKEYS, types},
        {SSH_OPTIONS_FD, &fd},
    };
    for (size_t i = 0; session != NULL && i < sizeof options / sizeof *options; i++)
        if (ssh_options_set(session, options[i].option, options[i].value) < 0) {
            ssh_free(session);
            return NULL;
        }
    return session;
}

static void explain_tcp(const struct link_ssh_login *l, int why, struct err *err)
{
    const char *peer = link_peer_text(l->ssh->link);
    if (l->via != NULL && why == ECONNREFUSED)
        err_set_kind(err, "REFUSED_TCP", 0,
                     "connection refused (nobody listens on %s; is sshd running there, "
                     "on this port?)",
                     peer);
    else
        link_sock_refused(err, why, peer);
}

static int step_tcp(struct link_ssh_login *l, struct err *err)
{
    struct link_ssh *s = l->ssh;
    int why = 0;
    socklen_t len = sizeof why;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0)
        why = errno;
    if (why != 0) {
        explain_tcp(l, why, err);
        return -1;
    }
    ssh_session session = make_session(l, s->fd);
    if (session == NULL) {
        err_set_kind(err, "PROTOCOL", 0, "libssh takes none of our options");
        return -1;
    }
    char local[LINK_SOCK_TEXT];
    link_sock_local(s->fd, local);
    link_sock_tune(s->fd, l->dead_ms);
    link_core_set_local(s->link, local);
    link_ssh_set_session(s, session);
    link_core_connected(s->link);
    l->stage = LOGIN_KEX;
    return 1;
}

// ---- key exchange and the host key --------------------------------------------

static bool trusted(const struct link_ssh_login *l, ssh_key key)
{
    if (keyring_accepts(l->keys, key))
        return true;
    if (l->via == NULL || l->via->hostkeys == NULL)
        return false;
    const char *names[] = {l->via->name, l->address};
    return link_hostkeys_trust(l->via->hostkeys, names, 2, l->port, key);
}

static void explain_untrusted(const struct link_ssh_login *l, const char *print,
                              struct err *err)
{
    if (l->via == NULL)
        err_set_kind(
            err, "KEY", 0,
            "the peer's key is not in the key ring of this group (%s; ours is %s)",
            print, keyring_fingerprint(l->keys));
    else
        err_set_kind(
            err, "KEY", 0,
            "PEER_UNTRUSTED: the host key of sshd on %s is not known (%s; the group's "
            "is %s): somebody else may answer there; when this is the pod's own host "
            "key, give --host-keys FILE with it",
            link_peer_text(l->ssh->link), print, keyring_fingerprint(l->keys));
}

static int check_host(struct link_ssh_login *l, struct err *err)
{
    ssh_key key = NULL;
    if (ssh_get_server_publickey(l->ssh->session, &key) != SSH_OK) {
        err_set_kind(err, "KEY", 0, "the peer shows no key");
        return -1;
    }
    bool ok = trusted(l, key);
    if (!ok) {
        CLEANUP_FREE char *print = keyring_fingerprint_of(key);
        explain_untrusted(l, print, err);
    }
    ssh_key_free(key);
    return ok ? 0 : -1;
}

static void explain_kex(struct link_ssh_login *l, struct err *err)
{
    const char *why = ssh_get_error(l->ssh->session);
    if (strstr(why, "Socket error") != NULL)
        err_set_kind(
            err, "LOST", 0,
            "%s closed the connection in the SSH handshake (it may be full, or "
            "stopping)",
            link_peer_text(l->ssh->link));
    else
        err_set_kind(err, "PROTOCOL", 0, "no SSH handshake with %s: %.200s",
                     link_peer_text(l->ssh->link), why);
}

static int step_kex(struct link_ssh_login *l, struct err *err)
{
    int rc = ssh_connect(l->ssh->session);
    // libssh makes a given fd blocking; one write could then stop the whole program.
    int fd = ssh_get_fd(l->ssh->session);
    if (fd >= 0)
        proc_set_nonblock(fd);
    if (rc == SSH_AGAIN)
        return 0;
    if (rc != SSH_OK) {
        explain_kex(l, err);
        return -1;
    }
    if (check_host(l, err) < 0)
        return -1;
    link_ssh_start_polling(l->ssh);
    l->stage = LOGIN_AUTH;
    return 1;
}

// ---- authentication ---------------------------------------------------------

static void explain_refused(const struct link_ssh_login *l, struct err *err)
{
    if (l->via == NULL)
        err_set_kind(
            err, "KEY", 0,
            "the peer refused our key (%s; %zu tried): do both pods mount the same "
            "Secret?",
            keyring_fingerprint(l->keys), l->tried);
    else
        err_set_kind(
            err, "KEY", 0,
            "sshd on %s lets user %s not in with our key (%s): is its public half in "
            "%s's authorized_keys there? An sshd that is not root's lets only its own "
            "user in: give --user NAME. Secret volumes are owned by root: sshd takes "
            "authorized_keys from them for another user only with 'StrictModes no'",
            link_peer_text(l->ssh->link), l->via->user, keyring_fingerprint(l->keys),
            l->via->user);
}

static int step_auth(struct link_ssh_login *l, struct err *err)
{
    ssh_key key = keyring_private(l->keys, l->tried);
    if (key == NULL) {
        explain_refused(l, err);
        return -1;
    }
    switch (ssh_userauth_publickey(l->ssh->session, NULL, key)) {
    case SSH_AUTH_AGAIN: return 0;
    case SSH_AUTH_SUCCESS: l->stage = LOGIN_DONE; return 1;
    case SSH_AUTH_ERROR:
        if (link_ssh_check(l->ssh, err) == 0)
            err_set_kind(err, "PROTOCOL", 0, "SSH authentication failed: %.200s",
                         ssh_get_error(l->ssh->session));
        return -1;
    default: l->tried++; return 1; // denied
    }
}

// ---- all of it --------------------------------------------------------------

static const struct {
    const char *name;
    int (*step)(struct link_ssh_login *, struct err *);
} stages[] = {
    [LOGIN_TCP] = {"TCP connect", step_tcp},
    [LOGIN_KEX] = {"SSH key exchange", step_kex},
    [LOGIN_AUTH] = {"SSH authentication", step_auth},
};

int link_ssh_login_step(struct link_ssh_login *l, struct err *err)
{
    return stages[l->stage].step(l, err);
}

const char *link_ssh_login_stage_name(const struct link_ssh_login *l)
{
    return stages[l->stage].name;
}

void link_ssh_login_init(struct link_ssh_login *l, struct link *link,
                         const struct link_conf *conf, const struct link_via *via,
                         const struct sockaddr *addr, socklen_t len)
{
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    getnameinfo(addr, len, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    *l = (struct link_ssh_login){.keys = conf->keys,
                                 .via = via,
                                 .port = (uint16_t)strtoul(port, NULL, 10),
                                 .address = xstrdup(host),
                                 .dead_ms = link_core_dead_ms(link)};
}

void link_ssh_login_clear(struct link_ssh_login *l)
{
    free(l->address);
}
