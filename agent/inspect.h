// Inspections of this pod: one at a time, each by an inspector of its own (inspector.h).
//
// Owned by the agent; who asks are its sessions (session_inspect.c). States:
//   IDLE --start--> RUNNING --gone--> IDLE, and the next order starts
//                   RUNNING --cancel, late--> ENDING --gone--> IDLE
// IDLE: there is no inspector. RUNNING: there is one. ENDING: nobody wants its verdict any more, or
// that did not come in time; its socket is closed, so that it kills its checks and ends. One that
// does not is killed, and what it leaves falls to the agent, which kills that.
//
// A GPU is looked at by one check at a time, and has to be free before ranks are prepared: that is
// why all inspections of a pod are in one place, and why inspect_is_ending() is asked then.
#ifndef MUSTER_AGENT_INSPECT_H
#define MUSTER_AGENT_INSPECT_H

#include <stdbool.h>

#include "wire/muster.pb-c.h"

struct agent;
struct inspect;
struct inspect_order;

struct inspect *inspect_create(struct agent *a);
void inspect_destroy(struct inspect *i); // NULL-safe; nobody is told

// `done` comes once, from the loop, with the verdict (borrowed), after which the order is gone.
// Not after inspect_cancel().
typedef void (*inspect_done_fn)(void *arg, const Muster__Verdict *v);
// Takes `m` over.
struct inspect_order *inspect_add(struct inspect *i, Muster__Inspect *m,
                                  inspect_done_fn done, void *arg);
void inspect_cancel(struct inspect_order *o); // NULL-safe
// The same, and `done` comes, at once, with a verdict that nothing could be run, as `why` says.
void inspect_refuse(struct inspect_order *o, const char *why);
// Checks that nobody wants any more still run; agent_look_again() follows.
bool inspect_is_ending(const struct inspect *i);

#endif
