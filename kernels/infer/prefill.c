// A connection is a text of the scheduler, and then a hold.
#include "kernels/infer/prefill.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/listener.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"

enum { READ_MS = 30000, CONNECTIONS_MAX = 1024 };
enum state { ASK_READING, ASK_REFUSED, ASK_COMPUTING, ASK_HELD };

struct ask {
    struct prefill *of;
    enum state state;
    struct bufferevent *io;
    struct event *deadline; // all but COMPUTING
    uint64_t tag;
    uint32_t n, slot;
    struct ask *prev, *next;
};

struct prefill {
    struct event_base *base;
    struct engine *engine;
    struct sched *sched;
    struct prefill_opts opts;
    struct log *log;
    struct listener *listener;
    struct ask *asks;
    size_t nasks;
    uint64_t tags;
};

static void end(struct ask *a)
{
    struct prefill *p = a->of;
    if (a->state == ASK_COMPUTING || a->state == ASK_HELD)
        sched_cancel(p->sched, a->tag);
    if (a->state == ASK_HELD)
        engine_hold(p->engine, a->slot, 0, 0);
    DL_DELETE(p->asks, a);
    p->nasks--;
    bufferevent_free(a->io);
    loop_timer_free(a->deadline);
    free(a);
}

// ---- an ask -----------------------------------------------------------------------

static void put_ready(struct ask *a, uint32_t status, uint64_t hold)
{
    const struct prefill_opts *o = &a->of->opts;
    const struct kvwire_ready r = {.magic = {'M', 'K', 'R', '1'},
                                   .status = status,
                                   .hold = hold,
                                   .nsources = status == KVWIRE_OK ? o->nsources : 0};
    bufferevent_write(a->io, &r, sizeof r);
    bufferevent_write(a->io, o->sources, r.nsources * sizeof *o->sources);
}

static void refuse(struct ask *a, uint32_t status)
{
    log_warn(a->of->log, "prefill: refused: %s", kvwire_status_text(status));
    a->state = ASK_REFUSED;
    put_ready(a, status, 0);
}

static bool are_tokens(const struct prefill *p, const int32_t *tokens, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= p->opts.vocab)
            return false;
    return true;
}

// Its last token's row gives a token, which nobody needs: so it is a text of one token.
static void compute(struct ask *a, const int32_t *tokens)
{
    struct prefill *p = a->of;
    a->tag = ++p->tags;
    const struct sched_text text = {
        .prompt = tokens, .n = a->n, .max_tokens = 1, .tag = a->tag, .hold = true};
    if (!are_tokens(p, tokens, a->n)) {
        refuse(a, KVWIRE_OTHER_MODEL);
    } else if (!sched_add(p->sched, &text)) {
        refuse(a, KVWIRE_BUSY);
    } else {
        a->state = ASK_COMPUTING;
        loop_timer_disarm(a->deadline);
    }
}

// What the head is refused for; KVWIRE_OK: nothing.
static uint32_t judge(const struct prefill *p, const struct kvwire_ask *head)
{
    if (memcmp(head->model, p->opts.model, KVWIRE_MODEL) != 0)
        return KVWIRE_OTHER_MODEL;
    return head->n == 0 || head->n > sched_limits(p->sched)->length ? KVWIRE_TOO_LONG
                                                                    : KVWIRE_OK;
}

static void take(struct ask *a, struct evbuffer *in)
{
    struct kvwire_ask head;
    if (evbuffer_copyout(in, &head, sizeof head) < (ssize_t)sizeof head)
        return;
    if (memcmp(head.magic, "MKA1", 4) != 0) {
        end(a);
        return;
    }
    uint32_t status = judge(a->of, &head);
    size_t bytes = head.n * sizeof(int32_t);
    if (status != KVWIRE_OK) {
        refuse(a, status);
        return;
    }
    if (evbuffer_get_length(in) < sizeof head + bytes)
        return;
    CLEANUP_FREE int32_t *tokens = xmalloc(bytes);
    evbuffer_drain(in, sizeof head);
    evbuffer_remove(in, tokens, bytes);
    a->n = head.n;
    compute(a, tokens);
}

void prefill_take(struct prefill *p, const struct sched_news *news)
{
    struct ask *a;
    uint64_t hold = 0;
    DL_FOREACH (p->asks, a)
        if (a->state == ASK_COMPUTING && a->tag == news->tag)
            break;
    if (a == NULL)
        return;
    if (getrandom(&hold, sizeof hold, 0) != (ssize_t)sizeof hold)
        hold = loop_wall_ms();
    a->slot = news->slot;
    a->state = ASK_HELD;
    engine_hold(p->engine, a->slot, hold, a->n);
    put_ready(a, KVWIRE_OK, hold);
    loop_timer_arm(a->deadline, PREFILL_HOLD_MS);
}

// ---- connections ------------------------------------------------------------------

static void on_read(struct bufferevent *io, void *arg)
{
    struct ask *a = arg;
    struct evbuffer *in = bufferevent_get_input(io);
    if (a->state == ASK_READING)
        take(a, in);
    else
        evbuffer_drain(in, evbuffer_get_length(in));
}

static void on_written(struct bufferevent *io, void *arg)
{
    struct ask *a = arg;
    if (a->state == ASK_REFUSED)
        end(a);
}

static void on_event(struct bufferevent *io, short what, void *arg)
{
    end(arg);
}

static void on_deadline(int fd, short what, void *arg)
{
    end(arg);
}

static void on_accept(void *arg, int fd)
{
    struct prefill *p = arg;
    struct bufferevent *io =
        p->nasks < CONNECTIONS_MAX
            ? bufferevent_socket_new(p->base, fd, BEV_OPT_CLOSE_ON_FREE)
            : NULL;
    if (io == NULL) {
        evutil_closesocket(fd);
        return;
    }
    struct ask *a = xcalloc(1, sizeof *a);
    *a = (struct ask){.of = p, .io = io};
    a->deadline = loop_timer(p->base, on_deadline, a);
    loop_timer_arm(a->deadline, READ_MS);
    DL_APPEND(p->asks, a);
    p->nasks++;
    bufferevent_setcb(io, on_read, on_written, on_event, a);
    bufferevent_enable(io, EV_READ | EV_WRITE);
}

struct prefill *prefill_create(struct event_base *base, struct engine *engine,
                               struct sched *sched, const struct prefill_opts *opts,
                               struct log *log, struct err *err)
{
    struct prefill *p = xcalloc(1, sizeof *p);
    *p = (struct prefill){
        .base = base, .engine = engine, .sched = sched, .opts = *opts, .log = log};
    p->listener =
        listener_create(base, opts->listen, "prefill", on_accept, p, log, err);
    if (p->listener != NULL)
        return p;
    free(p);
    return NULL;
}

void prefill_destroy(struct prefill *p)
{
    if (p == NULL)
        return;
    while (p->asks != NULL)
        end(p->asks);
    listener_destroy(p->listener);
    free(p);
}
