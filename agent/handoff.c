// Claims, and waiting for the files.
#include "agent/handoff.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/handoff_dir.h"
#include "agent/handoff_fsm.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/roll_json.h"
#include "sidecar/keep.h"
#include "wire/msg.h"
#include "wire/roll_msg.h"

// While an attempt waits, the answer is looked for so often: an inotify instance for this
// alone would be one of the 128 that all pods of a node share.
enum { POLL_MS = 10 };

struct handoff_claim {
    struct handoff *handoff;
    enum handoff_state state;
    struct roll *roll; // the newest; NULL: none came
    struct handoff_claim *prev, *next;
};

struct handoff_wait {
    struct handoff *handoff;
    struct handoff_claim *claim; // NULL: nothing to wait for
    handoff_fn *fn;
    void *arg;
    uint64_t end;
    bool read; // a sidecar was there
    struct handoff_wait *prev, *next;
};

struct handoff {
    struct handoff_conf conf;
    struct handoff_dir *dir;      // NULL: none
    struct handoff_claim *claims; // in the order in which they own
    struct handoff_claim *owner;  // OWNER or AWAY; NULL: nobody
    struct err refused;           // by the keep, of the newest roll
    struct handoff_wait *waits;
    struct event *beat, *expiry, *poll;
};

// ---- ownership ----------------------------------------------------------------

static void step(struct handoff_claim *c, enum handoff_event ev)
{
    enum handoff_state to = handoff_fsm_next(c->state, ev);
    if (to != c->state)
        log_debug(c->handoff->conf.log, "files, job %s: %s -- %s --> %s",
                  c->roll != NULL ? c->roll->job_key : "?",
                  handoff_state_name(c->state), handoff_event_name(ev),
                  handoff_state_name(to));
    c->state = to;
}

// The owner's roll goes to whoever keeps the files.
static void write_roll(struct handoff *h)
{
    const struct roll *r = h->owner->roll;
    err_clear(&h->refused);
    if (h->dir != NULL)
        handoff_dir_put(h->dir, r);
    if (h->conf.keep != NULL && keep_apply(h->conf.keep, r, &h->refused) < 0)
        log_warn(h->conf.log, "%s", err_text(&h->refused));
    loop_timer_arm(h->beat, h->conf.beat_ms);
}

static void give_up(struct handoff *h)
{
    h->owner = NULL;
    loop_timer_disarm(h->beat);
    loop_timer_disarm(h->expiry);
    if (h->dir != NULL)
        handoff_dir_release(h->dir);
}

static void grant(struct handoff *h, struct handoff_claim *c)
{
    step(c, HANDOFF_EV_GRANTED);
    h->owner = c;
    write_roll(h);
}

static void grant_next(struct handoff *h)
{
    struct handoff_claim *c;
    DL_FOREACH (h->claims, c)
        if (h->owner == NULL && c->roll != NULL && c->state == HANDOFF_WAITING)
            grant(h, c);
}

// Of one job the newest hold counts, whose roll may be the same; the lease goes on.
static void oust_older(struct handoff *h, const struct handoff_claim *newest)
{
    struct handoff_claim *c;
    DL_FOREACH (h->claims, c) {
        bool same_job = false;
        if (c == newest || c->roll == NULL ||
            roll_compare(c->roll, newest->roll, &same_job) > 0 || !same_job)
            continue;
        step(c, HANDOFF_EV_OUSTED);
        if (h->owner == c)
            h->owner = NULL;
    }
    loop_timer_disarm(h->owner == NULL ? h->expiry : NULL);
}

static void on_beat(int fd, short what, void *arg)
{
    struct handoff *h = arg;
    if (h->dir != NULL)
        handoff_dir_beat(h->dir);
    if (h->conf.keep != NULL)
        keep_retry(h->conf.keep);
    loop_timer_arm(h->beat, h->conf.beat_ms);
}

static void on_expiry(int fd, short what, void *arg)
{
    struct handoff *h = arg;
    log_info(h->conf.log,
             "the launcher of job %s is out of reach: the files of this "
             "pod follow it no longer",
             h->owner->roll->job_key);
    step(h->owner, HANDOFF_EV_EXPIRED);
    give_up(h);
    grant_next(h);
}

// ---- claims -------------------------------------------------------------------

struct handoff_claim *handoff_claim_create(struct handoff *h)
{
    struct handoff_claim *c = xcalloc(1, sizeof *c);
    c->handoff = h;
    DL_APPEND(h->claims, c);
    return c;
}

void handoff_claim_destroy(struct handoff_claim *c)
{
    struct handoff_wait *w;
    if (c == NULL)
        return;
    struct handoff *h = c->handoff;
    DL_DELETE(h->claims, c);
    DL_FOREACH (h->waits, w)
        if (w->claim == c)
            w->claim = NULL;
    if (h->owner == c) {
        give_up(h);
        grant_next(h);
    }
    roll_destroy(c->roll);
    free(c);
}

static struct roll *read_roll(const struct frame *f, struct err *err)
{
    Muster__Roll *m = msg_unpack(f, &muster__roll__descriptor, err);
    struct roll *r = m != NULL ? roll_msg_read(m, f->term, err) : NULL;
    msg_free(m);
    return r;
}

void handoff_roll(struct handoff_claim *c, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    struct handoff *h = c->handoff;
    struct roll *r = read_roll(f, &err);
    if (r == NULL) {
        log_warn(h->conf.log, "dropped a ROLL that makes no sense: %s", err_text(&err));
        return;
    }
    bool same_job;
    if (c->roll != NULL && roll_compare(r, c->roll, &same_job) <= 0) {
        log_debug(h->conf.log, "dropped ROLL %llu: %llu is here",
                  (unsigned long long)r->generation,
                  (unsigned long long)c->roll->generation);
        roll_destroy(r);
        return;
    }
    roll_destroy(c->roll);
    c->roll = r;
    if (h->owner == c)
        write_roll(h);
    oust_older(h, c);
    grant_next(h);
}

void handoff_lost(struct handoff_claim *c)
{
    if (c == NULL)
        return;
    struct handoff *h = c->handoff;
    bool owned = c->state == HANDOFF_OWNER;
    step(c, HANDOFF_EV_LOST);
    if (!owned)
        return;
    loop_timer_disarm(h->beat);
    loop_timer_arm(h->expiry, h->conf.lease_ms);
}

void handoff_back(struct handoff_claim *c)
{
    if (c == NULL)
        return;
    struct handoff *h = c->handoff;
    step(c, HANDOFF_EV_BACK);
    if (c->state == HANDOFF_OWNER) {
        loop_timer_disarm(h->expiry);
        on_beat(-1, 0, h);
        return;
    }
    DL_DELETE(h->claims, c); // behind those that have waited
    DL_APPEND(h->claims, c);
    grant_next(h);
}

// ---- waiting ------------------------------------------------------------------

enum outcome { NOT_YET, DONE, FAILED };

static bool is_kept_here(const struct handoff *h)
{
    return h->conf.keep != NULL || (h->dir != NULL && handoff_dir_is_read(h->dir));
}

static enum outcome look_at_keep(const struct handoff *h, struct err *err)
{
    if (h->conf.keep == NULL)
        return DONE;
    if (h->refused.text != NULL) {
        err_copy(err, &h->refused);
        return FAILED;
    }
    if (keep_is_done(h->conf.keep, NULL))
        return DONE;
    const char *why = keep_failure(h->conf.keep);
    if (why == NULL)
        return NOT_YET;
    err_set(err, "%s", why);
    return FAILED;
}

static enum outcome look_at_sidecar(struct handoff_wait *w, const char **note,
                                    struct err *err)
{
    const struct handoff_dir *d = w->handoff->dir;
    w->read = w->read || (d != NULL && handoff_dir_is_read(d));
    if (!w->read)
        return DONE;
    const struct err *failure = handoff_dir_failure(d);
    if (failure != NULL) {
        *note = err_text(failure);
        return DONE;
    }
    int rc = handoff_dir_answer(d, w->claim->roll, err);
    return rc == 0 ? NOT_YET : rc > 0 ? DONE : FAILED;
}

static enum outcome look(struct handoff_wait *w, const char **note, struct err *err)
{
    struct handoff *h = w->handoff;
    if (w->claim == NULL || w->claim->roll == NULL)
        return DONE;
    if (h->owner != w->claim) {
        if (h->owner != NULL && is_kept_here(h))
            *note = "hosts and hostfiles of this pod follow another job, which came "
                    "first; they are not this run's";
        return DONE;
    }
    enum outcome keep = look_at_keep(h, err);
    return keep == DONE ? look_at_sidecar(w, note, err) : keep;
}

static void finish(struct handoff_wait *w, const struct err *failure, const char *note)
{
    handoff_fn *fn = w->fn;
    void *arg = w->arg;
    handoff_cancel(w);
    fn(arg, failure, note);
}

// Each call may change the list.
static void on_poll(int fd, short what, void *arg)
{
    struct handoff *h = arg;
    ERR_AUTO err = ERR_INIT;
    struct handoff_wait *w = h->waits;
    while (w != NULL) {
        const char *note = NULL;
        enum outcome o = look(w, &note, &err);
        bool late = loop_now_ms() >= w->end;
        if (o == NOT_YET && !late) {
            w = w->next;
            continue;
        }
        if (o == NOT_YET)
            err_set(&err,
                    "%s did not write hosts and hostfiles within %d s; look at its log",
                    w->read ? "the pod's sidecar (muster-sidecar)" : "musterd",
                    HANDOFF_WAIT_MS / 1000);
        finish(w, o == DONE ? NULL : &err, note);
        w = h->waits;
    }
    if (h->waits != NULL)
        loop_timer_arm(h->poll, POLL_MS);
}

struct handoff_wait *handoff_wait(struct handoff *h, struct handoff_claim *claim,
                                  handoff_fn *fn, void *arg)
{
    struct handoff_wait *w = xcalloc(1, sizeof *w);
    *w = (struct handoff_wait){.handoff = h,
                               .claim = claim,
                               .fn = fn,
                               .arg = arg,
                               .end = loop_now_ms() + HANDOFF_WAIT_MS};
    DL_APPEND(h->waits, w);
    loop_timer_arm(h->poll, 0);
    return w;
}

void handoff_cancel(struct handoff_wait *w)
{
    if (w == NULL)
        return;
    DL_DELETE(w->handoff->waits, w);
    free(w);
}

// ---- life ---------------------------------------------------------------------

struct handoff *handoff_create(const struct handoff_conf *conf)
{
    struct handoff *h = xcalloc(1, sizeof *h);
    h->conf = *conf;
    h->conf.beat_ms = conf->beat_ms > 0 ? conf->beat_ms : ROLL_BEAT_MS;
    h->conf.lease_ms = conf->lease_ms > 0 ? conf->lease_ms : ROLL_LEASE_MS;
    h->beat = loop_timer(conf->base, on_beat, h);
    h->expiry = loop_timer(conf->base, on_expiry, h);
    h->poll = loop_timer(conf->base, on_poll, h);
    if (conf->dir != NULL)
        h->dir = handoff_dir_create(conf->dir, h->conf.lease_ms, conf->log);
    return h;
}

void handoff_destroy(struct handoff *h)
{
    if (h == NULL)
        return;
    handoff_dir_destroy(h->dir);
    loop_timer_free(h->beat);
    loop_timer_free(h->expiry);
    loop_timer_free(h->poll);
    err_clear(&h->refused);
    free(h);
}
