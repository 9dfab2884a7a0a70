// Two places, one timer.
#include "agent/warm.h"

#include <event2/event.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"

// Which of them an attempt wants.
enum { PLAIN, WITH_PMIXD, PLACES };

struct place {
    struct warm *warm;
    struct kit kit;
    struct agent_child *child; // NULL: empty
    struct event *ready;       // muster-pmixd says that libpmix has started
    uint64_t began;            // loop_now_ms()
};

struct warm {
    struct agent *agent;
    struct place places[PLACES];
    struct event *fill;
    bool begun;
};

static const struct agent_conf *conf_of(const struct warm *w)
{
    return agent_conf(w->agent);
}

static void leave(struct place *p)
{
    if (p->ready != NULL)
        event_free(p->ready);
    p->ready = NULL;
    p->child = NULL;
}

static void fill_in(struct warm *w, uint64_t ms)
{
    if (w->begun)
        loop_timer_arm(w->fill, ms);
}

void warm_again(struct warm *w)
{
    fill_in(w, WARM_PAUSE_MS);
}

static void on_gone(void *arg, int status)
{
    struct place *p = arg;
    kit_close(&p->kit);
    leave(p);
    fill_in(p->warm, WARM_PAUSE_MS);
}

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
    struct place *p = arg;
    if (!kit_is_dead(&p->kit))
        log_debug(conf_of(p->warm)->log, "a PMIx server stands by after %llu ms",
                  (unsigned long long)(loop_now_ms() - p->began));
}

static int start(struct warm *w, bool pmixd, struct kit *kit, struct err *err)
{
    return kit_start(kit, pmixd ? agent_pmixd(w->agent) : NULL, conf_of(w)->environ,
                     err);
}

static void fill(struct warm *w, size_t which)
{
    struct place *p = &w->places[which];
    ERR_AUTO err = ERR_INIT;
    if (p->child != NULL || (which == WITH_PMIXD && agent_pmixd(w->agent) == NULL))
        return;
    p->began = loop_now_ms();
    if (start(w, which == WITH_PMIXD, &p->kit, &err) < 0) {
        log_warn(conf_of(w)->log, "nothing stands by: %s", err_text(&err));
        return; // the next attempt tries again
    }
    p->child = agent_watch_child(w->agent, p->kit.pid, on_gone, p);
    if (which != WITH_PMIXD)
        return;
    p->ready = event_new(conf_of(w)->base, p->kit.pmixd, EV_READ, on_ready, p);
    event_add(p->ready, NULL);
}

static void on_fill(evutil_socket_t fd, short what, void *arg)
{
    for (size_t i = 0; i < PLACES; i++)
        fill(arg, i);
}

// The kit of the place, if it lives: it is the caller's.
static struct agent_child *take(struct place *p, struct kit *kit)
{
    struct agent_child *child = p->child;
    if (child == NULL)
        return NULL;
    leave(p);
    *kit = p->kit;
    if (!kit_is_dead(kit))
        return child;
    agent_tell_child(child, NULL, NULL);
    kit_close(kit);
    return NULL;
}

struct agent_child *warm_take(struct warm *w, bool pmixd, struct kit *kit,
                              agent_child_fn gone, void *arg, struct err *err)
{
    struct agent_child *child = take(&w->places[pmixd ? WITH_PMIXD : PLAIN], kit);
    fill_in(w, WARM_RUN_MS);
    if (child != NULL)
        agent_tell_child(child, gone, arg);
    else if (start(w, pmixd, kit, err) == 0)
        child = agent_watch_child(w->agent, kit->pid, gone, arg);
    return child;
}

struct warm *warm_create(struct agent *a)
{
    struct warm *w = xcalloc(1, sizeof *w);
    w->agent = a;
    for (size_t i = 0; i < PLACES; i++)
        w->places[i].warm = w;
    w->fill = loop_timer(conf_of(w)->base, on_fill, w);
    return w;
}

void warm_begin(struct warm *w)
{
    w->begun = true;
    fill_in(w, WARM_PAUSE_MS);
}

void warm_destroy(struct warm *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < PLACES; i++) {
        struct place *p = &w->places[i];
        if (p->child == NULL)
            continue;
        agent_tell_child(p->child, NULL, NULL);
        kit_close(&p->kit);
        leave(p);
    }
    loop_timer_free(w->fill);
    free(w);
}
