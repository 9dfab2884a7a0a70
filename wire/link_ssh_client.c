// The dialling end of a link over SSH to a musterd: log in, open both channels.
#include <stdlib.h>

#include "common/mem.h"
#include "wire/link_redial.h"
#include "wire/link_sock.h"
#include "wire/link_ssh_login.h"

enum opening { OPENING_CHANNEL, OPENING_SUBSYSTEM, OPENING_DONE };

struct client {
    struct link_ssh *ssh;
    struct link_ssh_login login;
    enum opening opening[LINK_SSH_USES];
};

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

static int client_step(void *state, struct err *err)
{
    struct client *c = state;
    if (c->login.stage != LOGIN_DONE)
        return link_ssh_login_step(&c->login, err);
    return step_channels(c, err);
}

static const char *client_stage(const void *state)
{
    const struct client *c = state;
    return c->login.stage != LOGIN_DONE ? link_ssh_login_stage_name(&c->login)
                                        : "SSH channels";
}

static void client_destroy(void *state)
{
    struct client *c = state;
    link_ssh_login_clear(&c->login);
    free(c);
}

static const struct link_ssh_role client_role = {
    .step = client_step, .stage = client_stage, .destroy = client_destroy};

struct link *link_dial(const struct link_conf *conf, const struct sockaddr *addr,
                       socklen_t len, const struct link_ops *ops, void *arg)
{
    char peer[LINK_SOCK_TEXT];
    ERR_AUTO err = ERR_INIT;
    link_sock_text(addr, len, peer);
    struct link *l = link_core_create(conf, peer, LINK_DIALING, ops, arg);
    int fd = link_sock_connect(addr, len, peer, &err);
    struct client *c = xcalloc(1, sizeof *c);
    link_ssh_login_init(&c->login, l, conf, NULL, addr, len);
    c->ssh = c->login.ssh = link_ssh_create(l, conf->base, fd, &client_role, c);
    if (conf->grace_ms > 0)
        link_core_set_redial(l, link_redial_create(l, conf, addr, len));
    if (fd < 0)
        link_core_fail_later(l, &err);
    return l;
}
