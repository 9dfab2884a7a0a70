// Options of the commands that ask a running job: --key, --job, and the agent's address.
#ifndef MUSTER_LAUNCHER_ASK_OPTS_H
#define MUSTER_LAUNCHER_ASK_OPTS_H

#include <argp.h>

#include "launcher/ask.h"

struct ask_opts {
    const char *key; // NULL: not given
    const char *job;
    const char *at; // --agent
};

// A child parser; its input is the struct ask_opts.
const struct argp *ask_opts_argp(void);
// Without --key, for a command that has another one.
const struct argp *ask_opts_argp_keyless(void);
// Put the question, with the job that was named. As ask_job().
int ask_opts_put(const struct ask_opts *o, Muster__Ask *question, char **text,
                 struct err *err);
// An order for a member (REPLACE, DRAIN): prints what comes of it. Returns the exit code
// of the command `name`: 0, 1 refused, 125 nobody could be asked.
int ask_opts_order(const struct ask_opts *o, const char *name, Muster__Ask__Op op,
                   const char *member, const char *reason);

#endif
