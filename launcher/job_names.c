// Publish and lookup: the launcher holds the store.
#include <stdlib.h>

#include <event2/event.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"

// The bound of one lookup that waits. It frees itself when it fires; all go with the job.
struct job_names_bound {
    struct job *job;
    struct event *timer;
    uint32_t vertex;
    uint64_t id;
    struct job_names_bound *prev, *next;
};

static void bound_free(struct job_names_bound *b)
{
    loop_timer_free(b->timer);
    free(b);
}

static void on_done(void *arg, uint32_t vertex, const Muster__NamesDone *done)
{
    job_send(arg, FRAME_NAMES_DONE, vertex, &done->base);
}

static void on_bound(evutil_socket_t fd, short what, void *arg)
{
    struct job_names_bound *b = arg;
    DL_DELETE(b->job->at->name_bounds, b);
    namestore_expire(b->job->at->names, b->vertex, b->id);
    bound_free(b);
}

static void arm(struct job *j, uint32_t vertex, const Muster__Names *m)
{
    struct job_names_bound *b = xcalloc(1, sizeof *b);
    *b = (struct job_names_bound){.job = j, .vertex = vertex, .id = m->id};
    b->timer = loop_timer(j->conf.base, on_bound, b);
    loop_timer_arm(b->timer, (uint64_t)m->timeout_s * 1000);
    DL_APPEND(j->at->name_bounds, b);
}

void job_names_start(struct job *j)
{
    j->at->names = namestore_create(NULL, on_done, j);
}

void job_names_end(struct job_attempt *at)
{
    struct job_names_bound *b, *next;
    DL_FOREACH_SAFE (at->name_bounds, b, next)
        bound_free(b);
    namestore_destroy(at->names);
}

void job_names_request(struct job *j, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Names *m = msg_unpack(f, &muster__names__descriptor, &err);
    if (m == NULL)
        log_warn(j->conf.log, "dropped a request for published names from %s: %s",
                 group_at(&j->group, f->src)->member->name, err_text(&err));
    else if (namestore_request(j->at->names, f->src, m) && m->timeout_s > 0)
        arm(j, f->src, m);
    msg_free(m);
}
