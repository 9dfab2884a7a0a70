// Affinity, memory and threads of the cores.
#include "kernels/check/cores.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/mem.h"

enum {
    SLICE_DEFAULT = 64 << 20, // bytes a core,
    PERCENT_DEFAULT = 5,      // but no more of the room than this
    CORES_MAX = 4096,
    GUARD = 65536, // the largest page
};

int cores_find(struct cores *cores, struct err *err)
{
    cpu_set_t *set = CPU_ALLOC(CORES_MAX);
    size_t size = CPU_ALLOC_SIZE(CORES_MAX);
    if (set == NULL)
        abort();
    if (sched_getaffinity(0, size, set) < 0) {
        err_set_errno(err, errno, "sched_getaffinity");
        CPU_FREE(set);
        return -1;
    }
    cores->v = xcalloc((size_t)CPU_COUNT_S(size, set) + 1, sizeof *cores->v);
    for (int i = 0; i < CORES_MAX; i++)
        if (CPU_ISSET_S(i, size, set))
            cores->v[cores->n++].number = i;
    CPU_FREE(set);
    return 0;
}

static uint64_t default_share(size_t ncores, uint64_t room)
{
    uint64_t want = (uint64_t)SLICE_DEFAULT * ncores;
    uint64_t least = (uint64_t)CORE_SLICE_MIN * ncores;
    uint64_t most = room / 100 * PERCENT_DEFAULT;
    uint64_t free_for_us = room / 100 * MEMROOM_MAX_PERCENT;
    most = most > least ? most : least;
    want = want < most ? want : most;
    return want < free_for_us ? want : free_for_us;
}

int cores_share(struct cores *cores, const struct memroom_share *asked, uint64_t room,
                struct err *err)
{
    const uint64_t grain = sizeof(uint64_t) * 2 * MARCH_BLOCK;
    struct memroom_share share = *asked;
    uint64_t bytes;
    if (share.value <= 0)
        share.value = (double)default_share(cores->n, room);
    if (memroom_take(&share, room, &bytes, err) < 0)
        return -1;
    uint64_t fit = bytes / CORE_SLICE_MIN;
    cores->at_once = fit < cores->n ? (size_t)fit : cores->n;
    if (cores->at_once == 0) {
        err_set(err,
                "%.1f MiB are less than the %d MiB that one core needs: give more with "
                "--memory",
                (double)bytes / 1048576, CORE_SLICE_MIN >> 20);
        return -1;
    }
    cores->slice = bytes / cores->at_once / grain * grain;
    return 0;
}

int cores_map(struct cores *cores, const struct memroom_share *share, struct err *err)
{
    uint64_t room;
    if (memroom_read("", &room, err) < 0 || cores_share(cores, share, room, err) < 0)
        return -1;
    uint64_t whole = cores->slice * cores->at_once;
    char *at = mmap(NULL, whole + (uint64_t)2 * GUARD, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + GUARD, whole, PROT_READ | PROT_WRITE) < 0) {
        err_set_errno(err, errno, "%.0f MiB of memory", (double)whole / 1048576);
        return -1;
    }
    cores->memory = at + GUARD;
    return 0;
}

static void *run_core(void *arg)
{
    core_run(arg);
    return NULL;
}

// A thread that begins its life on that core.
static int start_core(struct core *c, pthread_t *thread, struct err *err)
{
    cpu_set_t *set = CPU_ALLOC(CORES_MAX);
    size_t size = CPU_ALLOC_SIZE(CORES_MAX);
    pthread_attr_t attr;
    if (set == NULL || pthread_attr_init(&attr) != 0)
        abort();
    CPU_ZERO_S(size, set);
    CPU_SET_S(c->number, size, set);
    int rc = pthread_attr_setaffinity_np(&attr, size, set);
    rc = rc == 0 ? pthread_create(thread, &attr, run_core, c) : rc;
    if (rc != 0)
        err_set_errno(err, rc, "no thread on core %d", c->number);
    pthread_attr_destroy(&attr);
    CPU_FREE(set);
    return rc == 0 ? 0 : -1;
}

// Those from `first` on, as many as have a slice.
static int run_some(struct cores *cores, size_t first, const struct core *like,
                    struct err *err)
{
    CLEANUP_FREE pthread_t *threads = xcalloc(cores->at_once, sizeof *threads);
    size_t started = 0, n = cores->n - first;
    int rc = 0;
    n = n < cores->at_once ? n : cores->at_once;
    for (; started < n && rc == 0; started += rc == 0 ? 1 : 0) {
        struct core *c = &cores->v[first + started];
        c->words = (void *)((char *)cores->memory + cores->slice * started);
        c->n = cores->slice / sizeof *c->words;
        c->seed = like->seed;
        c->rounds = like->rounds;
        c->until_ms = like->until_ms;
        c->stages = like->stages;
        c->slot = first + started;
        rc = start_core(c, &threads[started], err);
    }
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return rc;
}

int cores_run(struct cores *cores, const struct core *like, struct err *err)
{
    int rc = 0;
    for (size_t at = 0; at < cores->n && rc == 0; at += cores->at_once)
        rc = run_some(cores, at, like, err);
    return rc;
}

void cores_free(struct cores *cores)
{
    free(cores->v);
    *cores = (struct cores){0};
}
