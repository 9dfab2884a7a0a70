// Commands that stock ssh clients run through a listener (`ssh -p 7822 pod CMD`): pdsh,
// Hydra's and Open MPI's rsh starters.
//
// Who has shown the group's key may ask, whatever user name he gives. The listener moves
// bytes and words; the owner of the ops runs the commands. States of a shell, on its
// channel: REQUESTED -> RUNNING -> ENDED (its status is known, output goes out) -> gone;
// from any of them -> gone when the client leaves. The ops come from the loop only and may
// call everything here.
#ifndef MUSTER_WIRE_LINK_SHELL_H
#define MUSTER_WIRE_LINK_SHELL_H

#include <stddef.h>

#include "common/err.h"
#include "common/strv.h"
#include "wire/link.h"

struct link_shell;

struct link_shell_ops {
    // Run `command` (NULL: a shell that reads its commands from stdin) with env (of the
    // client's requests) over its environment. NULL with err: the client gets the text.
    void *(*start)(void *server_arg, struct link_shell *sh, const char *command,
                   const struct strv *env, struct err *err);
    // How many bytes of stdin it takes now; and then so many. n 0: there are no more.
    size_t (*room)(void *run);
    void (*input)(void *run, const void *p, size_t n);
    // What link_shell_write did not take is taken now, or some of it.
    void (*drained)(void *run);
    void (*signal)(void *run, int signo);
    // Once: all was told, or the client has gone. The shell is no more.
    void (*gone)(void *run);
};

// Without it every command is refused.
void link_server_serve_shells(struct link_server *s, const struct link_shell_ops *ops,
                              void *server_arg);
// Output of stream 1 or 2. Returns how much was taken.
size_t link_shell_write(struct link_shell *sh, int stream, const void *p, size_t n);
// It ended with this wait(2) status; told after all output.
void link_shell_end(struct link_shell *sh, int status);
// room() has grown.
void link_shell_wake(struct link_shell *sh);

#endif
