// Events: what a rank raises goes to all other pods; a bad end is told to all.
#include "common/log.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"

void job_notify_relay(struct job *j, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Notify *m = msg_unpack(f, &muster__notify__descriptor, &err);
    if (m == NULL) {
        log_warn(j->conf.log, "dropped an event from %s: %s",
                 group_at(&j->group, f->src)->member->name, err_text(&err));
        return;
    }
    m->origin = f->src;
    job_send(j, FRAME_NOTIFY, TREE_ALL, &m->base);
    msg_free(m);
}

void job_notify_ended(struct job *j, uint32_t number, Muster__Notify__Ended how)
{
    CLEANUP_FREE char *nspace = xstrdup(job_rank_nspace(j, number));
    Muster__Proc who = MUSTER__PROC__INIT;
    Muster__Notify m = MUSTER__NOTIFY__INIT;
    who.nspace = nspace;
    who.rank = j->at->ranks[number].rank;
    m.source = &who;
    m.ended = how;
    job_send(j, FRAME_NOTIFY, TREE_ALL, &m.base);
}
