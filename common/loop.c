// libevent, set up the one way that every program of the house uses it.
#include "common/loop.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <time.h>

#include "common/mem.h"

struct event_base *loop_create(void)
{
    evthread_use_pthreads();
    struct event_config *cfg = event_config_new();
    event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER);
    struct event_base *base = event_base_new_with_config(cfg);
    event_config_free(cfg);
    return base;
}

void loop_destroy(struct event_base *base)
{
    if (base != NULL)
        event_base_free(base);
}

uint64_t loop_now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t loop_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t loop_wall_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

struct event *loop_timer(struct event_base *base, void (*fn)(int, short, void *),
                         void *arg)
{
    return evtimer_new(base, fn, arg);
}

void loop_timer_arm(struct event *timer, uint64_t ms)
{
    struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
                         .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    // Else libevent counts from when the loop woke, and the timer may be early by what
    // callbacks have taken since.
    event_base_update_cache_time(event_get_base(timer));
    evtimer_add(timer, &tv);
}

void loop_timer_disarm(struct event *timer)
{
    if (timer != NULL)
        evtimer_del(timer);
}

void loop_timer_free(struct event *timer)
{
    if (timer != NULL)
        event_free(timer);
}
