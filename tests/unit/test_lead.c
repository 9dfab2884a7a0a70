// When a launcher that ended is started again, and how it is started.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/lead.h"
#include "common/loop.h"

enum { SHORT_MS = 1000 };

Test(lead, an_exit_code_is_the_end)
{
    struct lead_tries t = {0};
    uint32_t pause = 0;
    cr_assert(!lead_again(&t, 0, SHORT_MS, &pause));
    cr_assert(!lead_again(&t, 125 << 8, SHORT_MS, &pause));
}

Test(lead, pauses_grow_up_to_their_bound_and_then_it_is_given_up)
{
    struct lead_tries t = {0};
    uint32_t pause = 0, before = 0;
    for (int i = 0; i < LEAD_CRASHES_MAX; i++) {
        cr_assert(lead_again(&t, SIGKILL, SHORT_MS, &pause));
        cr_assert(i == 0 ? pause == LEAD_PAUSE_FIRST_MS
                         : pause == 2 * before || pause == LEAD_PAUSE_MAX_MS);
        before = pause;
    }
    cr_assert_eq(pause, LEAD_PAUSE_MAX_MS);
    cr_assert(!lead_again(&t, SIGKILL, SHORT_MS, &pause));
}

Test(lead, one_that_ran_long_begins_anew)
{
    struct lead_tries t = {0};
    uint32_t pause = 0;
    for (int i = 0; i < 10 * LEAD_CRASHES_MAX; i++) {
        cr_assert(lead_again(&t, SIGSEGV, LEAD_HEALTHY_MS, &pause));
        cr_assert_eq(pause, LEAD_PAUSE_FIRST_MS);
    }
    cr_assert(lead_again(&t, SIGSEGV, SHORT_MS, &pause));
    cr_assert_eq(pause, 2 * LEAD_PAUSE_FIRST_MS);
}

// ---- between fork and exec ----------------------------------------------------------

static int starts[2]; // a byte for each launcher, before it is one

static void end_in_child(void)
{
    ssize_t n = write(starts[1], "", 1);
    (void)n;
    raise(SIGTERM);
}

static void on_term(evutil_socket_t signo, short what, void *arg)
{
    ++*(int *)arg;
}

static void on_done(void *arg, int code)
{
}

// The child has the agent's handlers until it execs, and the socket on which these tell the
// agent's loop: what is sent to it must neither get lost there nor seem to be for the agent.
Test(lead, a_signal_that_comes_before_exec_is_the_childs_own, .timeout = 30)
{
    char *launcher[] = {(char[]){"sleep"}, (char[]){"60"}, NULL};
    char bytes[4];
    int told = 0;
    size_t started = 0;
    struct agent_conf conf = {.base = loop_create(), .environ = environ};
    struct agent *a = agent_create(&conf);
    struct event *term = evsignal_new(conf.base, SIGTERM, on_term, &told);
    event_add(term, NULL);
    cr_assert_eq(pipe2(starts, O_CLOEXEC | O_NONBLOCK), 0);
    cr_assert_eq(pthread_atfork(NULL, NULL, end_in_child), 0);
    struct lead_conf lc = {
        .base = conf.base, .agent = a, .argv = launcher, .done = on_done};
    struct lead *l = lead_create(&lc);
    while (started < 2 && told == 0) { // the second one: the first has ended
        event_base_loop(conf.base, EVLOOP_ONCE);
        ssize_t n = read(starts[0], bytes, sizeof bytes);
        started += n > 0 ? (size_t)n : 0;
    }
    cr_assert_eq(told, 0);
    lead_destroy(l);
    event_free(term);
    agent_destroy(a);
    loop_destroy(conf.base);
}
