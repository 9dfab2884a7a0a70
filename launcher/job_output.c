// The ranks' output: from the job to the user, and credit back to the agents.
#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/job_internal.h"

enum { UNREAD_MS = 5000 };

static void on_credit(void *arg, uint32_t rank, unsigned stream, size_t bytes)
{
    struct job *j = arg;
    Muster__Credit msg = MUSTER__CREDIT__INIT;
    msg.rank = rank;
    msg.stream = stream;
    msg.bytes = (uint32_t)bytes;
    job_send(j, FRAME_CREDIT, group_vertex_of(&j->group, j->at->ranks[rank].member),
             &msg.base);
}

static void on_drained(void *arg)
{
    job_event(arg, JOB_EV_DRAINED);
}

static void on_unread(int fd, short what, void *arg)
{
    struct job *j = arg;
    log_warn(j->conf.log,
             "nobody reads the output any more (%s): what ranks print there "
             "is dropped, and they go on",
             strerror(EPIPE));
}

// A reader that had enough, as with `| head`: a job that ends soon needs no word about it.
static void note_unread(struct job *j, const char *name)
{
    log_debug(j->conf.log, "%s: its reader has gone", name);
    if (j->unread != NULL)
        return;
    j->unread = loop_timer(j->conf.base, on_unread, j);
    loop_timer_arm(j->unread, UNREAD_MS);
}

// A job is not killed for a log that cannot be written; but it did not go well.
void job_output_failed(struct job *j, const char *name, int errnum)
{
    if (errnum == EPIPE) {
        note_unread(j, name);
        return;
    }
    CLEANUP_FREE char *why =
        xasprintf("cannot write to %s: %s", name, strerror(errnum));
    log_warn(j->conf.log, "%s; what ranks print there is dropped from here", why);
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
    struct output_style style = j->opts->output;
    style.go_on = j->reason != NULL; // another launcher's attempts were before
    j->output =
        output_create(j->conf.base, j->conf.places, j->at->nranks, &style, &ops, j);
}
