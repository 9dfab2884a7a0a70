// A training run in miniature: a state that each step changes on all ranks, checkpoints, resume.
//
//   ckpt DIR EVERY PAUSE_MS [STEPS]    ranks; until step STEPS, or a checkpoint that finds DIR/stop
//   ckpt --serial RANKS STEPS          the same digest from one process, without MPI
//
// All is integer arithmetic: the digest depends on the number of ranks and of steps alone. Each
// rank's part is written to a temporary file, synced and renamed; when all ranks have done so,
// rank 0 moves `latest` the same way. Each rank holds a lock on DIR/rank.R for its life: a second
// one of that rank says "twin".
//
// Signals make a rank misbehave between two steps: SIGUSR1: a grandchild of it, in a session of its
// own, holds MASTER_PORT from now on; SIGUSR2: it ignores SIGTERM. It says so on stdout.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/arg.h"

enum { CELLS = 64, MAGIC = 0x6b637074 };

struct part {
    uint64_t magic, step, rank, size, check;
    uint64_t cells[CELLS];
};

struct run {
    const char *dir, *attempt;
    int every, pause_ms, steps;
    int rank, size;
    sigset_t orders;
    struct part part;
};

// ---- the state --------------------------------------------------------------------

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static void part_begin(struct part *p, int rank, int size)
{
    *p = (struct part){.magic = MAGIC, .rank = (uint64_t)rank, .size = (uint64_t)size};
    for (uint64_t i = 0; i < CELLS; i++)
        p->cells[i] = mix((uint64_t)rank * CELLS + i);
}

static uint64_t part_sum(const struct part *p)
{
    uint64_t sum = 0;
    for (int i = 0; i < CELLS; i++)
        sum += p->cells[i];
    return sum;
}

// One step: each cell of itself, its neighbours (of other ranks at the ends) and all cells' sum.
static void part_step(struct part *p, uint64_t left, uint64_t right, uint64_t sum)
{
    uint64_t before = left;
    p->step++;
    for (int i = 0; i < CELLS; i++) {
        uint64_t own = p->cells[i], after = i + 1 < CELLS ? p->cells[i + 1] : right;
        p->cells[i] = mix(before + 3 * own + 5 * after + sum + p->step);
        before = own;
    }
}

static uint64_t part_digest(const struct part *p)
{
    uint64_t digest = p->step;
    for (int i = 0; i < CELLS; i++)
        digest = mix(digest ^ p->cells[i]);
    return digest;
}

static void print_digest(const uint64_t *of_ranks, int size, uint64_t step)
{
    uint64_t digest = (uint64_t)size;
    for (int i = 0; i < size; i++)
        digest = mix(digest ^ of_ranks[i]);
    printf("digest of %d ranks at step %" PRIu64 ": %016" PRIx64 "\n", size, step,
           digest);
}

static int serial(int size, int steps)
{
    if (size < 1 || steps < 0)
        return 2;
    struct part *p = calloc((size_t)size, sizeof *p);
    uint64_t *digest = calloc((size_t)size, sizeof *digest);
    if (p == NULL || digest == NULL)
        return 1;
    for (int r = 0; r < size; r++)
        part_begin(&p[r], r, size);
    for (int s = 0; s < steps; s++) {
        uint64_t sum = 0, first = p[0].cells[0], left = p[size - 1].cells[CELLS - 1];
        for (int r = 0; r < size; r++)
            sum += part_sum(&p[r]);
        for (int r = 0; r < size; r++) {
            uint64_t last = p[r].cells[CELLS - 1];
            part_step(&p[r], left, r + 1 < size ? p[r + 1].cells[0] : first, sum);
            left = last;
        }
    }
    for (int r = 0; r < size; r++)
        digest[r] = part_digest(&p[r]);
    print_digest(digest, size, (uint64_t)steps);
    free(p);
    free(digest);
    return 0;
}

static void exchange(struct run *run)
{
    const struct part *p = &run->part;
    int prev = (run->rank + run->size - 1) % run->size,
        next = (run->rank + 1) % run->size;
    uint64_t left, right, own = part_sum(p), sum;
    MPI_Sendrecv(&p->cells[CELLS - 1], 1, MPI_UINT64_T, next, 0, &left, 1, MPI_UINT64_T,
                 prev, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&p->cells[0], 1, MPI_UINT64_T, prev, 1, &right, 1, MPI_UINT64_T, next,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    part_step(&run->part, left, right, sum);
}

// ---- files ------------------------------------------------------------------------

_Noreturn static void give_up(const struct run *run, const char *what, const char *path)
{
    printf("rank %d: %s %s: %s\n", run->rank, what, path, strerror(errno));
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 9);
    _exit(9);
}

static void sync_dir(const struct run *run)
{
    int fd = open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        give_up(run, "sync", run->dir);
    close(fd);
}

// The file is the old one or the new one, whatever happens.
static void put(const struct run *run, const char *name, const void *data, size_t len)
{
    char path[4096], tmp[4096 + 64];
    snprintf(path, sizeof path, "%s/%s", run->dir, name);
    snprintf(tmp, sizeof tmp, "%s.%d.tmp", path, run->rank);
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data, len) != (ssize_t)len || fsync(fd) != 0 ||
        close(fd) != 0 || rename(tmp, path) != 0)
        give_up(run, "write", path);
    sync_dir(run);
}

// Returns how many bytes; -1: there is no such file.
static ssize_t get(const struct run *run, const char *name, void *data, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", run->dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return -1;
    ssize_t n = fd < 0 ? -1 : read(fd, data, size);
    if (n < 0)
        give_up(run, "read", path);
    close(fd);
    return n;
}

static const char *part_name(char *name, size_t size, uint64_t step, int rank)
{
    snprintf(name, size, "step.%" PRIu64 ".%d", step, rank);
    return name;
}

static bool exists(const struct run *run, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", run->dir, name);
    return access(path, F_OK) == 0;
}

// `latest` names this step only once all ranks have written it; what is two checkpoints old
// cannot be what it names.
static void save(struct run *run)
{
    struct part *p = &run->part;
    uint64_t old = 2 * (uint64_t)run->every;
    char name[64], text[32], path[4096];
    p->check = part_digest(p);
    put(run, part_name(name, sizeof name, p->step, run->rank), p, sizeof *p);
    MPI_Barrier(MPI_COMM_WORLD);
    if (run->rank == 0) {
        snprintf(text, sizeof text, "%" PRIu64 "\n", p->step);
        put(run, "latest", text, strlen(text));
        printf("attempt %s step %" PRIu64 "\n", run->attempt, p->step);
        fflush(stdout);
    }
    if (p->step < old)
        return;
    part_name(name, sizeof name, p->step - old, run->rank);
    snprintf(path, sizeof path, "%s/%s", run->dir, name);
    unlink(path);
}

static uint64_t latest(const struct run *run)
{
    char text[32] = "";
    uint64_t step = 0;
    if (run->rank == 0 && get(run, "latest", text, sizeof text - 1) >= 0)
        step = strtoull(text, NULL, 10);
    MPI_Bcast(&step, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return step;
}

static void load(struct run *run)
{
    struct part *p = &run->part;
    uint64_t step = latest(run);
    char name[64];
    if (step == 0)
        return;
    part_name(name, sizeof name, step, run->rank);
    errno = EBADMSG;
    if (get(run, name, p, sizeof *p) != sizeof *p || p->magic != MAGIC ||
        p->step != step || p->rank != (uint64_t)run->rank ||
        p->size != (uint64_t)run->size || p->check != part_digest(p))
        give_up(run, "checkpoint", name);
}

// Before MPI_Init, so that it covers all of this rank's life.
static void lock_rank(const char *dir, const char *attempt)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    char path[4096], text[256] = "";
    snprintf(path, sizeof path, "%s/rank.%s", dir, rank != NULL ? rank : "0");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ssize_t n = read(fd, text, sizeof text - 1);
        text[n < 0 ? 0 : n] = '\0';
        printf("twin: rank %s, attempt %s, beside %s\n", rank, attempt, text);
        fflush(stdout);
        return;
    }
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    int n = snprintf(text, sizeof text, "attempt %s on %s", attempt, host);
    if (fd < 0 || ftruncate(fd, 0) != 0 || write(fd, text, (size_t)n) != n) {
        fprintf(stderr, "ckpt: %s: %s\n", path, strerror(errno));
        exit(9);
    }
}

// ---- to misbehave -----------------------------------------------------------------

// Blocked, so that they wait for us between two steps; MPI's threads inherit that.
static sigset_t block_orders(void)
{
    sigset_t orders;
    sigemptyset(&orders);
    sigaddset(&orders, SIGUSR1);
    sigaddset(&orders, SIGUSR2);
    sigprocmask(SIG_BLOCK, &orders, NULL);
    return orders;
}

// For ever, unless the port is not to be had. Also holds our stdout and our lock.
_Noreturn static void hold(int rank, int port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsid();
    bool held = fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0 &&
                listen(fd, 1) == 0;
    dprintf(1, "rank %d: port %d %s\n", rank, port, held ? "is held" : strerror(errno));
    while (held)
        pause();
    _exit(1);
}

static void hold_port(const struct run *run)
{
    const char *port = getenv("MASTER_PORT");
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0)
            hold(run->rank, port != NULL ? atoi(port) : 0);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void take_orders(const struct run *run)
{
    static const struct timespec at_once = {0, 0};
    switch (sigtimedwait(&run->orders, NULL, &at_once)) {
    case SIGUSR1: hold_port(run); break;
    case SIGUSR2:
        signal(SIGTERM, SIG_IGN);
        printf("rank %d: ignores SIGTERM\n", run->rank);
        fflush(stdout);
        break;
    default: // none was given
        break;
    }
}

// ---- the run ----------------------------------------------------------------------

static bool is_last(const struct run *run)
{
    int last = run->rank == 0 && exists(run, "stop");
    MPI_Bcast(&last, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return last != 0;
}

static void train(struct run *run)
{
    const struct timespec pause = {run->pause_ms / 1000,
                                   run->pause_ms % 1000 * 1000000L};
    while (run->steps < 0 || run->part.step < (uint64_t)run->steps) {
        take_orders(run);
        exchange(run);
        nanosleep(&pause, NULL);
        if (run->part.step % (uint64_t)run->every != 0)
            continue;
        save(run);
        if (is_last(run))
            return;
    }
}

static void report(const struct run *run)
{
    uint64_t own = part_digest(&run->part),
             *all = calloc((size_t)run->size, sizeof *all);
    MPI_Gather(&own, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (run->rank == 0 && all != NULL)
        print_digest(all, run->size, run->part.step);
    free(all);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--serial") == 0)
        return serial(arg_int(argc, argv, 2, 0), arg_int(argc, argv, 3, 0));
    struct run run = {.dir = argc > 1 ? argv[1] : ".",
                      .attempt = getenv("MUSTER_ATTEMPT")};
    if (run.attempt == NULL)
        run.attempt = "1";
    run.every = arg_int(argc, argv, 2, 10);
    run.pause_ms = arg_int(argc, argv, 3, 10);
    run.steps = arg_int(argc, argv, 4, -1);
    if (run.every < 1 || run.pause_ms < 0)
        return 2;
    run.orders = block_orders();
    lock_rank(run.dir, run.attempt);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.size);
    part_begin(&run.part, run.rank, run.size);
    load(&run);
    MPI_Barrier(MPI_COMM_WORLD);
    if (run.rank == 0)
        printf("attempt %s runs from step %" PRIu64 "\n", run.attempt, run.part.step);
    fflush(stdout);
    train(&run);
    report(&run);
    MPI_Finalize();
    return 0;
}
