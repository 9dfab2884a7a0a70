// Allgather collectives: merging, failing, and who is told.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "wire/coll.h"
#include "wire/frame.h"

enum { LOST = -200, OTHER = -52, PER = 2, MAX = 4 };

// A vertex whose contributor i hosts the ranks PER*i .. PER*i+PER-1 of "job".
struct vertex {
    struct coll_table *t;
    size_t contributors;
    size_t done, late;
    uint64_t index;    // of the last done()
    int32_t status;    // of the last done() or late()
    size_t late_to;    // contributor of the last late()
    char data[256];    // of the last done()
    char why[64];      // of the last done() or late()
    uint32_t kind;     // of the parts that are added
    struct vertex *up; // gets what is done as part of contributor 0
};

static int expect(void *arg, const Muster__Coll *c, bool *expected, struct err *err)
{
    struct vertex *v = arg;
    for (size_t i = 0; i < c->n_procs; i++) {
        if (strcmp(c->procs[i]->nspace, "job") != 0) {
            err_set(err, "unknown namespace %s", c->procs[i]->nspace);
            return -1;
        }
        for (size_t k = 0; k < v->contributors; k++)
            if (c->procs[i]->rank == COLL_RANK_ALL || c->procs[i]->rank / PER == k)
                expected[k] = true;
    }
    return 0;
}

static void note(struct vertex *v, const Muster__Coll *r)
{
    v->index = r->index;
    v->status = r->status;
    snprintf(v->why, sizeof v->why, "%s", r->why);
    cr_assert_lt(r->data.len, sizeof v->data);
    memset(v->data, 0, sizeof v->data);
    if (r->data.len > 0)
        memcpy(v->data, r->data.data, r->data.len);
}

static void on_done(void *arg, const Muster__Coll *r)
{
    struct vertex *v = arg;
    v->done++;
    note(v, r);
    if (v->up != NULL)
        cr_assert_eq(coll_add(v->up->t, 0, r, NULL), 0);
}

static void on_late(void *arg, size_t contributor, const Muster__Coll *r)
{
    struct vertex *v = arg;
    v->late++;
    v->late_to = contributor;
    note(v, r);
}

static const struct coll_ops ops = {expect, on_done, on_late};

static void vertex_init(struct vertex *v, size_t contributors)
{
    *v = (struct vertex){.contributors = contributors, .kind = COLL_FENCE};
    v->t = coll_create(contributors, NULL, &ops, v);
}

// A part over `n` ranks; COLL_RANK_ALL alone for all.
struct part {
    uint64_t index;
    const char *data;
    int32_t status;
    size_t n;
    uint32_t ranks[MAX];
};

static int add_err(struct vertex *v, size_t from, struct part p, struct err *err)
{
    char ns[] = "job", why[] = "it failed", text[64];
    Muster__Proc procs[MAX], *list[MAX];
    for (size_t i = 0; i < p.n; i++) {
        muster__proc__init(&procs[i]);
        procs[i].nspace = ns;
        procs[i].rank = p.ranks[i];
        list[i] = &procs[i];
    }
    Muster__Coll m;
    muster__coll__init(&m);
    m.kind = v->kind;
    m.index = p.index;
    m.n_procs = p.n;
    m.procs = list;
    m.status = p.status;
    if (p.status != 0)
        m.why = why;
    if (p.data != NULL) {
        snprintf(text, sizeof text, "%s", p.data);
        m.data = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
    }
    return coll_add(v->t, from, &m, err);
}

static void add(struct vertex *v, size_t from, struct part p)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(add_err(v, from, p, &err), 0, "%s", err_text(&err));
}

#define ALL                                                                            \
    1,                                                                                 \
    {                                                                                  \
        COLL_RANK_ALL                                                                  \
    }

// ---- merging ----------------------------------------------------------------

Test(coll, is_done_when_all_parts_are_in, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 2);
    add(&v, 0, (struct part){7, "aa", 0, ALL});
    cr_assert_eq(v.done, 0);
    cr_assert_eq(coll_open(v.t), 1);
    add(&v, 1, (struct part){7, "bb", 0, ALL});
    cr_assert_eq(v.done, 1);
    cr_assert_eq(v.index, 7);
    cr_assert_eq(v.status, 0);
    cr_assert_str_eq(v.data, "aabb");
    cr_assert_eq(coll_open(v.t), 0);
    coll_destroy(v.t);
}

Test(coll, any_order_of_contributors_gives_all_data, .timeout = 10)
{
    static const size_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const data[] = {"x", "yy", "zzz"};
    struct vertex v;
    vertex_init(&v, 3);
    for (size_t o = 0; o < 6; o++) {
        for (size_t k = 0; k < 3; k++) {
            cr_assert_eq(v.done, o);
            add(&v, orders[o][k], (struct part){o, data[orders[o][k]], 0, ALL});
        }
        cr_assert_eq(v.done, o + 1);
        cr_assert_eq(strlen(v.data), 6);
        for (size_t k = 0; k < 3; k++)
            cr_assert_not_null(strstr(v.data, data[k]));
    }
    coll_destroy(v.t);
}

Test(coll, only_hosts_of_participants_are_waited_for, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 3);
    add(&v, 2, (struct part){0, "c", 0, 2, {1, 4}});
    cr_assert_eq(v.done, 0);
    add(&v, 0, (struct part){0, "a", 0, 2, {1, 4}});
    cr_assert_eq(v.done, 1);
    cr_assert_str_eq(v.data, "ca");
    coll_destroy(v.t);
}

Test(coll, one_contributor_is_done_at_once, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 3);
    add(&v, 1, (struct part){0, NULL, 0, 2, {2, 3}});
    cr_assert_eq(v.done, 1);
    cr_assert_str_eq(v.data, "");
    coll_destroy(v.t);
}

Test(coll, kind_procs_and_index_keep_collectives_apart, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 2);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    add(&v, 0, (struct part){1, "b", 0, ALL});
    add(&v, 0, (struct part){0, "c", 0, 2, {0, 2}});
    v.kind = COLL_CONNECT;
    add(&v, 0, (struct part){0, "d", 0, ALL});
    cr_assert_eq(coll_open(v.t), 4);
    add(&v, 1, (struct part){0, "D", 0, ALL});
    cr_assert_str_eq(v.data, "dD");
    v.kind = COLL_FENCE;
    add(&v, 1, (struct part){0, "C", 0, 2, {0, 2}});
    cr_assert_str_eq(v.data, "cC");
    add(&v, 1, (struct part){1, "B", 0, ALL});
    cr_assert_str_eq(v.data, "bB");
    cr_assert_eq(v.index, 1);
    add(&v, 1, (struct part){0, "A", 0, ALL});
    cr_assert_str_eq(v.data, "aA");
    cr_assert_eq(coll_open(v.t), 0);
    coll_destroy(v.t);
}

Test(coll, an_inner_vertex_feeds_the_root, .timeout = 10)
{
    struct vertex root, inner;
    vertex_init(&root, 2);
    vertex_init(&inner, 2);
    inner.up = &root;
    add(&inner, 1, (struct part){0, "b", 0, ALL});
    add(&root, 1, (struct part){0, "c", 0, ALL});
    cr_assert_eq(root.done, 0);
    add(&inner, 0, (struct part){0, "a", 0, ALL});
    cr_assert_eq(root.done, 1);
    cr_assert_str_eq(root.data, "cba");
    coll_destroy(inner.t);
    coll_destroy(root.t);
}

// ---- refusals ---------------------------------------------------------------

Test(coll, a_second_part_of_one_contributor_is_refused, .timeout = 10)
{
    ERR_AUTO err = ERR_INIT;
    struct vertex v;
    vertex_init(&v, 2);
    add(&v, 0, (struct part){3, "a", 0, ALL});
    cr_assert_eq(add_err(&v, 0, (struct part){3, "again", 0, ALL}, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), "gave it already"));
    add(&v, 1, (struct part){3, "b", 0, ALL});
    cr_assert_str_eq(v.data, "ab");
    coll_destroy(v.t);
}

Test(coll, who_hosts_no_participant_is_refused, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 3);
    cr_assert_eq(add_err(&v, 1, (struct part){0, "x", 0, 2, {0, 1}}, NULL), -1);
    cr_assert_eq(add_err(&v, 3, (struct part){0, "x", 0, ALL}, NULL), -1);
    cr_assert_eq(coll_open(v.t), 0);
    coll_destroy(v.t);
}

Test(coll, procs_that_the_caller_refuses_open_nothing, .timeout = 10)
{
    ERR_AUTO err = ERR_INIT;
    struct vertex v;
    vertex_init(&v, 2);
    char ns[] = "stranger";
    Muster__Proc proc, *list[] = {&proc};
    muster__proc__init(&proc);
    proc.nspace = ns;
    Muster__Coll m;
    muster__coll__init(&m);
    m.n_procs = 1;
    m.procs = list;
    cr_assert_eq(coll_add(v.t, 0, &m, &err), -1);
    cr_assert_str_eq(err_text(&err), "unknown namespace stranger");
    m.n_procs = 0;
    cr_assert_eq(coll_add(v.t, 0, &m, &err), -1);
    cr_assert_eq(coll_open(v.t), 0);
    coll_destroy(v.t);
}

Test(coll, number_and_bytes_are_bounded, .timeout = 10)
{
    ERR_AUTO err = ERR_INIT;
    struct vertex v = {.contributors = 2};
    struct coll_limits limits = {.open = 2, .bytes = 5};
    v.t = coll_create(2, &limits, &ops, &v);
    add(&v, 0, (struct part){0, "abc", 0, ALL});
    cr_assert_eq(add_err(&v, 0, (struct part){1, "def", 0, ALL}, &err), -1);
    cr_assert_str_eq(err_text(&err), "open collectives hold more than 5 bytes");
    cr_assert_eq(coll_open(v.t), 1);
    add(&v, 0, (struct part){1, "de", 0, ALL});
    cr_assert_eq(add_err(&v, 0, (struct part){2, NULL, 0, ALL}, &err), -1);
    cr_assert_str_eq(err_text(&err), "more than 2 collectives are open at a time");
    // What is done makes room again, and gives back exactly its bytes.
    add(&v, 1, (struct part){0, NULL, 0, ALL});
    add(&v, 0, (struct part){2, "fgh", 0, ALL});
    cr_assert_eq(add_err(&v, 1, (struct part){1, "x", 0, ALL}, NULL), -1);
    add(&v, 1, (struct part){1, NULL, 0, ALL});
    add(&v, 1, (struct part){2, "ij", 0, ALL});
    cr_assert_str_eq(v.data, "fghij");
    coll_destroy(v.t);
}

Test(coll, what_fits_into_no_frame_is_refused, .timeout = 20)
{
    ERR_AUTO err = ERR_INIT;
    struct vertex v;
    vertex_init(&v, 2);
    char ns[] = "job";
    CLEANUP_FREE uint8_t *big = xcalloc(1, FRAME_BODY_MAX);
    Muster__Proc proc, *list[] = {&proc};
    muster__proc__init(&proc);
    proc.nspace = ns;
    proc.rank = COLL_RANK_ALL;
    Muster__Coll m;
    muster__coll__init(&m);
    m.n_procs = 1;
    m.procs = list;
    m.data = (ProtobufCBinaryData){FRAME_BODY_MAX / 2, big};
    cr_assert_eq(coll_add(v.t, 0, &m, &err), 0);
    cr_assert_eq(coll_add(v.t, 1, &m, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), "64 MiB"), "%s", err_text(&err));
    cr_assert_eq(v.done, 0);
    coll_destroy(v.t);
}

// ---- failures ---------------------------------------------------------------

Test(coll, the_first_failure_wins_and_drops_the_data, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 3);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    add(&v, 1, (struct part){0, NULL, OTHER, ALL});
    cr_assert_eq(v.done, 0, "the others may still come");
    add(&v, 2, (struct part){0, NULL, LOST, ALL});
    cr_assert_eq(v.done, 1);
    cr_assert_eq(v.status, OTHER);
    cr_assert_str_eq(v.why, "it failed");
    cr_assert_str_eq(v.data, "");
    coll_destroy(v.t);
}

Test(coll, a_lost_rank_fails_open_collectives_at_once, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 2);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    add(&v, 0, (struct part){0, "b", 0, 2, {1, 2}});
    coll_fail_rank(v.t, "job", 3, LOST, "rank 3 was killed");
    cr_assert_eq(v.done, 1, "rank 3 is in one of them only");
    cr_assert_eq(v.status, LOST);
    cr_assert_str_eq(v.why, "rank 3 was killed");
    cr_assert_str_eq(v.data, "");
    add(&v, 1, (struct part){0, "B", 0, 2, {1, 2}});
    cr_assert_eq(v.done, 2);
    cr_assert_eq(v.status, 0);
    cr_assert_str_eq(v.data, "bB");
    coll_destroy(v.t);
}

Test(coll, parts_after_the_failure_are_answered_one_by_one, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 3);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    coll_fail_rank(v.t, "job", 5, LOST, "gone");
    cr_assert_eq(v.done, 1);
    add(&v, 2, (struct part){0, "c", 0, ALL});
    cr_assert_eq(v.late, 1);
    cr_assert_eq(v.late_to, 2);
    cr_assert_eq(v.status, LOST);
    cr_assert_str_eq(v.why, "gone");
    cr_assert_eq(add_err(&v, 2, (struct part){0, "c", 0, ALL}, NULL), -1);
    cr_assert_eq(coll_open(v.t), 1);
    add(&v, 1, (struct part){0, "b", 0, ALL});
    cr_assert_eq(v.late, 2);
    cr_assert_eq(v.late_to, 1);
    cr_assert_eq(v.done, 1);
    cr_assert_eq(coll_open(v.t), 0);
    coll_destroy(v.t);
}

Test(coll, a_lost_rank_fails_later_collectives_with_their_first_part, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 2);
    coll_fail_rank(v.t, "job", 3, LOST, "gone");
    coll_fail_rank(v.t, "job", 3, OTHER, "told again");
    add(&v, 0, (struct part){4, "a", 0, 2, {0, 3}});
    cr_assert_eq(v.done, 1);
    cr_assert_eq(v.status, LOST);
    add(&v, 1, (struct part){4, "b", 0, 2, {0, 3}});
    cr_assert_eq(v.done, 1);
    cr_assert_eq(v.late, 1);
    add(&v, 0, (struct part){4, "a", 0, 2, {0, 1}});
    cr_assert_eq(v.status, 0, "rank 3 is not in it");
    cr_assert_eq(coll_open(v.t), 0);
    coll_destroy(v.t);
}

Test(coll, a_rank_of_another_namespace_is_another_rank, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 2);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    coll_fail_rank(v.t, "child", 3, LOST, "gone");
    cr_assert_eq(v.done, 0);
    coll_destroy(v.t);
}

Test(coll, what_was_done_before_the_loss_stays_done, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 2);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    add(&v, 1, (struct part){0, "b", 0, ALL});
    coll_fail_rank(v.t, "job", 0, LOST, "gone");
    cr_assert_eq(v.done, 1);
    cr_assert_eq(v.status, 0);
    coll_destroy(v.t);
}

Test(coll, failed_collectives_hold_no_bytes, .timeout = 10)
{
    struct vertex v = {.contributors = 2};
    struct coll_limits limits = {.open = 8, .bytes = 4};
    v.t = coll_create(2, &limits, &ops, &v);
    add(&v, 0, (struct part){0, "abcd", 0, 2, {0, 3}});
    coll_fail_rank(v.t, "job", 3, LOST, "gone");
    add(&v, 0, (struct part){0, "efgh", 0, 2, {0, 2}});
    add(&v, 1, (struct part){0, NULL, 0, 2, {0, 2}});
    cr_assert_str_eq(v.data, "efgh");
    coll_destroy(v.t);
}

// ---- an inner vertex and results from above ---------------------------------

static void close_with(struct vertex *v, int32_t status)
{
    char ns[] = "job", why[] = "from above";
    Muster__Proc proc, *list[] = {&proc};
    muster__proc__init(&proc);
    proc.nspace = ns;
    proc.rank = COLL_RANK_ALL;
    Muster__Coll m;
    muster__coll__init(&m);
    m.kind = v->kind;
    m.n_procs = 1;
    m.procs = list;
    m.status = status;
    m.why = why;
    coll_close(v->t, &m);
}

Test(coll, a_failure_from_above_answers_those_who_come_after, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 3);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    close_with(&v, LOST);
    close_with(&v, OTHER);
    cr_assert_eq(v.done, 0, "the caller has the result already");
    add(&v, 1, (struct part){0, "b", 0, ALL});
    cr_assert_eq(v.late, 1);
    cr_assert_eq(v.status, LOST);
    cr_assert_str_eq(v.why, "from above");
    add(&v, 2, (struct part){0, "c", 0, ALL});
    cr_assert_eq(v.late, 2);
    cr_assert_eq(v.done, 0);
    cr_assert_eq(coll_open(v.t), 0);
    coll_destroy(v.t);
}

Test(coll, a_result_for_nothing_open_changes_nothing, .timeout = 10)
{
    struct vertex v;
    vertex_init(&v, 2);
    close_with(&v, 0);
    close_with(&v, LOST);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    add(&v, 1, (struct part){0, "b", 0, ALL});
    cr_assert_eq(v.status, 0);
    cr_assert_str_eq(v.data, "ab");
    coll_destroy(v.t);
}

// ---- callbacks that use the table -------------------------------------------

static void add_more(void *arg, const Muster__Coll *r)
{
    struct vertex *v = arg;
    if (v->done++ > 0)
        return;
    add(v, 1, (struct part){0, "b", 0, ALL}); // the last part of the failing one
    add(v, 0, (struct part){5, "x", 0, ALL});
    coll_fail_rank(v->t, "job", 0, OTHER, "another");
}

Test(coll, a_callback_may_add_and_fail, .timeout = 10)
{
    static const struct coll_ops busy = {expect, add_more, on_late};
    struct vertex v = {.contributors = 2};
    v.t = coll_create(2, NULL, &busy, &v);
    add(&v, 0, (struct part){0, "a", 0, ALL});
    add(&v, 0, (struct part){1, "a", 0, ALL});
    coll_fail_rank(v.t, "job", 3, LOST, "gone");
    cr_assert_eq(v.done, 3);
    cr_assert_eq(v.late, 1);
    cr_assert_eq(coll_open(v.t), 2, "two of them await contributor 1");
    coll_destroy(v.t);
}
