// Asks in progress, one for each text that waits for its positions.
#include "kernels/infer/fetch.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "kernels/infer/rolefile.h"

struct ask {
    struct fetch *of;
    uint64_t tag, until;
    uint32_t slot, n; // positions
    int32_t *tokens;
    struct bufferevent *io; // ASKING; PULLING: what holds the positions, while it lasts
    struct event *again;    // AGAIN
    bool pulling, dropped;  // dropped: PULLING, for nobody
    uint32_t nsources;      // PULLING
    char *said;             // why it was refused before; NULL: it was not
    struct ask *prev, *next;
};

struct fetch {
    struct event_base *base;
    struct engine *engine;
    struct sched *sched;
    struct fetch_opts opts;
    struct log *log;
    struct ask *asks;
    struct event *poll;   // while one is PULLING
    uint64_t rests_until; // nothing is asked or pulled before
};

static void forget(struct ask *a)
{
    DL_DELETE(a->of->asks, a);
    if (a->io != NULL)
        bufferevent_free(a->io);
    loop_timer_free(a->again);
    free(a->tokens);
    free(a->said);
    free(a);
}

static void end(struct ask *a, bool there)
{
    struct fetch *f = a->of;
    uint64_t tag = a->tag;
    forget(a);
    sched_fetched(f->sched, tag, there);
}

static bool rests(const struct fetch *f)
{
    return loop_now_ms() < f->rests_until;
}

static void fail(struct ask *a, const char *why)
{
    struct fetch *f = a->of;
    if (a->io != NULL)
        bufferevent_free(a->io);
    a->io = NULL;
    if (loop_now_ms() < a->until) {
        log_debug(f->log, "prefill: %s; asking again", why);
        loop_timer_arm(a->again, FETCH_AGAIN_MS);
        return;
    }
    log_warn(f->log, "prefill: %s; %u positions are computed here", why, a->n);
    end(a, false);
}

// ---- an answer --------------------------------------------------------------------

static void pull(struct ask *a, const struct kvwire_ready *r,
                 const struct kvwire_source *sources)
{
    const struct kvpull_what what = {.model = a->of->opts.model,
                                     .hold = r->hold,
                                     .n = a->n,
                                     .slot = a->slot,
                                     .sources = sources,
                                     .nsources = r->nsources};
    if (rests(a->of)) {
        end(a, false);
        return;
    }
    a->pulling = true;
    a->nsources = r->nsources;
    bufferevent_disable(a->io, EV_READ | EV_WRITE);
    engine_fetch(a->of->engine, &what);
    loop_timer_arm(a->of->poll, FETCH_POLL_MS);
}

static void pulled(struct ask *a, const struct err *err)
{
    struct fetch *f = a->of;
    if (a->dropped) {
        log_debug(f->log, "prefill: a pull for nobody is over");
    } else if (err->text == NULL) {
        log_info(f->log, "prefill: %u positions came from %u ranks", a->n, a->nsources);
    } else {
        log_warn(f->log,
                 "prefill: %s; %u positions are computed here, and all others for %d s",
                 err_text(err), a->n, FETCH_REST_MS / 1000);
        f->rests_until = loop_now_ms() + FETCH_REST_MS;
    }
    end(a, err->text == NULL);
}

static void take_pulled(struct fetch *f)
{
    ERR_AUTO err = ERR_INIT;
    uint32_t slot;
    while (engine_fetched(f->engine, &slot, &err)) {
        struct ask *a;
        DL_FOREACH (f->asks, a)
            if (a->pulling && a->slot == slot)
                break;
        if (a != NULL)
            pulled(a, &err);
        err_clear(&err);
    }
}

// Its slot is of no use to another text before the pull is over.
static void drop_unwanted(struct fetch *f)
{
    struct ask *a, *next;
    DL_FOREACH_SAFE (f->asks, a, next) {
        if (a->dropped || sched_fetch_wanted(f->sched, a->slot))
            continue;
        if (!a->pulling) {
            end(a, false);
            continue;
        }
        a->dropped = true;
        engine_fetch_drop(f->engine, a->slot);
    }
}

static void on_poll(int fd, short what, void *arg)
{
    struct fetch *f = arg;
    const struct ask *a;
    take_pulled(f);
    DL_FOREACH (f->asks, a)
        if (a->pulling)
            loop_timer_arm(f->poll, FETCH_POLL_MS);
}

static void refused(struct ask *a, const struct err *why)
{
    free(a->said);
    a->said = xstrdup(err_text(why));
    fail(a, err_text(why));
}

static void on_read(struct bufferevent *io, void *arg)
{
    struct ask *a = arg;
    ERR_AUTO err = ERR_INIT;
    struct kvwire_ready r;
    struct evbuffer *in = bufferevent_get_input(io);
    if (a->pulling || evbuffer_copyout(in, &r, sizeof r) < (ssize_t)sizeof r)
        return;
    if (kvwire_check_ready(&r, &err) < 0) {
        refused(a, &err);
        return;
    }
    size_t bytes = r.nsources * sizeof(struct kvwire_source);
    if (evbuffer_get_length(in) < sizeof r + bytes)
        return;
    CLEANUP_FREE struct kvwire_source *sources = xmalloc(bytes);
    evbuffer_drain(in, sizeof r);
    evbuffer_remove(in, sources, bytes);
    if (kvwire_check_sources(sources, r.nsources, &err) < 0)
        refused(a, &err);
    else
        pull(a, &r, sources);
}

// What was said before tells more than that the last try had no time for an answer.
static void on_event(struct bufferevent *io, short what, void *arg)
{
    const struct ask *a = arg;
    if ((what & BEV_EVENT_CONNECTED) != 0 || a->pulling)
        return; // a pull's own connections tell whether it goes on
    if ((what & BEV_EVENT_TIMEOUT) == 0)
        fail(arg, "its leader is not there");
    else
        fail(arg, a->said != NULL ? a->said : "its leader does not answer");
}

// ---- asking -----------------------------------------------------------------------

static int find_leader(const struct fetch *f, struct sockaddr_storage *to, int *len,
                       struct err *err)
{
    if (f->opts.prefill == NULL)
        return rolefile_leader(f->opts.role_file, "prefill", to, len, err);
    *len = sizeof *to;
    if (evutil_parse_sockaddr_port(f->opts.prefill, (struct sockaddr *)to, len) == 0)
        return 0;
    err_set(err, "%s: no address and port", f->opts.prefill);
    return -1;
}

static struct timeval time_left(const struct ask *a)
{
    uint64_t now = loop_now_ms(), left = a->until > now ? a->until - now : 1;
    return (struct timeval){.tv_sec = (time_t)(left / 1000),
                            .tv_usec = (suseconds_t)(left % 1000) * 1000};
}

static void ask(struct ask *a)
{
    ERR_AUTO err = ERR_INIT;
    struct sockaddr_storage to = {0};
    // Deferred: an error comes from the loop, never while this runs.
    enum { OPTIONS = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS };
    const struct timeval limit = time_left(a);
    const struct kvwire_ask head = kvwire_ask_of(a->of->opts.model, a->n);
    int len;
    if (find_leader(a->of, &to, &len, &err) < 0) {
        fail(a, err_text(&err));
        return;
    }
    a->io = bufferevent_socket_new(a->of->base, -1, OPTIONS);
    bufferevent_setcb(a->io, on_read, NULL, on_event, a);
    bufferevent_set_timeouts(a->io, &limit, &limit);
    bufferevent_enable(a->io, EV_READ | EV_WRITE);
    bufferevent_write(a->io, &head, sizeof head);
    bufferevent_write(a->io, a->tokens, a->n * sizeof *a->tokens);
    if (bufferevent_socket_connect(a->io, (struct sockaddr *)&to, len) < 0)
        fail(a, "its leader is not there");
}

static void on_again(int fd, short what, void *arg)
{
    struct ask *a = arg;
    if (rests(a->of))
        end(a, false);
    else
        ask(a);
}

void fetch_look(struct fetch *f)
{
    struct sched_fetch want;
    drop_unwanted(f);
    take_pulled(f);
    while (sched_next_fetch(f->sched, &want)) {
        if (rests(f)) {
            sched_fetched(f->sched, want.tag, false);
            continue;
        }
        struct ask *a = xcalloc(1, sizeof *a);
        *a = (struct ask){.of = f,
                          .tag = want.tag,
                          .until = loop_now_ms() + FETCH_MS,
                          .slot = want.slot,
                          .n = want.n - 1};
        a->tokens = xmemdup(want.prompt, a->n * sizeof *a->tokens);
        a->again = loop_timer(f->base, on_again, a);
        DL_APPEND(f->asks, a);
        ask(a);
    }
}

struct fetch *fetch_create(struct event_base *base, struct engine *engine,
                           struct sched *sched, const struct fetch_opts *opts,
                           struct log *log)
{
    struct fetch *f = xcalloc(1, sizeof *f);
    *f = (struct fetch){
        .base = base, .engine = engine, .sched = sched, .opts = *opts, .log = log};
    f->poll = loop_timer(base, on_poll, f);
    return f;
}

void fetch_destroy(struct fetch *f)
{
    if (f == NULL)
        return;
    while (f->asks != NULL)
        forget(f->asks);
    loop_timer_free(f->poll);
    free(f);
}
