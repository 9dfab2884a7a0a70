// The ranks' output: from the job to the user, and credit back to the agents.
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "launcher/job_internal.h"

static void on_credit(void *arg, uint32_t rank, unsigned stream, size_t bytes)
{
    struct job *j = arg;
    Muster__Credit msg = MUSTER__CREDIT__INIT;
    msg.rank = rank;
    msg.stream = stream;
    msg.bytes = (uint32_t)bytes;
    job_send(j, FRAME_CREDIT, j->ranks[rank].member + 1, &msg.base);
}

static void on_drained(void *arg)
{
    job_event(arg, JOB_EV_DRAINED);
}

// A job is not killed for a log that cannot be written; but it did not go well, unless the
// reader simply had enough (EPIPE).
static void on_broken(void *arg, int fd, int errnum)
{
    struct job *j = arg;
    const char *name = fd == 1 ? "stdout" : "stderr";
    log_warn(j->conf.log,
             "cannot write to %s: %s; the ranks' output is dropped from here", name,
             strerror(errnum));
    if (errnum == EPIPE || j->output_lost != NULL)
        return;
    j->output_lost = xasprintf("output of the ranks was lost: cannot write to %s: %s",
                               name, strerror(errnum));
}

void job_output_start(struct job *j)
{
    static const struct output_ops ops = {on_credit, on_drained, on_broken};
    j->output = output_create(j->conf.base, 1, 2, j->nranks, &ops, j);
}
