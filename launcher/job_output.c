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
    job_send(j, FRAME_CREDIT, j->at->ranks[rank].member + 1, &msg.base);
}

static void on_drained(void *arg)
{
    job_event(arg, JOB_EV_DRAINED);
}

// A job is not killed for a log that cannot be written; but it did not go well, unless the
// reader simply had enough (EPIPE).
void job_output_failed(struct job *j, const char *name, int errnum)
{
    CLEANUP_FREE char *why =
        xasprintf("cannot write to %s: %s", name, strerror(errnum));
    log_warn(j->conf.log, "%s; what ranks print there is dropped from here", why);
    if (errnum != EPIPE)
        job_output_lost(j, why);
}

static void on_broken(void *arg, const char *name, int errnum)
{
    job_output_failed(arg, name, errnum);
}

void job_output_lost(struct job *j, const char *why)
{
    if (j->lost_output == NULL)
        j->lost_output = xstrdup(why);
}

void job_output_start(struct job *j)
{
    static const struct output_ops ops = {on_credit, on_drained, on_broken};
    j->output = output_create(j->conf.base, j->conf.places, j->at->nranks,
                              &j->opts->output, &ops, j);
}
