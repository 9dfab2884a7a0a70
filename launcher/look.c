// Looking at a source.
#include "launcher/look.h"

#include <event2/event.h>

#include "common/loop.h"

struct look {
    struct event_base *base;
    struct event *deadline;
    struct members *members; // newest
    struct err *err;
    bool have, late, failed; // an update came; the wait is over; nothing more comes
    bool once;
    size_t least;
};

bool look_complete(const struct members *m, size_t least)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].addr.ss_family == 0)
            return false;
    return m->n > 0 && m->n >= least;
}

static void on_update(void *arg, const struct members *members)
{
    struct look *l = arg;
    members_copy(l->members, members);
    l->have = true;
    if (l->late || l->once || look_complete(members, l->least))
        event_base_loopbreak(l->base);
}

static void on_failed(void *arg, const struct err *err)
{
    struct look *l = arg;
    err_copy(l->err, err);
    l->failed = true;
    event_base_loopbreak(l->base);
}

// The first round is waited for in any case: it is bounded by the DNS module.
static void on_deadline(int fd, short what, void *arg)
{
    struct look *l = arg;
    l->late = true;
    if (l->have)
        event_base_loopbreak(l->base);
}

int look_up(const struct source_spec *spec, size_t least, uint32_t wait_ms,
            struct members *out, struct err *err)
{
    static const struct source_ops ops = {.update = on_update, .failed = on_failed};
    struct look l = {.members = out, .err = err, .once = wait_ms == 0, .least = least};
    l.base = loop_create();
    l.deadline = loop_timer(l.base, on_deadline, &l);
    struct source *s = source_start(l.base, spec, &ops, &l, NULL, err);
    if (s != NULL) {
        loop_timer_arm(l.deadline, wait_ms);
        event_base_dispatch(l.base);
    }
    source_destroy(s);
    loop_timer_free(l.deadline);
    loop_destroy(l.base);
    return s == NULL || l.failed ? -1 : 0;
}
