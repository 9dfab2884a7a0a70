// The first part of every dial over SSH: TCP, key exchange, the peer's host key, our key.
//
// States: TCP -> KEX -> AUTH -> DONE. A part of a role's state (link_ssh_client.c,
// link_ssh_exec.c), which gives it its steps until it is done.
#ifndef MUSTER_WIRE_LINK_SSH_LOGIN_H
#define MUSTER_WIRE_LINK_SSH_LOGIN_H

#include "wire/link_ssh.h"

enum link_ssh_login_stage { LOGIN_TCP, LOGIN_KEX, LOGIN_AUTH, LOGIN_DONE };

struct link_ssh_login {
    struct link_ssh *ssh;
    const struct keyring *keys;
    const struct link_via *via; // NULL: the peer is a musterd
    uint16_t port;              // of the peer; for known_hosts, with via
    char *address;              // the same, a literal; owned
    uint32_t dead_ms;
    enum link_ssh_login_stage stage;
    size_t tried; // private keys of the ring
};

void link_ssh_login_init(struct link_ssh_login *l, struct link *link,
                         const struct link_conf *conf, const struct link_via *via,
                         const struct sockaddr *addr, socklen_t len);
void link_ssh_login_clear(struct link_ssh_login *l);
// As link_ssh_role.step.
int link_ssh_login_step(struct link_ssh_login *l, struct err *err);
const char *link_ssh_login_stage_name(const struct link_ssh_login *l);

#endif
