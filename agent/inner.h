// What an agent needs to dial children of its own: keys, and the way to them.
//
// An agent that listens has keys. One that sshd started (musterd --stdio) has none: an
// inner vertex of that kind reads the ring where the launcher says that the Secret is
// mounted.
#ifndef MUSTER_AGENT_INNER_H
#define MUSTER_AGENT_INNER_H

#include "common/err.h"
#include "wire/muster.pb-c.h"

struct keyring;
struct log;
struct via;

struct inner {
    struct keyring *own;        // read for this; NULL: none was
    const struct keyring *keys; // to dial with
    struct via *via;            // NULL: agents listen
};

// keys: the agent's, NULL: none. *a is borrowed and outlives it. On failure *in is empty.
int inner_open(struct inner *in, const Muster__Attach *a, const struct keyring *keys,
               struct log *log, struct err *err);
void inner_close(struct inner *in); // also when empty

#endif
