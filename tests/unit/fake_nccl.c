// A stand-in for libnccl.so.2, which moves and adds what lies in emulated GPUs between processes of
// one machine, through a file that all of them map. Faults are planted by $FAKE_NCCL.
//
// "fail=AllReduce:1:2@3 late=AllGather:0:6@1 hang=CommInitRank:1 flip=Broadcast:2:77@1": the third
// ncclAllReduce of rank 1 returns 2; the first ncclAllGather of rank 0 never ends, and
// ncclCommGetAsyncError says 6; that call never returns; element 77 of what rank 2 gets has a bit
// flipped. Pointers to memory of the host are refused, as those of nobody are. The file is in
// $FAKE_NCCL_DIR (/dev/shm) until all have mapped it.
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "tests/unit/standin_memory.h"

enum { RANKS_MAX = 16, CHUNK = 1 << 16, OPS_MAX = RANKS_MAX };
enum { OK = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { INT8 = 0, INT64 = 4, SUM = 0 };
enum kind { JOIN, ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, KINDS };

struct id {
    char path[128];
};

struct shared {
    _Atomic int arrived, generation;
    _Alignas(64) char slot[RANKS_MAX][CHUNK];
};

struct comm {
    struct shared *s;
    int rank, ranks;
    int calls[KINDS];
    _Atomic int late;
    struct id id;
};

struct op {
    enum kind kind;
    struct comm *comm;
    const char *from;
    char *to;
    size_t bytes; // of a part
    int root;
};

int ncclGetUniqueId(struct id *id);
int ncclCommInitRank(struct comm **out, int ranks, struct id id, int rank);
int ncclCommDestroy(struct comm *c);
int ncclCommGetAsyncError(struct comm *c, int *result);
const char *ncclGetErrorString(int result);
const char *ncclGetLastError(struct comm *c);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op,
                  struct comm *c, void *stream);
int ncclAllGather(const void *part, void *all, size_t n, int type, struct comm *c,
                  void *stream);
int ncclReduceScatter(const void *all, void *part, size_t n, int type, int op,
                      struct comm *c, void *stream);
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                  struct comm *c, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);

static const char *const names[KINDS] = {"CommInitRank", "AllReduce", "AllGather",
                                         "ReduceScatter", "Broadcast"};

static struct op ops[OPS_MAX]; // of the group
static int nops, depth;

// ---- faults -----------------------------------------------------------------------

// The number behind "ACTION=NAME:RANK:", where this is the call behind "@"; -1: nobody planted it.
static long planted(const char *action, const struct op *op)
{
    char key[96], *end = NULL;
    const char *plan = getenv("FAKE_NCCL");
    snprintf(key, sizeof key, "%s=%s:%d", action, names[op->kind], op->comm->rank);
    const char *at = plan != NULL ? strstr(plan, key) : NULL;
    if (at == NULL)
        return -1;
    at += strlen(key);
    long number = *at == ':' ? strtol(at + 1, &end, 10) : 0;
    if (end != NULL && *end == '@' &&
        strtol(end + 1, NULL, 10) != op->comm->calls[op->kind])
        return -1;
    return number;
}

static void stay(void)
{
    for (;;)
        pause();
}

static int faults_of(const struct op *op)
{
    long fails = planted("fail", op), late = planted("late", op);
    if (planted("hang", op) >= 0)
        stay();
    if (late >= 0) {
        op->comm->late = (int)late;
        stay();
    }
    return fails >= 0 ? (int)fails : OK;
}

static void flip(const struct op *op, size_t width)
{
    if (op->kind == JOIN)
        return;
    long element = planted("flip", op);
    char byte;
    size_t n =
        op->bytes / width * (size_t)(op->kind == ALL_GATHER ? op->comm->ranks : 1);
    if (element < 0 || (size_t)element >= n)
        return;
    char *at = op->to + (size_t)element * width;
    standin_get(&byte, at, 1);
    byte ^= 0x20;
    standin_put(at, &byte, 1);
}

// ---- all ranks at once ------------------------------------------------------------

// `own` ranks of this process arrive; it goes on when all are there.
static void barrier(struct shared *s, int own, int ranks)
{
    int generation = s->generation;
    if (atomic_fetch_add(&s->arrived, own) + own == ranks) {
        s->arrived = 0;
        s->generation = generation + 1;
        return;
    }
    while (s->generation == generation)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void add(int64_t *sum, const char *slot, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *sum; i++) {
        int64_t v;
        memcpy(&v, slot + i * sizeof v, sizeof v);
        sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)v);
    }
}

static bool store_sum(const struct op *op, size_t at, size_t bytes)
{
    static int64_t sum[CHUNK / sizeof(int64_t)];
    memset(sum, 0, bytes);
    for (int r = 0; r < op->comm->ranks; r++)
        add(sum, op->comm->s->slot[r], bytes);
    return standin_put(op->to + at, sum, bytes);
}

// What one rank makes of the chunks in the slots, which are of part `part`.
static bool store(const struct op *op, int part, size_t at, size_t bytes)
{
    const struct shared *s = op->comm->s;
    bool good = true;
    switch (op->kind) {
    case ALL_REDUCE: return store_sum(op, at, bytes);
    case REDUCE_SCATTER: return part != op->comm->rank || store_sum(op, at, bytes);
    case BROADCAST: return standin_put(op->to + at, s->slot[op->root], bytes);
    case ALL_GATHER:
        for (int r = 0; r < op->comm->ranks; r++)
            good &= standin_put(op->to + (size_t)r * op->bytes + at, s->slot[r], bytes);
        return good;
    default: return true;
    }
}

static bool chunk(int part, size_t at, size_t bytes)
{
    struct comm *c = ops[0].comm;
    bool good = true;
    for (int i = 0; i < nops; i++)
        good &= standin_get(ops[i].comm->s->slot[ops[i].comm->rank],
                            ops[i].from + (size_t)part * ops[i].bytes + at, bytes);
    barrier(c->s, nops, c->ranks);
    for (int i = 0; i < nops; i++)
        good &= store(&ops[i], part, at, bytes);
    barrier(c->s, nops, c->ranks);
    return good;
}

// The group: the same call for each rank of this process.
static int run_ops(size_t width)
{
    struct comm *c = ops[0].comm;
    bool good = true;
    for (int i = 0; i < nops; i++) {
        ops[i].comm->calls[ops[i].kind]++;
        int rc = faults_of(&ops[i]);
        if (rc != OK)
            return rc;
    }
    if (ops[0].kind == JOIN)
        barrier(c->s, nops, c->ranks);
    if (ops[0].kind == JOIN && c->rank == 0)
        unlink(c->id.path);
    int parts = ops[0].kind == REDUCE_SCATTER ? c->ranks : 1;
    for (int part = 0; part < parts; part++)
        for (size_t at = 0; at < ops[0].bytes; at += CHUNK)
            good &=
                chunk(part, at, ops[0].bytes - at < CHUNK ? ops[0].bytes - at : CHUNK);
    for (int i = 0; i < nops; i++)
        flip(&ops[i], width);
    return good ? OK : SYSTEM_ERROR;
}

static size_t width_of_group;

static int finish(void)
{
    int rc = nops > 0 ? run_ops(width_of_group) : OK;
    nops = 0;
    return rc;
}

static int begin(const struct op *op, size_t width)
{
    if (nops == OPS_MAX || op->comm == NULL)
        return INVALID_USAGE;
    if (op->kind != JOIN && op->bytes > 0 &&
        (standin_is_host(op->from) || standin_is_host(op->to)))
        return INVALID_ARGUMENT;
    ops[nops++] = *op;
    width_of_group = width;
    return depth > 0 ? OK : finish();
}

int ncclGroupStart(void)
{
    depth++;
    return OK;
}

int ncclGroupEnd(void)
{
    return --depth == 0 ? finish() : OK;
}

// ---- communicators ----------------------------------------------------------------

int ncclGetUniqueId(struct id *id)
{
    const char *folder = getenv("FAKE_NCCL_DIR");
    snprintf(id->path, sizeof id->path, "%s/nccl-XXXXXX",
             folder != NULL ? folder : "/dev/shm");
    int fd = mkstemp(id->path);
    if (fd < 0 || ftruncate(fd, sizeof(struct shared)) < 0)
        return SYSTEM_ERROR;
    close(fd);
    return OK;
}

// The file's name goes when all have mapped it.
int ncclCommInitRank(struct comm **out, int ranks, struct id id, int rank)
{
    if (ranks < 1 || ranks > RANKS_MAX || rank < 0 || rank >= ranks)
        return INVALID_ARGUMENT;
    int fd = open(id.path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return SYSTEM_ERROR;
    struct comm *c = calloc(1, sizeof *c);
    c->rank = rank;
    c->ranks = ranks;
    c->id = id;
    c->s = mmap(NULL, sizeof *c->s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (c->s == MAP_FAILED)
        return SYSTEM_ERROR;
    *out = c;
    return begin(&(struct op){.kind = JOIN, .comm = c}, 0);
}

int ncclCommDestroy(struct comm *c)
{
    munmap(c->s, sizeof *c->s);
    free(c);
    return OK;
}

int ncclCommGetAsyncError(struct comm *c, int *result)
{
    *result = c->late;
    return OK;
}

const char *ncclGetErrorString(int result)
{
    static const char *const texts[] = {
        "no error",
        "unhandled cuda error",
        "unhandled system error",
        "internal error",
        "invalid argument",
        "invalid usage",
        "remote process exited or there was a network error"};
    return result >= 0 && result < 7 ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(struct comm *c)
{
    (void)c;
    return "the stand-in's last word";
}

// ---- collectives ------------------------------------------------------------------

static int collective(enum kind kind, const void *from, void *to, size_t n, int type,
                      int root, struct comm *c)
{
    size_t width = type == INT64 ? 8 : 1;
    if (type != INT64 && type != INT8)
        return INVALID_ARGUMENT;
    return begin(&(struct op){kind, c, from, to, n * width, root}, width);
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op,
                  struct comm *c, void *stream)
{
    (void)stream;
    if (type != INT64 || op != SUM)
        return INVALID_ARGUMENT;
    return collective(ALL_REDUCE, from, to, n, type, 0, c);
}

int ncclAllGather(const void *part, void *all, size_t n, int type, struct comm *c,
                  void *stream)
{
    (void)stream;
    return collective(ALL_GATHER, part, all, n, type, 0, c);
}

int ncclReduceScatter(const void *all, void *part, size_t n, int type, int op,
                      struct comm *c, void *stream)
{
    (void)stream;
    if (type != INT64 || op != SUM)
        return INVALID_ARGUMENT;
    return collective(REDUCE_SCATTER, all, part, n, type, 0, c);
}

int ncclBroadcast(const void *from, void *to, size_t n, int type, int root,
                  struct comm *c, void *stream)
{
    (void)stream;
    if (root < 0 || root >= c->ranks)
        return INVALID_ARGUMENT;
    return collective(BROADCAST, from, to, n, type, root, c);
}
