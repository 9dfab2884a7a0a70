// First cause and exit code.
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "launcher/verdict.h"

static const struct verdict_rank rank3 = {
    .number = 3, .rank = 3, .pid = 214, .member = "train-1", .address = "10.0.0.2"};

Test(verdict, the_first_cause_stays)
{
    struct verdict v = {0};
    cr_assert(verdict_exit(&v, &rank3, 9, true, false));
    cr_assert_not(verdict_set(&v, VERDICT_SIGNAL, 125, "another"));
    cr_assert_not(verdict_exit(&v, &rank3, 3 << 8, true, true));
    cr_assert_eq(v.code, 137);
    cr_assert_str_eq(
        v.text, "rank 3 on train-1 (10.0.0.2, pid 214) ended with signal 9 (SIGKILL)");
    verdict_free(&v);
}

Test(verdict, a_loss_explains_the_errors_of_peers)
{
    struct verdict v = {0};
    cr_assert(verdict_exit(&v, &rank3, 14 << 8, true, false));
    cr_assert(verdict_set(&v, VERDICT_LOSS, 125, "train-0 was lost"));
    cr_assert_eq(v.code, 125);
    cr_assert_str_eq(v.text, "train-0 was lost");
    cr_assert_not(verdict_exit(&v, &rank3, 9, true, false));
    verdict_free(&v);
}

Test(verdict, who_wrote_to_a_dead_peer_is_not_the_cause)
{
    struct verdict v = {0};
    const struct verdict_rank r0 = {.number = 0, .member = "a", .address = "10.0.0.1"};
    const struct verdict_rank r4 = {.number = 4, .member = "b", .address = "10.0.0.2"};
    cr_assert(verdict_exit(&v, &r0, SIGPIPE, true, false));
    cr_assert_eq(v.code, 128 + SIGPIPE);
    cr_assert(verdict_exit(&v, &r4, SIGKILL, true, false));
    cr_assert_eq(v.rank, 4);
    cr_assert_not(verdict_exit(&v, &r0, SIGPIPE, true, false));
    verdict_free(&v);
}

Test(verdict, a_good_end_is_no_cause)
{
    struct verdict v = {0};
    cr_assert_not(verdict_exit(&v, &rank3, 0, true, true));
    cr_assert_not(verdict_exit(&v, &rank3, 0, false, false));
    cr_assert_not(v.failed);
}

Test(verdict, leaving_without_finalize_is_one)
{
    struct verdict v = {0};
    cr_assert(verdict_exit(&v, &rank3, 0, true, false));
    cr_assert_eq(v.code, 1);
    cr_assert_not_null(strstr(v.text, "MPI_Finalize"));
    verdict_free(&v);
}

Test(verdict, names_want_of_memory_for_its_own_rank_only)
{
    struct verdict v = {0};
    cr_assert(verdict_exit(&v, &rank3, 9, false, false));
    verdict_out_of_memory(&v, 2, 1);
    cr_assert_null(strstr(v.text, "memory"));
    verdict_out_of_memory(&v, 3, 1);
    cr_assert_not_null(strstr(v.text, "SIGKILL): out of memory"));
    cr_assert_eq(v.code, 137);
    verdict_free(&v);
}

Test(verdict, an_abort_never_ends_with_0)
{
    struct verdict v = {0};
    cr_assert(verdict_abort(&v, &rank3, 256, ""));
    cr_assert_eq(v.code, 1);
    verdict_free(&v);
    cr_assert(verdict_abort(&v, &rank3, 7, "bad input"));
    cr_assert_eq(v.code, 7);
    cr_assert_not_null(strstr(v.text, "MPI_Abort(7): bad input"));
    verdict_free(&v);
}

Test(verdict, a_spawned_rank_is_named_with_its_world)
{
    static const struct verdict_rank spawned = {.number = 9,
                                                .world = 2,
                                                .rank = 1,
                                                .pid = 7,
                                                .member = "train-0",
                                                .address = "10.0.0.1"};
    struct verdict v = {0};
    cr_assert(verdict_exit(&v, &spawned, 256, true, false));
    cr_assert_str_eq(v.text, "rank 1 of spawned world 2 on train-0 (10.0.0.1, pid 7) "
                             "ended with exit code 1");
    verdict_out_of_memory(&v, 9, 1);
    cr_assert_not_null(strstr(v.text, "out of memory"));
    verdict_free(&v);
}
