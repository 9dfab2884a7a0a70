// The checks that are installed beside the agent.
//
// In the build tree ../kernels/check/NAME, else ../libexec/muster/NAME, as seen from the folder of
// musterd. Each looks at its own machine alone; netcheck, which wants a partner, is none of
// that list. They give a verdict of their own by --deadline, before they are killed.
#ifndef MUSTER_AGENT_CHECK_LIST_H
#define MUSTER_AGENT_CHECK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/muster.pb-c.h"

// As many as are there, in a fixed order. timeout_ms: of each; full: they may use all of it.
// *v and the checks are the caller's (msg_free, free).
size_t check_list_installed(uint32_t timeout_ms, bool full, Muster__Check ***v);

// The path of one of them, netcheck too; NULL: it is not there. Caller frees.
char *check_list_find(const char *name);

#endif
