// Looks a few times a second, and ends the process where it must.
#include "kernels/comm/nccl_watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"

enum { LOOK_MS = 100, FAILED = 1 };

struct nccl_watch {
    const struct nccl *lib;
    int rank;
    uint64_t until_ms; // MEETING
    pthread_t thread;
    pthread_mutex_t lock; // what follows
    pthread_cond_t wake;
    struct nccl_comm *comm; // NULL: MEETING
    const char *call;
    bool over;
};

// No MPI_Abort: MPI is the first thread's. The launcher sees the exit code.
static _Noreturn void end(const struct nccl_watch *w, const char *text)
{
    fprintf(stderr, "muster: rank %d: %s\n", w->rank, text);
    _exit(FAILED);
}

static void look(const struct nccl_watch *w)
{
    int result = NCCL_SUCCESS;
    if (w->comm == NULL) {
        if (loop_now_ms() < w->until_ms)
            return;
        end(w, "ncclCommInitRank: the ranks have not met in time: one of them is "
               "stuck, or they do not reach each other (NCCL_SOCKET_IFNAME names the "
               "interface; NCCL_DEBUG=INFO says more)");
    }
    int rc = w->lib->comm_async_error(w->comm, &result);
    if (rc == NCCL_SUCCESS && (result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS))
        return;
    ERR_AUTO err = ERR_INIT;
    nccl_say(w->lib, w->comm, w->call, rc != NCCL_SUCCESS ? rc : result, &err);
    end(w, err_text(&err));
}

static void *run(void *arg)
{
    struct nccl_watch *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->over) {
        look(w);
        struct timespec next;
        clock_gettime(CLOCK_MONOTONIC, &next);
        next.tv_nsec += LOOK_MS * 1000000L;
        if (next.tv_nsec >= 1000000000L) {
            next.tv_nsec -= 1000000000L;
            next.tv_sec++;
        }
        pthread_cond_timedwait(&w->wake, &w->lock, &next);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// Signals are for the first thread.
static void start(struct nccl_watch *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        end(w, "no thread can be started to watch over NCCL");
}

struct nccl_watch *nccl_watch_create(const struct nccl *lib, int rank, uint32_t init_ms)
{
    struct nccl_watch *w = xcalloc(1, sizeof *w);
    pthread_condattr_t attr;
    *w = (struct nccl_watch){
        .lib = lib, .rank = rank, .until_ms = loop_now_ms() + init_ms, .call = "NCCL"};
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    start(w);
    return w;
}

void nccl_watch_begin(struct nccl_watch *w, struct nccl_comm *comm)
{
    pthread_mutex_lock(&w->lock);
    w->comm = comm;
    pthread_mutex_unlock(&w->lock);
}

void nccl_watch_call(struct nccl_watch *w, const char *name)
{
    pthread_mutex_lock(&w->lock);
    w->call = name;
    pthread_mutex_unlock(&w->lock);
}

void nccl_watch_destroy(struct nccl_watch *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
