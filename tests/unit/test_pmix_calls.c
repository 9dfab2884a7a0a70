// Fences and modex between libpmix's calls and the wire, without libpmix running.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/pmix_coll.h"
#include "agent/pmix_dmodex.h"
#include "agent/pmix_shift.h"
#include "agent/pmix_wire.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/chan.h"
#include "wire/coll.h"
#include "wire/msg.h"

enum { FRAMES = 8 };

// The agent's end: keeps what comes.
struct agent {
    struct event_base *base;
    struct chan *chan;
    struct pmixd_wire *wire; // the server's end
    uint16_t kinds[FRAMES];
    uint32_t dst[FRAMES];
    void *msgs[FRAMES];
    size_t n, wanted;
};

static void on_frame(void *arg, const struct frame *f)
{
    struct agent *a = arg;
    cr_assert_lt(a->n, FRAMES);
    bool modex = f->kind == FRAME_MODEX || f->kind == FRAME_MODEX_DONE;
    a->kinds[a->n] = f->kind;
    a->dst[a->n] = f->dst;
    a->msgs[a->n] = msg_unpack(
        f, modex ? &muster__modex__descriptor : &muster__coll__descriptor, NULL);
    cr_assert_not_null(a->msgs[a->n]);
    if (++a->n == a->wanted)
        event_base_loopbreak(a->base);
}

static void on_closed(void *arg, const struct err *why)
{
}

static const struct chan_ops chan_ops = {on_frame, on_closed};
static const struct pmixd_wire_ops wire_ops; // the agent says nothing in these tests

static void agent_init(struct agent *a)
{
    int sv[2];
    *a = (struct agent){.base = loop_create()};
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    a->chan = chan_create(a->base, sv[0], sv[0], &chan_ops, a);
    a->wire = pmixd_wire_create(a->base, sv[1], NULL, &wire_ops, a, NULL);
    cr_assert_not_null(a->wire);
}

static void agent_wait(struct agent *a, size_t n)
{
    a->wanted = n;
    event_base_dispatch(a->base);
    cr_assert_eq(a->n, n);
}

static void agent_end(struct agent *a)
{
    for (size_t i = 0; i < a->n; i++)
        msg_free(a->msgs[i]);
    pmixd_wire_destroy(a->wire);
    chan_destroy(a->chan);
    loop_destroy(a->base);
}

// What libpmix would be told.
struct answer {
    size_t times;
    int status;
    char data[32];
};

static void on_answer(pmix_status_t status, const char *data, size_t len, void *cbdata,
                      pmix_release_cbfunc_t release, void *release_arg)
{
    struct answer *a = cbdata;
    a->times++;
    a->status = status;
    cr_assert_lt(len, sizeof a->data);
    if (len > 0)
        memcpy(a->data, data, len);
    if (release != NULL)
        release(release_arg);
}

static struct pmixd_call *call_new(enum pmixd_call_kind kind, struct answer *answer)
{
    struct pmixd_call *call = xcalloc(1, sizeof *call);
    call->kind = kind;
    call->modex = on_answer;
    call->cbdata = answer;
    return call;
}

static struct pmixd_call *fence(struct answer *answer, pmix_rank_t a, pmix_rank_t b)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_FENCE, answer);
    call->nprocs = 2;
    call->procs = xcalloc(2, sizeof *call->procs);
    PMIX_LOAD_PROCID(&call->procs[0], "job", a);
    PMIX_LOAD_PROCID(&call->procs[1], "job", b);
    call->data = xmemdup("part", 4);
    call->len = 4;
    return call;
}

// ---- fences -----------------------------------------------------------------

Test(pmix_coll, processes_are_sorted_and_fences_counted, .timeout = 10)
{
    struct agent a;
    struct answer ans[3] = {0};
    agent_init(&a);
    struct pmixd_colls *f = pmixd_colls_create(a.wire);
    pmixd_colls_call(f, fence(&ans[0], 5, 2));
    pmixd_colls_call(f, fence(&ans[1], 2, 5));
    pmixd_colls_call(f, fence(&ans[2], 2, PMIX_RANK_WILDCARD));
    agent_wait(&a, 3);
    static const uint64_t index[] = {0, 1, 0};
    static const uint32_t last[] = {5, 5, COLL_RANK_ALL};
    for (size_t i = 0; i < 3; i++) {
        const Muster__Coll *m = a.msgs[i];
        cr_assert_eq(a.kinds[i], FRAME_COLL);
        cr_assert_eq(m->kind, COLL_FENCE);
        cr_assert_eq(m->index, index[i]);
        cr_assert_eq(m->n_procs, 2);
        cr_assert_eq(m->procs[0]->rank, 2);
        cr_assert_eq(m->procs[1]->rank, last[i]);
        cr_assert_eq(m->data.len, 4);
        cr_assert_eq(m->status, 0);
    }
    pmixd_colls_destroy(f);
    agent_end(&a);
}

Test(pmix_coll, a_result_completes_its_own_fence_once, .timeout = 10)
{
    struct agent a;
    struct answer ans[2] = {0};
    agent_init(&a);
    struct pmixd_colls *f = pmixd_colls_create(a.wire);
    pmixd_colls_call(f, fence(&ans[0], 1, 2));
    pmixd_colls_call(f, fence(&ans[1], 1, 2));
    agent_wait(&a, 2);
    pmixd_colls_done(f, a.msgs[1]);
    pmixd_colls_done(f, a.msgs[1]);
    cr_assert_eq(ans[0].times, 0);
    cr_assert_eq(ans[1].times, 1);
    cr_assert_str_eq(ans[1].data, "part");
    Muster__Coll *failed = a.msgs[0];
    failed->status = PMIX_ERR_PROC_TERM_WO_SYNC;
    pmixd_colls_done(f, failed);
    cr_assert_eq(ans[0].times, 1);
    cr_assert_eq(ans[0].status, PMIX_ERR_PROC_TERM_WO_SYNC);
    pmixd_colls_destroy(f);
    agent_end(&a);
}

Test(pmix_coll, a_local_death_and_too_much_data_are_failures, .timeout = 20)
{
    struct agent a;
    struct answer ans = {0};
    agent_init(&a);
    struct pmixd_colls *f = pmixd_colls_create(a.wire);
    struct pmixd_call *dead = fence(&ans, 1, 2), *huge = fence(&ans, 1, 3);
    dead->status = PMIX_ERR_PARTIAL_SUCCESS;
    free(huge->data);
    huge->len = PMIXD_DATA_MAX + 1;
    huge->data = xmalloc(huge->len);
    pmixd_colls_call(f, dead);
    pmixd_colls_call(f, huge);
    agent_wait(&a, 2);
    const Muster__Coll *first = a.msgs[0], *second = a.msgs[1];
    cr_assert_eq(first->status, PMIX_ERR_PARTIAL_SUCCESS);
    cr_assert_not_null(strstr(first->why, "died"));
    cr_assert_eq(first->data.len, 0);
    cr_assert_eq(second->status, PMIX_ERR_OUT_OF_RESOURCE);
    cr_assert_eq(second->data.len, 0);
    pmixd_colls_destroy(f);
    agent_end(&a);
}

// ---- direct modex -----------------------------------------------------------

Test(pmix_dmodex, answers_find_their_question, .timeout = 10)
{
    struct agent a;
    struct answer ans[2] = {0};
    agent_init(&a);
    struct pmixd_shift *shift = pmixd_shift_create(a.base, NULL);
    struct pmixd_dmodex *d = pmixd_dmodex_create(a.wire, shift);
    for (uint32_t i = 0; i < 2; i++) {
        struct pmixd_call *call = call_new(PMIXD_CALL_MODEX, &ans[i]);
        PMIX_LOAD_PROCID(&call->proc, "job", 10 + i);
        pmixd_dmodex_call(d, call);
    }
    agent_wait(&a, 2);
    Muster__Modex *second = a.msgs[1];
    cr_assert_eq(a.kinds[1], FRAME_MODEX);
    cr_assert_eq(second->proc->rank, 11);
    Muster__Modex answer = *second;
    uint8_t data[] = "value";
    answer.data = (ProtobufCBinaryData){.len = 5, .data = data};
    pmixd_dmodex_done(d, &answer);
    pmixd_dmodex_done(d, &answer);
    cr_assert_eq(ans[0].times, 0);
    cr_assert_eq(ans[1].times, 1);
    cr_assert_str_eq(ans[1].data, "value");
    pmixd_dmodex_destroy(d);
    pmixd_shift_destroy(shift);
    agent_end(&a);
}

Test(pmix_dmodex, what_libpmix_refuses_is_answered_to_the_asker, .timeout = 10)
{
    struct agent a;
    agent_init(&a);
    struct pmixd_shift *shift = pmixd_shift_create(a.base, NULL);
    struct pmixd_dmodex *d = pmixd_dmodex_create(a.wire, shift);
    Muster__Proc proc;
    muster__proc__init(&proc);
    Muster__Modex request;
    muster__modex__init(&request);
    request.id = 77;
    pmixd_dmodex_serve(d, &request, 4); // no process at all
    request.proc = &proc;
    pmixd_dmodex_serve(d, &request, 5); // libpmix does not run
    agent_wait(&a, 2);
    static const int32_t status[] = {PMIX_ERR_BAD_PARAM, PMIX_ERR_INIT};
    for (size_t i = 0; i < 2; i++) {
        const Muster__Modex *m = a.msgs[i];
        cr_assert_eq(a.kinds[i], FRAME_MODEX_DONE);
        cr_assert_eq(a.dst[i], 4 + i);
        cr_assert_eq(m->id, 77);
        cr_assert_eq(m->status, status[i]);
    }
    pmixd_dmodex_destroy(d);
    pmixd_shift_destroy(shift);
    agent_end(&a);
}

// ---- the queue into the loop ------------------------------------------------

enum { THREADS = 2, EACH = 2000 };

struct counted {
    struct event_base *base;
    struct pmixd_shift *shift;
    uint32_t next[THREADS]; // in the loop
    uint32_t total;
    bool disorder;
};

struct token {
    struct counted *c;
    uint32_t thread, number;
};

static void count(void *arg)
{
    struct token *t = arg;
    struct counted *c = t->c;
    if (c->next[t->thread]++ != t->number)
        c->disorder = true;
    if (++c->total == THREADS * EACH)
        event_base_loopbreak(c->base);
    free(t);
}

struct producer {
    struct counted *c;
    uint32_t thread;
};

static void *produce(void *arg)
{
    const struct producer *p = arg;
    for (uint32_t i = 0; i < EACH; i++) {
        struct token *t = xmalloc(sizeof *t);
        *t = (struct token){p->c, p->thread, i};
        pmixd_shift_to_loop(p->c->shift, count, t);
    }
    return NULL;
}

Test(pmix_shift, calls_of_a_thread_keep_their_order, .timeout = 20)
{
    struct counted c = {.base = loop_create()};
    struct producer producers[THREADS];
    pthread_t threads[THREADS];
    c.shift = pmixd_shift_create(c.base, NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
        producers[i] = (struct producer){&c, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    event_base_dispatch(c.base);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(c.total, THREADS * EACH);
    cr_assert(!c.disorder);
    pmixd_shift_destroy(c.shift);
    loop_destroy(c.base);
}

Test(pmix_wire, an_fd_that_is_no_socket_is_refused, .timeout = 10)
{
    ERR_AUTO err = ERR_INIT;
    struct event_base *base = loop_create();
    cr_assert_null(pmixd_wire_create(base, 999, NULL, &wire_ops, NULL, &err));
    cr_assert_not_null(strstr(err_text(&err), "fd 999 is not a socket"));
    loop_destroy(base);
}
