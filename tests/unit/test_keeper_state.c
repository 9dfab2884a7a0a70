// The keeper's and the rank's tables, without any process.
#include <criterion/criterion.h>

#include "agent/keeper_state.h"

static enum keeper_state run(const enum keeper_event *events, size_t n)
{
    enum keeper_state s = KEEPER_WARM;
    for (size_t i = 0; i < n; i++)
        s = keeper_state_next(s, events[i]);
    return s;
}

#define RUN(...)                                                                       \
    run((enum keeper_event[]){__VA_ARGS__},                                            \
        sizeof((enum keeper_event[]){__VA_ARGS__}) / sizeof(enum keeper_event))

Test(keeper_state, an_attempt_that_is_stopped)
{
    cr_assert_eq(RUN(KEEPER_SPAWNED), KEEPER_RUNNING);
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_STOP), KEEPER_ENDING);
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_STOP, KEEPER_EMPTY), KEEPER_DRAINING);
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_STOP, KEEPER_GRACE_OVER), KEEPER_KILLING);
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_STOP, KEEPER_STOP_NOW), KEEPER_KILLING);
    cr_assert_eq(RUN(KEEPER_STOP_NOW, KEEPER_GIVE_UP), KEEPER_DRAINING);
    cr_assert_eq(RUN(KEEPER_STOP_NOW, KEEPER_EMPTY, KEEPER_DRAINED), KEEPER_STOPPED);
}

Test(keeper_state, an_attempt_that_is_asked_first)
{
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_ASK), KEEPER_ASKING);
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_ASK, KEEPER_ANSWERED), KEEPER_ENDING);
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_ASK, KEEPER_GRACE_OVER), KEEPER_ENDING);
    cr_assert_eq(RUN(KEEPER_SPAWNED, KEEPER_ASK, KEEPER_GRACE_OVER, KEEPER_GRACE_OVER),
                 KEEPER_KILLING);
}

Test(keeper_state, a_failed_start_is_cleared_first)
{
    cr_assert_eq(RUN(KEEPER_SPAWN_FAILED), KEEPER_CLEARING);
    cr_assert_eq(RUN(KEEPER_SPAWN_FAILED, KEEPER_EMPTY), KEEPER_SPENT);
    cr_assert_eq(RUN(KEEPER_SPAWN_FAILED, KEEPER_STOP), KEEPER_KILLING);
    cr_assert_eq(RUN(KEEPER_SPAWN_FAILED, KEEPER_EMPTY, KEEPER_SPAWNED), KEEPER_SPENT);
}

Test(keeper_state, from_everywhere_the_agents_end_leads_to_the_end)
{
    for (int s = 0; s < KEEPER_ORPHANED; s++) {
        enum keeper_state next = keeper_state_next(s, KEEPER_AGENT_GONE);
        cr_assert_eq(next, KEEPER_ORPHANED, "%s", keeper_state_name(s));
    }
    cr_assert_eq(keeper_state_next(KEEPER_ORPHANED, KEEPER_EMPTY), KEEPER_OVER);
    cr_assert_eq(keeper_state_next(KEEPER_ORPHANED, KEEPER_GIVE_UP), KEEPER_OVER);
    for (int e = 0; e < KEEPER_EVENTS; e++)
        cr_assert_eq(keeper_state_next(KEEPER_OVER, e), KEEPER_OVER);
}

// Once STOP came, no event leads back to a state in which ranks run or are started.
Test(keeper_state, nothing_starts_after_stop)
{
    for (int s = KEEPER_ASKING; s < KEEPER_STATES; s++)
        for (int e = 0; e < KEEPER_EVENTS; e++) {
            enum keeper_state next = keeper_state_next(s, e);
            cr_assert_geq(next, KEEPER_ASKING, "%s: %s -> %s", keeper_event_name(e),
                          keeper_state_name(s), keeper_state_name(next));
        }
}

// Where each event leads to; 0 (WARM, where nothing leads back to): the state stays.
static const enum keeper_state expected[KEEPER_STATES][KEEPER_EVENTS] = {
    [KEEPER_WARM] = {[KEEPER_SPAWNED] = KEEPER_RUNNING,
                     [KEEPER_SPAWN_FAILED] = KEEPER_CLEARING,
                     [KEEPER_ASK] = KEEPER_ENDING,
                     [KEEPER_STOP] = KEEPER_ENDING,
                     [KEEPER_STOP_NOW] = KEEPER_KILLING,
                     [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_RUNNING] = {[KEEPER_ASK] = KEEPER_ASKING,
                        [KEEPER_STOP] = KEEPER_ENDING,
                        [KEEPER_STOP_NOW] = KEEPER_KILLING,
                        [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_CLEARING] = {[KEEPER_ASK] = KEEPER_KILLING,
                         [KEEPER_STOP] = KEEPER_KILLING,
                         [KEEPER_STOP_NOW] = KEEPER_KILLING,
                         [KEEPER_EMPTY] = KEEPER_SPENT,
                         [KEEPER_GIVE_UP] = KEEPER_SPENT,
                         [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_SPENT] = {[KEEPER_ASK] = KEEPER_ENDING,
                      [KEEPER_STOP] = KEEPER_ENDING,
                      [KEEPER_STOP_NOW] = KEEPER_KILLING,
                      [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_ASKING] = {[KEEPER_ANSWERED] = KEEPER_ENDING,
                       [KEEPER_GRACE_OVER] = KEEPER_ENDING,
                       [KEEPER_STOP] = KEEPER_ENDING,
                       [KEEPER_STOP_NOW] = KEEPER_KILLING,
                       [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_ENDING] = {[KEEPER_STOP_NOW] = KEEPER_KILLING,
                       [KEEPER_GRACE_OVER] = KEEPER_KILLING,
                       [KEEPER_EMPTY] = KEEPER_DRAINING,
                       [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_KILLING] = {[KEEPER_EMPTY] = KEEPER_DRAINING,
                        [KEEPER_GIVE_UP] = KEEPER_DRAINING,
                        [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_DRAINING] =
        {[KEEPER_DRAINED] = KEEPER_STOPPED, [KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_STOPPED] = {[KEEPER_AGENT_GONE] = KEEPER_ORPHANED},
    [KEEPER_ORPHANED] = {[KEEPER_EMPTY] = KEEPER_OVER, [KEEPER_GIVE_UP] = KEEPER_OVER},
};

Test(keeper_state, every_event_in_every_state)
{
    for (int s = 0; s < KEEPER_STATES; s++)
        for (int e = 0; e < KEEPER_EVENTS; e++) {
            int to = expected[s][e] != KEEPER_WARM ? (int)expected[s][e] : s;
            cr_assert_eq((int)keeper_state_next(s, e), to, "%s -- %s --> %s",
                         keeper_state_name(s), keeper_event_name(e),
                         keeper_state_name(to));
        }
}

static const enum rank_state rank_expected[RANK_STATES][RANK_EVENTS] = {
    [RANK_RUNNING] = {[RANK_EXIT] = RANK_EXITED, [RANK_OUTPUT_END] = RANK_SILENT},
    [RANK_SILENT] = {[RANK_EXIT] = RANK_DONE, [RANK_OUTPUT_END] = RANK_SILENT},
    [RANK_EXITED] = {[RANK_EXIT] = RANK_EXITED, [RANK_OUTPUT_END] = RANK_DONE},
    [RANK_DONE] = {[RANK_EXIT] = RANK_DONE, [RANK_OUTPUT_END] = RANK_DONE},
};

Test(keeper_state, every_event_of_a_rank)
{
    for (int s = 0; s < RANK_STATES; s++)
        for (int e = 0; e < RANK_EVENTS; e++)
            cr_assert_eq(rank_state_next(s, e), rank_expected[s][e], "%d -- %d", s, e);
}

Test(keeper_state, a_rank_is_done_after_both_its_ends)
{
    enum rank_state s = rank_state_next(RANK_RUNNING, RANK_EXIT);
    cr_assert_eq(s, RANK_EXITED);
    cr_assert_eq(rank_state_next(s, RANK_OUTPUT_END), RANK_DONE);
    s = rank_state_next(RANK_RUNNING, RANK_OUTPUT_END);
    cr_assert_eq(s, RANK_SILENT);
    cr_assert_eq(rank_state_next(s, RANK_EXIT), RANK_DONE);
    cr_assert_eq(rank_state_next(RANK_DONE, RANK_EXIT), RANK_DONE);
}
