// Starting the ranks and keeping book of them.
#include "agent/keeper_ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/keeper_lookup.h"
#include "agent/keeper_state.h"
#include "agent/rank_fds.h"
#include "agent/rank_io.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"

enum { FILES_MAX = 1 << 16 };

struct rank {
    struct keeper_ranks *all; // borrowed
    uint32_t number;
    pid_t pid; // 0: not started
    enum rank_state state;
    struct rank_io *io;
};

struct keeper_ranks {
    struct event_base *base;
    keeper_ranks_output_fn output;
    keeper_ranks_taken_fn taken;
    void *arg;
    struct rank **rank; // each by itself, never moved: streams point to it
    size_t n;
    int *fds; // owned: the ranks' PMI sockets, until they are started
    size_t nfds;
    int pmi_sock;        // that they come over; -1: none
    struct rlimit files; // of the ranks; the keeper has more
};

// Three descriptors a rank: what a container allows by default (1,024) is little where a rank has
// one CPU. Ranks get what they would have without a keeper.
static void raise_files(struct rlimit *before)
{
    getrlimit(RLIMIT_NOFILE, before);
    struct rlimit more = *before;
    rlim_t most = more.rlim_max < FILES_MAX ? more.rlim_max : FILES_MAX;
    if (more.rlim_cur >= most)
        return;
    more.rlim_cur = most;
    setrlimit(RLIMIT_NOFILE, &more);
}

struct keeper_ranks *keeper_ranks_create(struct event_base *base,
                                         keeper_ranks_output_fn output,
                                         keeper_ranks_taken_fn taken, void *arg)
{
    struct keeper_ranks *rs = xcalloc(1, sizeof *rs);
    rs->base = base;
    rs->output = output;
    rs->taken = taken;
    rs->arg = arg;
    rs->pmi_sock = -1;
    raise_files(&rs->files);
    return rs;
}

void keeper_ranks_forget(struct keeper_ranks *rs)
{
    for (size_t i = 0; i < rs->n; i++) {
        rank_io_destroy(rs->rank[i]->io);
        free(rs->rank[i]);
    }
    free(rs->rank);
    rs->rank = NULL;
    rs->n = 0;
}

static void close_fds(struct keeper_ranks *rs)
{
    rank_fds_close(rs->fds, rs->nfds);
    free(STEAL(rs->fds));
    rs->nfds = 0;
}

void keeper_ranks_destroy(struct keeper_ranks *rs)
{
    if (rs == NULL)
        return;
    keeper_ranks_forget(rs);
    close_fds(rs);
    if (rs->pmi_sock >= 0)
        close(rs->pmi_sock);
    free(rs);
}

void keeper_ranks_pmi_from(struct keeper_ranks *rs, int sock)
{
    rs->pmi_sock = sock;
}

static int take_fds(struct keeper_ranks *rs, size_t n, struct err *err)
{
    rs->fds = xcalloc(n, sizeof *rs->fds);
    if (rank_fds_take(rs->pmi_sock, rs->fds, n, err) < 0)
        return -1;
    rs->nfds = n;
    return 0;
}

// ---- start ------------------------------------------------------------------

static int lacks(const char *what, struct err *err)
{
    err_set_kind(err, "PROTOCOL", 125, "SPAWN without %s", what);
    return -1;
}

static int check_program(const Muster__Program *p, struct err *err)
{
    if (p->path[0] == '\0')
        return lacks("a program", err);
    if (p->n_argv == 0)
        return lacks("an argv", err);
    return p->wdir[0] != '\0' ? keeper_lookup_wdir(p->wdir, err) : 0;
}

static int check_spawn(const Muster__Spawn *spawn, struct err *err)
{
    if (spawn->n_ranks == 0)
        return lacks("ranks", err);
    for (size_t i = 0; i < spawn->n_ranks; i++)
        if (spawn->ranks[i]->program >= spawn->n_programs)
            return lacks("a program", err);
    for (size_t i = 0; i < spawn->n_programs; i++)
        if (check_program(spawn->programs[i], err) < 0)
            return -1;
    return 0;
}

static void on_output(void *arg, uint32_t stream, const uint8_t *data, size_t len,
                      bool eof)
{
    struct rank *r = arg;
    r->all->output(r->all->arg, r->number, stream, data, len, eof);
    if (rank_io_ended(r->io))
        r->state = rank_state_next(r->state, RANK_OUTPUT_END);
}

static void on_taken(void *arg, uint32_t bytes)
{
    struct rank *r = arg;
    r->all->taken(r->all->arg, r->number, bytes);
}

static char **null_terminated(char **v, size_t n)
{
    char **out = xcalloc(n + 1, sizeof *out);
    memcpy(out, v, n * sizeof *out);
    return out;
}

// stdin, stdout, stderr, and the PMI socket of those that get one (-1: none).
static size_t fds_of(const struct rank *r, int pmi, struct proc_fd *fds)
{
    memcpy(fds, rank_io_child_fds(r->io), RANK_IO_STREAMS * sizeof *fds);
    fds[RANK_IO_STREAMS] = (struct proc_fd){pmi, RANK_FDS_PMI};
    return RANK_IO_STREAMS + (pmi >= 0 ? 1 : 0);
}

static int start_rank(struct rank *r, const Muster__Spawn *spawn,
                      const Muster__SpawnRank *own, int pmi, struct err *err)
{
    const Muster__Program *program = spawn->programs[own->program];
    STRV_AUTO env = STRV_INIT;
    strv_add_all(&env, program->env, program->n_env);
    for (size_t i = 0; i < own->n_env; i++)
        strv_putenv(&env, own->env[i]);
    CLEANUP_FREE char **argv = null_terminated(program->argv, program->n_argv);
    char *none[] = {NULL};
    r->io = rank_io_create(r->all->base, spawn->output_credit, on_output,
                           own->input ? on_taken : NULL, r, err);
    if (r->io == NULL)
        return -1;
    struct proc_fd fds[RANK_IO_STREAMS + 1];
    struct proc_spec spec = {
        .path = program->path,
        .argv = argv,
        .envp = env.n > 0 ? env.v : none,
        .dir = program->wdir[0] != '\0' ? program->wdir : NULL,
        .fds = fds,
        .nfds = fds_of(r, pmi, fds),
        .own_session = true,
        .death_signal = SIGKILL,
        .files = &r->all->files,
    };
    pid_t pid = proc_spawn(&spec, err);
    if (pid < 0)
        return -1;
    r->pid = pid;
    rank_io_started(r->io);
    return 0;
}

static int start_all(struct keeper_ranks *rs, const Muster__Spawn *spawn,
                     struct err *err)
{
    rs->rank = xrealloc(rs->rank, rs->n + spawn->n_ranks, sizeof(struct rank *));
    for (size_t i = 0; i < spawn->n_ranks; i++) {
        struct rank *r = rs->rank[rs->n++] = xcalloc(1, sizeof *r);
        r->all = rs;
        r->number = spawn->ranks[i]->rank;
        int pmi = rs->nfds > 0 ? rs->fds[i] : -1;
        if (start_rank(r, spawn, spawn->ranks[i], pmi, err) < 0) {
            err_prefix(err, "rank %u", r->number);
            rs->n--;
            rank_io_destroy(r->io);
            free(r);
            return -1;
        }
    }
    return 0;
}

int keeper_ranks_start(struct keeper_ranks *rs, const Muster__Spawn *spawn,
                       struct err *err)
{
    int rc = check_spawn(spawn, err);
    if (rc == 0 && spawn->pmi)
        rc = take_fds(rs, spawn->n_ranks, err);
    if (rc == 0)
        rc = start_all(rs, spawn, err);
    close_fds(rs);
    return rc;
}

// ---- while they run ---------------------------------------------------------

size_t keeper_ranks_count(const struct keeper_ranks *rs)
{
    return rs->n;
}

uint32_t keeper_ranks_number(const struct keeper_ranks *rs, size_t i)
{
    return rs->rank[i]->number;
}

pid_t keeper_ranks_pid(const struct keeper_ranks *rs, size_t i)
{
    return rs->rank[i]->pid;
}

static bool runs(const struct rank *r)
{
    return r->pid > 0 && (r->state == RANK_RUNNING || r->state == RANK_SILENT);
}

bool keeper_ranks_exited(struct keeper_ranks *rs, pid_t pid, uint32_t *rank)
{
    for (size_t i = 0; i < rs->n; i++) {
        struct rank *r = rs->rank[i];
        if (r->pid != pid || !runs(r))
            continue;
        r->state = rank_state_next(r->state, RANK_EXIT);
        *rank = r->number;
        return true;
    }
    return false;
}

size_t keeper_ranks_running(const struct keeper_ranks *rs)
{
    size_t n = 0;
    for (size_t i = 0; i < rs->n; i++)
        n += runs(rs->rank[i]) ? 1 : 0;
    return n;
}

bool keeper_ranks_drained(const struct keeper_ranks *rs)
{
    for (size_t i = 0; i < rs->n; i++)
        if (!rank_io_ended(rs->rank[i]->io))
            return false;
    return true;
}

void keeper_ranks_signal(struct keeper_ranks *rs, int number)
{
    for (size_t i = 0; i < rs->n; i++)
        if (runs(rs->rank[i]))
            kill(-rs->rank[i]->pid, number);
}

bool keeper_ranks_grouped(const struct keeper_ranks *rs)
{
    for (size_t i = 0; i < rs->n; i++)
        if (rs->rank[i]->pid > 0 && kill(-rs->rank[i]->pid, 0) == 0)
            return true;
    return false;
}

void keeper_ranks_input(struct keeper_ranks *rs, uint32_t rank, const void *data,
                        size_t n, bool eof)
{
    for (size_t i = 0; i < rs->n; i++)
        if (rank == KEEPER_RANKS_ALL || rs->rank[i]->number == rank)
            rank_io_input(rs->rank[i]->io, data, n, eof);
}

void keeper_ranks_credit(struct keeper_ranks *rs, uint32_t rank, uint32_t stream,
                         uint32_t bytes)
{
    for (size_t i = 0; i < rs->n; i++)
        if (rs->rank[i]->number == rank)
            rank_io_credit(rs->rank[i]->io, stream, bytes);
}

void keeper_ranks_finish(struct keeper_ranks *rs)
{
    for (size_t i = 0; i < rs->n; i++)
        rank_io_finish(rs->rank[i]->io);
}
