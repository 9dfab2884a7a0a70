// Timers of the event loop.
#include <criterion/criterion.h>
#include <event2/event.h>

#include "common/loop.h"

enum { BUSY_MS = 60, LATER_MS = 40 };

struct bed {
    struct event_base *base;
    struct event *timer, *other;
    uint64_t armed, came;
};

static void on_timer(int fd, short what, void *arg)
{
    ((struct bed *)arg)->came = loop_now_ms();
}

static void on_other(int fd, short what, void *arg)
{
}

static void on_busy(int fd, short what, void *arg)
{
    struct bed *b = arg;
    for (uint64_t end = loop_now_ms() + BUSY_MS; loop_now_ms() < end;)
        ;
    b->armed = loop_now_ms();
    loop_timer_arm(b->timer, LATER_MS);
    loop_timer_arm(b->other, 0); // the loop wakes, and looks at its timers
}

// Deadlines are compared with loop_now_ms() when their timer comes.
Test(loop, a_timer_is_not_early_by_what_a_callback_took, .timeout = 20)
{
    struct bed b = {.base = loop_create()};
    struct event *busy = loop_timer(b.base, on_busy, &b);
    b.timer = loop_timer(b.base, on_timer, &b);
    b.other = loop_timer(b.base, on_other, &b);
    loop_timer_arm(busy, 0);
    event_base_dispatch(b.base);
    cr_assert_geq(b.came, b.armed + LATER_MS);
    loop_timer_free(b.timer);
    loop_timer_free(b.other);
    loop_timer_free(busy);
    loop_destroy(b.base);
}
