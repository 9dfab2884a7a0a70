// A queue into the event loop, and a trampoline onto libpmix's thread.
#include "agent/pmix_shift.h"

#include <errno.h>
#include <event2/event.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/mem.h"

struct item {
    struct item *next;
    pmixd_shift_fn fn;
    void *arg;
};

struct pmixd_shift {
    int wake; // eventfd
    struct event *ready;
    pthread_mutex_t lock; // first, tail
    struct item *first, **tail;
};

static struct item *take_all(struct pmixd_shift *s)
{
    pthread_mutex_lock(&s->lock);
    struct item *all = s->first;
    s->first = NULL;
    s->tail = &s->first;
    pthread_mutex_unlock(&s->lock);
    return all;
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);
    (void)n; // EAGAIN: an earlier turn has emptied the queue
    for (struct item *i = take_all(arg), *next; i != NULL; i = next) {
        next = i->next;
        i->fn(i->arg);
        free(i);
    }
}

struct pmixd_shift *pmixd_shift_create(struct event_base *base, struct err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        err_set_errno(err, errno, "eventfd");
        return NULL;
    }
    struct pmixd_shift *s = xcalloc(1, sizeof *s);
    s->wake = fd;
    s->tail = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    s->ready = event_new(base, fd, EV_READ | EV_PERSIST, on_wake, s);
    event_add(s->ready, NULL);
    return s;
}

void pmixd_shift_destroy(struct pmixd_shift *s)
{
    if (s == NULL)
        return;
    for (struct item *i = take_all(s), *next; i != NULL; i = next) {
        next = i->next;
        free(i);
    }
    event_free(s->ready);
    pthread_mutex_destroy(&s->lock);
    close(s->wake);
    free(s);
}

void pmixd_shift_to_loop(struct pmixd_shift *s, pmixd_shift_fn fn, void *arg)
{
    struct item *i = xcalloc(1, sizeof *i);
    i->fn = fn;
    i->arg = arg;
    pthread_mutex_lock(&s->lock);
    *s->tail = i;
    s->tail = &i->next;
    pthread_mutex_unlock(&s->lock);
    uint64_t one = 1;
    ssize_t n = write(s->wake, &one, sizeof one);
    (void)n; // EAGAIN: the counter is full, the loop wakes anyway
}

static void land(pmix_status_t status, void *cbdata)
{
    struct item *i = cbdata;
    i->fn(i->arg);
    free(i);
}

void pmixd_shift_to_pmix(pmixd_shift_fn fn, void *arg)
{
    struct item *i = xcalloc(1, sizeof *i);
    i->fn = fn;
    i->arg = arg;
    // Of a namespace that nobody registered: libpmix changes nothing and calls back on
    // its own thread.
    pmix_proc_t nobody;
    PMIX_LOAD_PROCID(&nobody, "muster.nobody", 0);
    PMIx_server_deregister_client(&nobody, land, i);
}
