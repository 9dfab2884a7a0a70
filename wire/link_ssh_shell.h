// Inside of a listener: the channels of one session on which stock clients run commands.
#ifndef MUSTER_WIRE_LINK_SSH_SHELL_H
#define MUSTER_WIRE_LINK_SSH_SHELL_H

#include "wire/link_shell.h"
#include "wire/link_ssh.h"

struct link_ssh_shells {
    struct link_ssh *ssh;
    const struct link_shell_ops *ops; // NULL: commands are refused
    void *arg;
    struct link_shell *list;
    struct ssh_channel_callbacks_struct requests; // of channels without a purpose yet
    unsigned asked;                               // commands so far
};

void link_ssh_shells_init(struct link_ssh_shells *s, const struct link_shell_ops *ops,
                          void *arg);
// A new channel: it may ask for a command.
void link_ssh_shells_offer(struct link_ssh_shells *s, ssh_channel channel);
// The channel asks for the subsystem sftp: OpenSSH's server is run, when the pod has it.
int link_ssh_shells_sftp(struct link_ssh_shells *s, ssh_channel channel);
bool link_ssh_shells_own(const struct link_ssh_shells *s, ssh_channel channel);
// From the loop: move bytes and words. How many shells ended.
unsigned link_ssh_shells_step(struct link_ssh_shells *s);
// The session is gone.
void link_ssh_shells_clear(struct link_ssh_shells *s);

#endif
