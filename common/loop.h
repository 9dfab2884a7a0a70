// The event loop of a program: one thread, one libevent base, and small helpers.
#ifndef MUSTER_COMMON_LOOP_H
#define MUSTER_COMMON_LOOP_H

#include <stdint.h>

struct event;
struct event_base;

// evthread_use_pthreads() comes first, so that libpmix in this process can share
// libevent.
struct event_base *loop_create(void);
void loop_destroy(struct event_base *base); // NULL-safe

// Milliseconds of CLOCK_MONOTONIC; never wall clock.
uint64_t loop_now_ms(void);
uint64_t loop_now_ns(void); // the same clock
// Milliseconds since 1970: a clock that is set, and differs from machine to machine.
uint64_t loop_wall_ms(void);

// A timer that is armed and disarmed; freed with loop_timer_free (NULL-safe).
struct event *loop_timer(struct event_base *base, void (*fn)(int, short, void *),
                         void *arg);
void loop_timer_arm(struct event *timer, uint64_t ms); // once, ms from now
void loop_timer_disarm(struct event *timer);           // NULL-safe
void loop_timer_free(struct event *timer);

#endif
