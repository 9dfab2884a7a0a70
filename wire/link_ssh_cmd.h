// One command on a channel of its own of an SSH session that is logged in.
//
// States: OPENING -> REQUESTING -> RUNNING -> ended. Its stdout is collected in `out`
// until it is told to carry a link's frames (link_ssh_cmd_carry); the last of its stderr
// in `said`. The callbacks only note things, as link_ssh.h asks.
#ifndef MUSTER_WIRE_LINK_SSH_CMD_H
#define MUSTER_WIRE_LINK_SSH_CMD_H

#include "wire/link_ssh.h"

struct log;

enum link_ssh_cmd_state { CMD_OPENING, CMD_REQUESTING, CMD_RUNNING };

struct link_ssh_cmd {
    struct link_ssh *ssh;
    struct log *log;
    char *command; // owned
    enum link_ssh_cmd_state state;
    ssh_channel channel;
    struct buf out;  // stdout
    struct buf said; // stderr, bounded
    int status;      // exit status, 128 + signal; -1: not known
    bool eof, closed, carries;
    struct ssh_channel_callbacks_struct callbacks;
};

// `command` is taken over. It starts with the first step.
struct link_ssh_cmd *link_ssh_cmd_create(struct link_ssh *s, struct log *log,
                                         char *command);
// The channel goes with it, unless it carries frames (then it is the session's).
void link_ssh_cmd_destroy(struct link_ssh_cmd *c); // NULL-safe
// As link_ssh_role.step; 1 while it runs and something came.
int link_ssh_cmd_step(struct link_ssh_cmd *c, struct err *err);
bool link_ssh_cmd_ended(const struct link_ssh_cmd *c);
// Write to its stdin what goes now of n bytes; how many did, -1 with err.
ssize_t link_ssh_cmd_write(struct link_ssh_cmd *c, const void *p, size_t n,
                           struct err *err);
void link_ssh_cmd_eof(struct link_ssh_cmd *c);
// From now on its stdin and stdout are the link's one channel, what is left in `out`
// included, its stderr goes to the log, and its end ends the link.
void link_ssh_cmd_carry(struct link_ssh_cmd *c);

#endif
