// Whether a failed attempt is followed by another, and when.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/policy.h"

enum { WINDOW_MS = 100000, HEALTHY_MS = 10000 };

static struct policy *make(enum policy_on_failure on_failure, uint32_t max,
                           uint32_t same)
{
    struct policy_conf conf = {.on_failure = on_failure,
                               .max_restarts = max,
                               .window_ms = WINDOW_MS,
                               .healthy_ms = HEALTHY_MS,
                               .same_failures = same};
    return policy_create(&conf);
}

// A rank's own failure; rank -1: a loss.
static bool fails(struct policy *p, uint64_t now, uint64_t ran, long rank, int code,
                  uint32_t *pause, struct err *why)
{
    struct policy_failure f = {
        .now_ms = now, .ran_ms = ran, .rank = rank, .code = code};
    uint32_t unused;
    return policy_judge(p, &f, pause != NULL ? pause : &unused, why);
}

Test(policy, abort_never_restarts_and_says_nothing)
{
    ERR_AUTO why = ERR_INIT;
    struct policy *p = make(POLICY_ABORT, 10, 3);
    cr_assert(!fails(p, 1000, 500, 3, 1, NULL, &why));
    cr_assert_null(why.text);
    policy_destroy(p);
}

Test(policy, an_order_of_the_user_is_never_repeated)
{
    ERR_AUTO why = ERR_INIT;
    uint32_t pause;
    struct policy *p = make(POLICY_RESTART, 10, 3);
    struct policy_failure f = {.now_ms = 1000, .order = true, .rank = -1, .code = 130};
    cr_assert(!policy_judge(p, &f, &pause, &why));
    cr_assert_null(why.text);
    policy_destroy(p);
}

Test(policy, the_budget_ends_and_comes_back_with_time)
{
    ERR_AUTO why = ERR_INIT;
    struct policy *p = make(POLICY_RESTART, 2, 0);
    cr_assert(fails(p, 1000, 0, -1, 125, NULL, &why));
    cr_assert(fails(p, 2000, 0, -1, 125, NULL, &why));
    cr_assert(!fails(p, 3000, 0, -1, 125, NULL, &why));
    cr_assert_not_null(strstr(err_text(&why), "restarted 2 times within 100 s"));
    cr_assert_not_null(strstr(err_text(&why), "--max-restarts"));
    // The first one is forgotten, the second one still counts.
    cr_assert(fails(p, 1000 + WINDOW_MS, 0, -1, 125, NULL, &why));
    cr_assert(!fails(p, 1001 + WINDOW_MS, 0, -1, 125, NULL, &why));
    cr_assert(fails(p, 2000 + WINDOW_MS, 0, -1, 125, NULL, &why));
    policy_destroy(p);
}

Test(policy, no_budget_at_all)
{
    ERR_AUTO why = ERR_INIT;
    struct policy *p = make(POLICY_RESTART, 0, 0);
    cr_assert(!fails(p, 1000, 0, -1, 125, NULL, &why));
    cr_assert_not_null(strstr(err_text(&why), "--max-restarts"));
    policy_destroy(p);
}

Test(policy, pauses_grow_to_a_bound_and_a_healthy_run_ends_them)
{
    static const uint32_t want[] = {0, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    ERR_AUTO why = ERR_INIT;
    uint32_t pause;
    struct policy *p = make(POLICY_RESTART, 100, 0);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        cr_assert(fails(p, 1000 * i, HEALTHY_MS - 1, -1, 125, &pause, &why));
        cr_assert_eq(pause, want[i], "failure %zu: %u", i, pause);
    }
    cr_assert(fails(p, 20000, HEALTHY_MS, -1, 125, &pause, &why));
    cr_assert_eq(pause, 0);
    policy_destroy(p);
}

Test(policy, the_same_failure_again_and_again_gives_up)
{
    ERR_AUTO why = ERR_INIT;
    struct policy *p = make(POLICY_RESTART, 100, 3);
    cr_assert(fails(p, 1, 10, 7, 9, NULL, &why));
    cr_assert(fails(p, 2, 10, 7, 9, NULL, &why));
    cr_assert(!fails(p, 3, 10, 7, 9, NULL, &why));
    cr_assert_not_null(strstr(err_text(&why), "3 attempts in a row"));
    policy_destroy(p);
}

Test(policy, another_rank_another_code_or_progress_is_another_failure)
{
    ERR_AUTO why = ERR_INIT;
    struct policy *p = make(POLICY_RESTART, 100, 2);
    cr_assert(fails(p, 1, 10, 7, 9, NULL, &why));
    cr_assert(fails(p, 2, 10, 8, 9, NULL, &why));
    cr_assert(fails(p, 3, 10, 8, 1, NULL, &why));
    cr_assert(fails(p, 4, HEALTHY_MS, 8, 1, NULL, &why));
    cr_assert(!fails(p, 5, 10, 8, 1, NULL, &why));
    policy_destroy(p);
}

Test(policy, lost_pods_are_nobodys_own_failure)
{
    ERR_AUTO why = ERR_INIT;
    struct policy *p = make(POLICY_RESTART, 100, 2);
    for (int i = 0; i < 10; i++)
        cr_assert(fails(p, (uint64_t)i, 10, -1, 125, NULL, &why));
    policy_destroy(p);
}

// Two of three restarts were used by the launcher before.
Test(policy, the_next_launcher_goes_on_with_the_budget)
{
    struct policy_past past;
    uint32_t pause = 0;
    ERR_AUTO why = ERR_INIT;
    struct policy *p = make(POLICY_RESTART, 3, 3);
    cr_assert(fails(p, 90000, 10, -1, 1, NULL, NULL));
    cr_assert(fails(p, 95000, 10, 4, 1, NULL, NULL));
    policy_save(p, 100000, &past);
    policy_destroy(p);
    cr_assert_eq(past.n, 2);
    cr_assert_eq(past.ago_ms[0], 10000);
    cr_assert_eq(past.same, 1);
    p = make(POLICY_RESTART, 3, 3);
    policy_restore(p, 2000, &past); // on a machine that has just begun
    cr_assert(fails(p, 3000, 10, 4, 1, &pause, NULL));
    cr_assert_gt(pause, 1000); // the third quick one in a row
    cr_assert(!fails(p, 4000, 10, -1, 1, NULL, &why));
    cr_assert_not_null(strstr(err_text(&why), "--max-restarts"));
    cr_assert(
        fails(p, 2000 + WINDOW_MS - 10000, 10, -1, 1, NULL, NULL)); // one is forgotten
    policy_destroy(p);
    p = make(POLICY_RESTART, 1, 3);
    policy_restore(p, 100000, &past); // fewer are allowed now
    err_clear(&why);
    cr_assert(!fails(p, 100001, 10, -1, 1, NULL, &why));
    policy_destroy(p);
    free(past.ago_ms);
}
