// Direct modex: what still waits for a rank is answered by its end.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "agent/modex.h"
#include "common/buf.h"
#include "common/mem.h"

TestSuite(modex, .timeout = 20);

// "ASKER/ID NSPACE.RANK; ...": who was told that there is nothing.
static void on_fail(void *arg, uint32_t asker, const Muster__Modex *answer)
{
    cr_assert_eq(answer->status, -1);
    buf_printf(arg, "%u/%u %s.%u; ", asker, (unsigned)answer->id, answer->proc->nspace,
               answer->proc->rank);
}

static bool ask(struct modex *m, uint32_t asker, uint64_t id, const char *nspace,
                uint32_t rank)
{
    CLEANUP_FREE char *name = xstrdup(nspace);
    Muster__Proc proc = MUSTER__PROC__INIT;
    Muster__Modex request = MUSTER__MODEX__INIT;
    proc.nspace = name;
    proc.rank = rank;
    request.id = id;
    request.proc = &proc;
    return modex_asked(m, asker, &request);
}

static void assert_told(struct buf *told, const char *want)
{
    buf_append(told, "", 1);
    cr_assert_str_eq((const char *)buf_data(told), want);
    buf_clear(told);
}

Test(modex, a_rank_that_ends_answers_what_waits_for_it)
{
    BUF_AUTO told = BUF_INIT;
    struct modex *m = modex_create(10, on_fail, &told);
    cr_assert(ask(m, 3, 1, "a", 0));
    cr_assert(ask(m, 4, 1, "a", 0));
    cr_assert(ask(m, 3, 2, "a", 1));
    cr_assert(ask(m, 3, 3, "b", 0));
    cr_assert(modex_answered(m, 4, 1));
    modex_rank_gone(m, "a", 0);
    assert_told(&told, "3/1 a.0; ");
    cr_assert(!modex_answered(m, 3, 1), "libpmix's own answer comes too late");
    cr_assert(!modex_answered(m, 4, 1));
    cr_assert_eq(modex_waiting(m), 2);
    modex_rank_gone(m, "a", 0);
    modex_rank_gone(m, "b", 0);
    assert_told(&told, "3/3 b.0; ");
    modex_destroy(m);
}

Test(modex, requests_are_bounded)
{
    BUF_AUTO told = BUF_INIT;
    struct modex *m = modex_create(1, on_fail, &told);
    cr_assert(ask(m, 3, 1, "a", 0));
    cr_assert(!ask(m, 3, 2, "a", 0));
    assert_told(&told, "3/2 a.0; ");
    cr_assert_eq(modex_waiting(m), 1);
    modex_destroy(m);
}
