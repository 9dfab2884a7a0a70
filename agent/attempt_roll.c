// Hosts and hostfiles of the pod are right before this attempt says READY.
#include "agent/attempt_internal.h"

#include <stdlib.h>

#include "agent/handoff.h"
#include "common/mem.h"

static void on_files(void *arg, const struct err *failure, const char *note)
{
    struct attempt *at = arg;
    at->roll_wait = NULL;
    if (at->state != ATTEMPT_PREPARING)
        return;
    if (failure != NULL) {
        attempt_fail(at, failure);
        return;
    }
    at->roll_note = note != NULL ? xstrdup(note) : NULL;
    attempt_world_check(at, at->worlds[0]);
}

void attempt_roll_wait(struct attempt *at)
{
    struct agent *a = session_agent(at->session);
    at->roll_wait =
        handoff_wait(agent_handoff(a), session_claim(at->session), on_files, at);
}

void attempt_roll_end(struct attempt *at)
{
    handoff_cancel(STEAL(at->roll_wait));
    free(at->roll_note);
}
