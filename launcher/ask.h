// One question to a running job: put to an agent that the job holds, answered by its
// launcher (muster.proto, Ask).
#ifndef MUSTER_LAUNCHER_ASK_H
#define MUSTER_LAUNCHER_ASK_H

#include <sys/socket.h>

#include "common/err.h"
#include "wire/muster.pb-c.h"

enum {
    ASK_BOUND_MS = 10000,    // from dialling to the answer
    ASK_TEXT_MAX = 16 << 20, // bytes of an answer
    ASK_PORT_MAX = 65535,
    ASK_NOT = -1, // nobody could be asked
};

struct ask {
    const char *key_dir; // NULL: keyring_default_dir()
    struct sockaddr_storage agent;
    socklen_t agent_len;
};

// "ADDRESS", "ADDRESS:PORT" or "PORT", an address being a name, too, and IPv6 in brackets
// where a port follows; NULL: this pod's. Names are looked up.
int ask_find(struct ask *a, const char *where, struct err *err);
// Runs a loop of its own. 0: *text (caller frees) is the answer; positive: refused, or
// there is no job, *text says why; ASK_NOT with err.
int ask_job(const struct ask *a, const Muster__Ask *question, char **text,
            struct err *err);

#endif
