// The listening end of links over SSH: strangers are held small until they show the
// group's key; what a channel is for, its request says.
#include <errno.h>
#include <event2/event.h>
#include <libssh/server.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/keyring.h"
#include "wire/link_sock.h"
#include "wire/link_ssh_shell.h"

enum {
    STRANGERS_MAX = 64, // connections that have not shown a key yet
    AUTH_TRIES_MAX = 3,
    CHANNELS_MAX = 20, // of one session at once
    ACCEPTS_A_WAKE = 16,
    ACCEPT_PAUSE_MS = 200, // when the process has no fd left
    HANDSHAKE_MS = 500,    // an honest stranger needs so long, at most
};

struct link_server {
    struct link_conf conf;
    int fd;
    ssh_bind bind; // gives each session the host keys
    struct event *readable, *resume;
    link_accept_fn accept;
    link_find_fn find; // NULL: no link comes back
    void *arg;
    const struct link_shell_ops *shell_ops; // NULL: no commands
    void *shell_arg;
    struct peer *peers; // that have not greeted yet
    unsigned strangers;
};

enum stage { STAGE_KEX, STAGE_AUTH, STAGE_CHANNELS };

// A connection; lives as long as its transport.
struct peer {
    struct link_server *server; // NULL once the link is its owner's, or the server gone
    struct peer *prev, *next;
    struct link *link;
    struct link_ssh *ssh;
    const struct keyring *keys;
    enum stage stage;
    unsigned denied, channels;
    uint64_t since;
    struct ssh_server_callbacks_struct callbacks;
    struct ssh_channel_callbacks_struct requests;
    struct link_ssh_shells shells; // of a stock client
};

// ---- authentication ---------------------------------------------------------

static int deny(struct peer *p, const char *kind, const char *why)
{
    if (++p->denied >= AUTH_TRIES_MAX)
        link_ssh_break(p->ssh, kind, "%s", why);
    return SSH_AUTH_DENIED;
}

static int on_none(ssh_session session, const char *user, void *arg)
{
    return deny(arg, "KEY", "the peer shows no key");
}

static int on_password(ssh_session session, const char *user, const char *password,
                       void *arg)
{
    return deny(arg, "KEY", "the peer tries passwords");
}

static int on_key(ssh_session session, const char *user, struct ssh_key_struct *key,
                  char signature, void *arg)
{
    struct peer *p = arg;
    if (signature == SSH_PUBLICKEY_STATE_WRONG || !keyring_accepts(p->keys, key)) {
        CLEANUP_FREE char *print = keyring_fingerprint_of(key);
        CLEANUP_FREE char *why = xasprintf(
            "the peer's key is not in the key ring of this group (%s)", print);
        return deny(p, "KEY", why);
    }
    if (signature != SSH_PUBLICKEY_STATE_VALID)
        return SSH_AUTH_SUCCESS; // only asked whether this key would do
    if (p->stage == STAGE_AUTH) {
        p->stage = STAGE_CHANNELS;
        if (p->server != NULL)
            p->server->strangers--;
    }
    return SSH_AUTH_SUCCESS;
}

// ---- channels ---------------------------------------------------------------

static ssh_channel on_channel(ssh_session session, void *arg)
{
    struct peer *p = arg;
    if (p->channels >= CHANNELS_MAX)
        return NULL;
    ssh_channel channel = ssh_channel_new(session);
    if (channel == NULL)
        return NULL;
    p->channels++;
    link_ssh_adopt(p->ssh, channel);
    ssh_add_channel_callbacks(channel, &p->requests);
    link_ssh_shells_offer(&p->shells, channel);
    return channel;
}

static int serve_frames(struct peer *p, ssh_channel channel, enum link_ssh_use use)
{
    struct link_ssh_channel *c = &p->ssh->channels[use];
    if (c->channel != NULL || p->shells.list != NULL)
        return -1;
    c->channel = channel;
    return 0;
}

static int serve_control(struct peer *p, ssh_channel channel)
{
    return serve_frames(p, channel, LINK_SSH_CONTROL);
}

static int serve_bulk(struct peer *p, ssh_channel channel)
{
    return serve_frames(p, channel, LINK_SSH_BULK);
}

// What a subsystem request may ask for. 0: the channel is served.
static int on_subsystem(ssh_session session, ssh_channel channel, const char *name,
                        void *arg)
{
    static int (*const serve[])(struct peer *, ssh_channel) = {
        [LINK_SSH_CONTROL] = serve_control,
        [LINK_SSH_BULK] = serve_bulk,
    };
    for (size_t i = 0; i < sizeof serve / sizeof *serve; i++)
        if (strcmp(name, link_ssh_subsystems[i]) == 0)
            return serve[i](arg, channel);
    struct peer *p = arg;
    return strcmp(name, "sftp") == 0 ? link_ssh_shells_sftp(&p->shells, channel) : -1;
}

// ---- stepping ---------------------------------------------------------------

static int explain_kex(struct peer *p, struct err *err)
{
    err_set_kind(err, "PROTOCOL", 0, "no SSH handshake: %.200s",
                 ssh_get_error(p->ssh->session));
    return -1;
}

static int step_kex(struct peer *p, struct err *err)
{
    int rc = ssh_handle_key_exchange(p->ssh->session);
    if (rc == SSH_AGAIN)
        return link_ssh_check(p->ssh, err);
    if (rc != SSH_OK)
        return explain_kex(p, err);
    link_ssh_start_polling(p->ssh);
    p->stage = STAGE_AUTH;
    return 1;
}

static int step_polling(struct peer *p, struct err *err)
{
    int rc = ssh_event_dopoll(p->ssh->poll, 0);
    if (link_ssh_check(p->ssh, err) < 0)
        return -1;
    p->channels -= link_ssh_shells_step(&p->shells);
    if (p->shells.asked > 0)
        link_core_no_deadline(p->link);
    p->ssh->open = p->ssh->channels[LINK_SSH_CONTROL].channel != NULL &&
                   p->ssh->channels[LINK_SSH_BULK].channel != NULL;
    return rc == SSH_OK ? 1 : 0;
}

static int server_step(void *state, struct err *err)
{
    struct peer *p = state;
    // A stranger could else make our answers grow without end.
    if (p->stage != STAGE_CHANNELS) {
        int rc = ssh_blocking_flush(p->ssh->session, 0);
        p->ssh->hold_reading = rc != SSH_OK;
        if (rc != SSH_OK)
            return link_ssh_check(p->ssh, err);
    }
    return p->stage == STAGE_KEX ? step_kex(p, err) : step_polling(p, err);
}

static const char *server_stage(const void *state)
{
    static const char *const names[] = {
        [STAGE_KEX] = "SSH key exchange",
        [STAGE_AUTH] = "SSH authentication",
        [STAGE_CHANNELS] = "SSH channels",
    };
    return names[((const struct peer *)state)->stage];
}

static void server_destroy_peer(void *state)
{
    struct peer *p = state;
    link_ssh_shells_clear(&p->shells);
    if (p->server != NULL) {
        p->server->strangers -= p->stage != STAGE_CHANNELS ? 1 : 0;
        DL_DELETE(p->server->peers, p);
    }
    free(p);
}

static bool server_owns(const void *state, ssh_channel channel)
{
    return link_ssh_shells_own(&((const struct peer *)state)->shells, channel);
}

static void leave_server(struct peer *p)
{
    DL_DELETE(p->server->peers, p);
    p->server = NULL;
}

static void server_rebind(void *state, struct link *l)
{
    struct peer *p = state;
    leave_server(p);
    p->link = l;
}

static const struct link_ssh_role server_role = {.step = server_step,
                                                 .stage = server_stage,
                                                 .owns = server_owns,
                                                 .rebind = server_rebind,
                                                 .destroy = server_destroy_peer};

// ---- until a link has an owner ----------------------------------------------

static int pending_up(void *arg, const Muster__Hello *hello, struct err *err)
{
    err_set(err, "this link has no owner");
    return -1;
}

static void pending_frame(void *arg, const struct frame *f)
{
}

// Who connects and says nothing is a probe of kubelet's, every few seconds for ever.
static bool said_nothing(const struct peer *p)
{
    return p->stage == STAGE_KEX && ssh_get_clientbanner(p->ssh->session) == NULL;
}

static void pending_down(void *arg, const struct err *why)
{
    struct peer *p = arg;
    if (p->server != NULL && said_nothing(p))
        log_debug(p->server->conf.log, "link %s: went without a word",
                  link_peer_text(p->link));
    else if (p->server != NULL && p->shells.asked > 0)
        log_info(p->server->conf.log, "ssh client %s went after %u commands",
                 link_peer_text(p->link), p->shells.asked);
    else if (p->server != NULL)
        log_info(p->server->conf.log, "link %s: not let in: %s",
                 link_peer_text(p->link), err_text(why));
    link_destroy(p->link);
}

static const struct link_ops pending_ops = {
    .up = pending_up, .frame = pending_frame, .down = pending_down};

static int on_greeted(void *arg, struct link *l, const struct link_ops **ops,
                      void **link_arg)
{
    struct peer *p = arg;
    const struct link_ops *theirs = p->server->accept(p->server->arg, l, link_arg);
    // The owner may have destroyed the server in there, and this link with it.
    if (theirs == NULL || p->server == NULL) {
        *link_arg = p;
        return -1;
    }
    *ops = theirs;
    leave_server(p);
    return 0;
}

static struct link *on_find(void *arg, const uint8_t *session)
{
    struct peer *p = arg;
    return p->server->find(p->server->arg, session);
}

// ---- listening --------------------------------------------------------------

static ssh_session make_session(struct link_server *s, struct peer *p, int fd)
{
    ssh_session session = ssh_new();
    if (session == NULL)
        return NULL;
    p->callbacks.userdata = p;
    p->callbacks.auth_none_function = on_none;
    p->callbacks.auth_password_function = on_password;
    p->callbacks.auth_pubkey_function = on_key;
    p->callbacks.channel_open_request_session_function = on_channel;
    ssh_callbacks_init(&p->callbacks);
    p->requests.userdata = p;
    p->requests.channel_subsystem_request_function = on_subsystem;
    ssh_callbacks_init(&p->requests);
    ssh_set_auth_methods(session, SSH_AUTH_METHOD_PUBLICKEY);
    if (ssh_set_server_callbacks(session, &p->callbacks) == SSH_OK &&
        ssh_bind_accept_fd(s->bind, session, fd) == SSH_OK)
        return session;
    ssh_free(session);
    return NULL;
}

static void welcome(struct link_server *s, int fd, const char *text)
{
    struct peer *p = xcalloc(1, sizeof *p);
    link_ssh_shells_init(&p->shells, s->shell_ops, s->shell_arg);
    ssh_session session = make_session(s, p, fd);
    if (session == NULL) {
        log_warn(s->conf.log, "link %s: cannot be served: %s", text,
                 ssh_get_error(s->bind));
        free(p);
        return;
    }
    char local[LINK_SOCK_TEXT];
    link_sock_local(fd, local);
    p->server = s;
    p->since = loop_now_ms();
    p->keys = s->conf.keys;
    p->link = link_core_create(&s->conf, text, LINK_OPENING, &pending_ops, p);
    link_core_set_local(p->link, local);
    link_core_set_greeter(p->link, on_greeted, p);
    if (s->find != NULL)
        link_core_set_finder(p->link, on_find);
    link_sock_tune(fd, link_core_dead_ms(p->link));
    p->ssh = link_ssh_create(p->link, s->conf.base, fd, &server_role, p);
    p->shells.ssh = p->ssh;
    link_ssh_set_session(p->ssh, session);
    DL_APPEND(s->peers, p);
    s->strangers++;
    link_ssh_wake(p->ssh);
}

static bool same_host(const char *a, const char *b)
{
    size_t len = (size_t)(strrchr(a, ':') - a);
    return len == (size_t)(strrchr(b, ':') - b) && strncmp(a, b, len) == 0;
}

// Of the host with most strangers the one that came first.
static struct peer *oldest_of_the_crowd(struct link_server *s)
{
    struct peer *best = NULL, *p, *q;
    unsigned most = 0;
    DL_FOREACH (s->peers, p) {
        unsigned n = 0;
        DL_FOREACH (s->peers, q)
            n += q->stage != STAGE_CHANNELS &&
                 same_host(link_peer_text(p->link), link_peer_text(q->link));
        if (p->stage == STAGE_CHANNELS || n <= most)
            continue;
        most = n;
        best = p;
    }
    return best;
}

// Whoever sits at the door and says nothing keeps nobody out: another host's newcomer
// takes the place of one of the crowd, one of its own host when that had its time.
static bool make_room(struct link_server *s, const char *newcomer)
{
    struct peer *p = s->strangers < STRANGERS_MAX ? NULL : oldest_of_the_crowd(s);
    if (p == NULL)
        return true;
    bool had_its_time = loop_now_ms() - p->since >= HANDSHAKE_MS;
    bool evict = had_its_time || !same_host(newcomer, link_peer_text(p->link));
    log_warn(s->conf.log, "link %s: closed, %u others have not shown a key yet",
             evict ? link_peer_text(p->link) : newcomer, s->strangers);
    if (evict)
        link_destroy(p->link);
    return evict;
}

static void on_acceptable(int lfd, short what, void *arg)
{
    struct link_server *s = arg;
    for (int i = 0; i < ACCEPTS_A_WAKE; i++) {
        struct sockaddr_storage addr;
        socklen_t len = sizeof addr;
        char text[LINK_SOCK_TEXT];
        int fd = accept4(s->fd, (struct sockaddr *)&addr, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            log_warn(s->conf.log, "cannot accept a link: %s", strerror(errno));
            event_del(s->readable);
            loop_timer_arm(s->resume, ACCEPT_PAUSE_MS);
        }
        if (fd < 0)
            return;
        link_sock_text((struct sockaddr *)&addr, len, text);
        if (make_room(s, text))
            welcome(s, fd, text);
        else
            close(fd);
    }
}

static void on_resume(int fd, short what, void *arg)
{
    event_add(((struct link_server *)arg)->readable, NULL);
}

// Of each type the oldest key: members whose Secret is not updated yet know no other.
static ssh_bind make_bind(const struct keyring *keys, struct err *err)
{
    static const int off = 0;
    ssh_bind bind = ssh_bind_new();
    int rc = bind == NULL
                 ? -1
                 : ssh_bind_options_set(bind, SSH_BIND_OPTIONS_PROCESS_CONFIG, &off);
    ssh_key key;
    for (size_t i = 0; rc == 0 && (key = keyring_private(keys, i)) != NULL; i++) {
        ssh_key copy = ssh_key_dup(key);
        rc = ssh_bind_options_set(bind, SSH_BIND_OPTIONS_IMPORT_KEY, copy);
        if (rc != 0)
            ssh_key_free(copy);
    }
    if (rc == 0)
        return bind;
    err_set_kind(err, "LISTEN", 125, "cannot serve with the key ring: %s",
                 bind != NULL ? ssh_get_error(bind) : "out of memory");
    ssh_bind_free(bind);
    return NULL;
}

struct link_server *link_listen(const struct link_conf *conf,
                                const struct sockaddr *addr, socklen_t len,
                                link_accept_fn accept, void *server_arg,
                                struct err *err)
{
    ssh_bind bind = make_bind(conf->keys, err);
    if (bind == NULL)
        return NULL;
    int fd = link_sock_listen(addr, len, err);
    if (fd < 0) {
        ssh_bind_free(bind);
        return NULL;
    }
    struct link_server *s = xcalloc(1, sizeof *s);
    s->conf = *conf;
    s->fd = fd;
    s->bind = bind;
    s->accept = accept;
    s->arg = server_arg;
    s->readable = event_new(conf->base, fd, EV_READ | EV_PERSIST, on_acceptable, s);
    s->resume = loop_timer(conf->base, on_resume, s);
    event_add(s->readable, NULL);
    return s;
}

void link_server_serve_shells(struct link_server *s, const struct link_shell_ops *ops,
                              void *server_arg)
{
    s->shell_ops = ops;
    s->shell_arg = server_arg;
}

void link_server_let_resume(struct link_server *s, link_find_fn find)
{
    s->find = find;
}

void link_server_address(const struct link_server *s, struct sockaddr_storage *addr)
{
    socklen_t len = sizeof *addr;
    memset(addr, 0, sizeof *addr);
    getsockname(s->fd, (struct sockaddr *)addr, &len);
}

void link_server_destroy(struct link_server *s)
{
    if (s == NULL)
        return;
    struct peer *p, *next;
    DL_FOREACH_SAFE (s->peers, p, next) {
        p->server = NULL;
        link_destroy(p->link);
    }
    event_free(s->readable);
    loop_timer_free(s->resume);
    ssh_bind_free(s->bind);
    close(s->fd);
    free(s);
}
