// Tries of the dialling end to reach its peer again.
#include "wire/link_redial.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/loop.h"
#include "common/mem.h"
#include "wire/link_internal.h"
#include "wire/link_resume.h"

enum { BACKOFF_FIRST_MS = 50, BACKOFF_MAX_MS = 1000, CONNECT_MS = 1000 };

struct link_redial {
    struct link *heir;
    struct link_conf conf; // of the tries
    struct sockaddr_storage addr;
    socklen_t len;
    struct event *timer; // the next try is due, or the current one has to be connected
    struct link *try;    // NULL: none
    uint32_t round;
    uint32_t backoff_ms;
    struct err why;
};

// From half of it to all of it: those that were cut off together do not come together.
static uint64_t jitter(uint32_t ms)
{
    uint32_t r = 0;
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r)
        r = 0;
    return ms / 2 + r % (ms / 2 + 1);
}

static void drop_try(struct link_redial *r)
{
    link_destroy(r->try);
    r->try = NULL;
}

static void again_later(struct link_redial *r)
{
    uint32_t twice = r->backoff_ms * 2;
    loop_timer_arm(r->timer, jitter(r->backoff_ms));
    r->backoff_ms = twice < BACKOFF_MAX_MS ? twice : BACKOFF_MAX_MS;
}

static bool is_hopeless(const struct link_redial *r, const struct err *why)
{
    static const char *const kinds[] = {"KEY", "VERSION", "REFUSED", "REPLACED"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(why->kind, kinds[i]) == 0)
            return true;
    return r->heir->hung_up && strcmp(why->kind, "REFUSED_TCP") == 0;
}

// ---- a try ------------------------------------------------------------------

static int try_up(void *arg, const Muster__Hello *peer, struct err *err)
{
    err_set(err,
            "this connection goes on with a link"); // never UP as a link of its own
    return -1;
}

static void try_frame(void *arg, const struct frame *f)
{
}

static void try_down(void *arg, const struct err *why)
{
    struct link_redial *r = arg;
    err_copy(&r->why, why);
    drop_try(r);
    if (is_hopeless(r, &r->why))
        link_resume_give_up(r->heir, &r->why); // may destroy r
    else
        again_later(r);
}

static void dial(struct link_redial *r)
{
    static const struct link_ops ops = {
        .up = try_up, .frame = try_frame, .down = try_down};
    r->try = link_dial(&r->conf, (struct sockaddr *)&r->addr, r->len, &ops, r);
    link_core_set_heir(r->try, r->heir, ++r->round);
    loop_timer_arm(r->timer, CONNECT_MS);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct link_redial *r = arg;
    if (r->try != NULL && r->try->state != LINK_DIALING)
        return; // it shakes hands: its own deadline bounds that
    if (r->try != NULL)
        err_set_kind(&r->why, "TIMEOUT", 0, "no answer from %s (TCP connect)",
                     r->heir->peer);
    drop_try(r);
    dial(r);
}

// ---- for the link -----------------------------------------------------------

struct link_redial *link_redial_create(struct link *heir, const struct link_conf *conf,
                                       const struct sockaddr *addr, socklen_t len)
{
    struct link_redial *r = xcalloc(1, sizeof *r);
    r->heir = heir;
    r->conf = *conf;
    r->conf.grace_ms = 0;
    memcpy(&r->addr, addr, len);
    r->len = len;
    r->timer = loop_timer(conf->base, on_timer, r);
    return r;
}

void link_redial_start(struct link_redial *r)
{
    err_clear(&r->why);
    r->backoff_ms = BACKOFF_FIRST_MS;
    again_later(r);
}

void link_redial_stop(struct link_redial *r)
{
    loop_timer_disarm(r->timer);
    drop_try(r);
}

void link_redial_done(struct link_redial *r)
{
    loop_timer_disarm(r->timer);
    r->try = NULL;
}

const struct err *link_redial_why(const struct link_redial *r)
{
    return r->why.text != NULL ? &r->why : NULL;
}

void link_redial_destroy(struct link_redial *r)
{
    if (r == NULL)
        return;
    link_redial_stop(r);
    loop_timer_free(r->timer);
    err_clear(&r->why);
    free(r);
}
