// Options for members that are reached through a stock sshd (argp child of `muster run`).
#ifndef MUSTER_LAUNCHER_VIA_OPTS_H
#define MUSTER_LAUNCHER_VIA_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "wire/muster.pb-c.h"

struct via_opts {
    bool ssh;               // --via ssh[:PORT]
    uint16_t port;          // of members that name none
    const char *user;       // --user
    const char *agent_path; // --agent-path
    bool push;              // --push-agent
    const char *host_keys;  // --host-keys FILE; "accept"
};

void via_opts_init(struct via_opts *o);
const struct argp *via_opts_argp(void);
// --via's argument alone: -1 when it is not ssh or ssh:PORT.
int via_opts_parse_way(struct via_opts *o, const char *text);
// The first option that makes no sense without --via ssh; NULL: all is well.
const char *via_opts_stray(const struct via_opts *o);
// What an Attach says. musterd: path of this machine's own, NULL: it has none. key_dir:
// this machine's key ring. Reads --host-keys. Caller frees with msg_free.
Muster__Via *via_opts_message(const struct via_opts *o, const char *musterd,
                              const char *key_dir, struct err *err);

#endif
