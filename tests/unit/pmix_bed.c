// Fake pods around muster-pmixd.
#include "tests/unit/pmix_bed.h"

#include <criterion/criterion.h>
#include <event2/event.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/chan.h"
#include "wire/msg.h"

extern char **environ;

enum { RANK_IS_GONE = -200 }; // PMIX_ERR_PROC_TERM_WO_SYNC

char *bed_program(const char *name)
{
    const char *dir = getenv("MUSTER_BUILDDIR");
    char *path = xasprintf("%s/%s", dir != NULL ? dir : ".", name);
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

// ---- collectives ------------------------------------------------------------

static int expect(void *arg, const Muster__Coll *c, bool *expected, struct err *err)
{
    struct bed *b = arg;
    for (size_t i = 0; i < c->n_procs; i++) {
        uint32_t rank = c->procs[i]->rank;
        if (strcmp(c->procs[i]->nspace, b->nspace) != 0 ||
            (rank != COLL_RANK_ALL && rank >= b->size)) {
            err_set(err, "unknown process %s:%u", c->procs[i]->nspace, rank);
            return -1;
        }
        for (uint32_t p = 0; p < BED_PODS; p++)
            if (rank == COLL_RANK_ALL || rank / b->per_pod == p)
                expected[p] = true;
    }
    return 0;
}

static void send_coll_done(struct bed *b, size_t pod, const Muster__Coll *result)
{
    chan_send_msg(b->pods[pod].chan, &(struct frame){.kind = FRAME_COLL_DONE},
                  &result->base);
}

static void coll_done(void *arg, const Muster__Coll *result)
{
    bool to[BED_PODS] = {false};
    Muster__Coll m = *result;
    cr_assert_eq(expect(arg, result, to, NULL), 0);
    if (m.kind == COLL_GROUP)
        m.number = 1;
    for (size_t p = 0; p < BED_PODS; p++)
        if (to[p])
            send_coll_done(arg, p, &m);
}

static void coll_late(void *arg, size_t pod, const Muster__Coll *result)
{
    send_coll_done(arg, pod, result);
}

static const struct coll_ops coll_ops = {expect, coll_done, coll_late};

static void add_part(struct bed *b, uint32_t pod, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Coll *m = msg_unpack(f, &muster__coll__descriptor, &err);
    cr_assert_not_null(m, "%s", err_text(&err));
    cr_assert_eq(coll_add(b->colls, pod, m, &err), 0, "%s", err_text(&err));
    msg_free(m);
}

static void on_coll(struct bed_pod *pod, const struct frame *f)
{
    struct bed *b = pod->bed;
    if (!b->hold) {
        add_part(b, pod->index, f);
        return;
    }
    struct frame kept = *f;
    kept.src = pod->index;
    frame_encode(&b->held, &kept);
    b->nheld++;
}

void bed_release(struct bed *b)
{
    b->hold = false;
    struct frame f;
    for (size_t used; frame_decode(&b->held, &f, &used, NULL) == 1; b->nheld--) {
        add_part(b, f.src, &f);
        buf_take(&b->held, used);
    }
}

// ---- names ------------------------------------------------------------------

static void names_done(void *arg, uint32_t pod, const Muster__NamesDone *done)
{
    struct bed *b = arg;
    chan_send_msg(b->pods[pod].chan, &(struct frame){.kind = FRAME_NAMES_DONE},
                  &done->base);
}

static void on_bound(evutil_socket_t fd, short what, void *arg)
{
    struct bed *b = arg;
    namestore_expire(b->names, b->bound_pod, b->bound_id);
}

static void on_names(struct bed_pod *pod, const struct frame *f)
{
    struct bed *b = pod->bed;
    Muster__Names *m = msg_unpack(f, &muster__names__descriptor, NULL);
    cr_assert_not_null(m);
    bool waits = namestore_request(b->names, pod->index, m);
    if (waits && m->timeout_s > 0 && (b->bound_s == 0 || m->timeout_s < b->bound_s)) {
        b->bound_s = m->timeout_s;
        b->bound_pod = pod->index;
        b->bound_id = m->id;
        loop_timer_arm(b->bound, (uint64_t)m->timeout_s * 1000);
    }
    msg_free(m);
}

// ---- frames of a server -----------------------------------------------------

static void on_modex(struct bed_pod *pod, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Modex *m = msg_unpack(f, &muster__modex__descriptor, &err);
    cr_assert_not_null(m, "%s", err_text(&err));
    cr_assert_lt(m->proc->rank, pod->bed->size);
    uint32_t to = m->proc->rank / pod->bed->per_pod;
    struct frame out = {.kind = FRAME_MODEX, .src = pod->index, .dst = to};
    if (pod->bed->ranks[m->proc->rank].killed) {
        out = (struct frame){.kind = FRAME_MODEX_DONE};
        m->status = RANK_IS_GONE;
        to = pod->index;
    }
    pod->bed->modexes++;
    chan_send_msg(pod->bed->pods[to].chan, &out, &m->base);
    msg_free(m);
}

static void on_modex_done(struct bed_pod *pod, const struct frame *f)
{
    cr_assert_lt(f->dst, BED_PODS);
    chan_send(pod->bed->pods[f->dst].chan, f);
}

static void on_abort(struct bed_pod *pod, const struct frame *f)
{
    struct bed *b = pod->bed;
    Muster__Abort *m = msg_unpack(f, &muster__abort__descriptor, NULL);
    cr_assert_not_null(m);
    if (!b->aborted) {
        b->aborted = true;
        b->abort_rank = m->rank;
        b->abort_status = m->status;
        b->abort_text = xstrdup(m->text);
    }
    msg_free(m);
}

static void on_client(struct bed_pod *pod, const struct frame *f)
{
    Muster__PmixClient *m = msg_unpack(f, &muster__pmix_client__descriptor, NULL);
    cr_assert_not_null(m);
    cr_assert_lt(m->rank, pod->bed->size);
    struct bed_rank *r = &pod->bed->ranks[m->rank];
    r->connected = r->connected || !m->finalized;
    r->finalized = r->finalized || m->finalized;
    msg_free(m);
}

static void on_ready(struct bed_pod *pod, const struct frame *f)
{
    Muster__PmixReady *m = msg_unpack(f, &muster__pmix_ready__descriptor, NULL);
    cr_assert_not_null(m);
    free(pod->error);
    pod->error = xstrdup(m->error);
    pod->ready |= m->nspace[0] != '\0' || m->error[0] != '\0'; // else it stands by
    for (size_t i = 0; i < m->n_ranks; i++) {
        cr_assert_lt(m->ranks[i]->rank, pod->bed->size);
        struct bed_rank *r = &pod->bed->ranks[m->ranks[i]->rank];
        strv_add_all(&r->env, m->ranks[i]->env, m->ranks[i]->n_env);
    }
    msg_free(m);
}

static void on_notify(struct bed_pod *pod, const struct frame *f)
{
    for (uint32_t p = 0; p < BED_PODS; p++)
        if (p != pod->index)
            chan_send(pod->bed->pods[p].chan, f);
}

static void on_log(struct bed_pod *pod, const struct frame *f)
{
    Muster__PmixLog *m = msg_unpack(f, &muster__pmix_log__descriptor, NULL);
    cr_assert_not_null(m);
    cr_assert_eq(m->stream, 2);
    cr_assert_str_eq(m->proc->nspace, pod->bed->nspace);
    pod->bed->logged += m->text.len;
    msg_free(m);
}

static void on_frame(void *arg, const struct frame *f)
{
    switch (f->kind) {
    case FRAME_PMIX_READY: on_ready(arg, f); break;
    case FRAME_COLL: on_coll(arg, f); break;
    case FRAME_MODEX: on_modex(arg, f); break;
    case FRAME_MODEX_DONE: on_modex_done(arg, f); break;
    case FRAME_ABORT: on_abort(arg, f); break;
    case FRAME_NAMES: on_names(arg, f); break;
    case FRAME_NOTIFY: on_notify(arg, f); break;
    case FRAME_PMIX_LOG: on_log(arg, f); break;
    case FRAME_PMIX_CLIENT: on_client(arg, f); break;
    default: cr_assert_fail("a server sent %s", frame_kind_name(f->kind));
    }
}

static void on_closed(void *arg, const struct err *why)
{
    ((struct bed_pod *)arg)->closed = true;
}

static const struct chan_ops chan_ops = {on_frame, on_closed};

// ---- servers ----------------------------------------------------------------

static void start_server(struct bed *b, uint32_t index)
{
    ERR_AUTO err = ERR_INIT;
    struct bed_pod *pod = &b->pods[index];
    CLEANUP_FREE char *path = bed_program("agent/muster-pmixd");
    cr_assert_not_null(path);
    char dir[] = "/tmp/pmix-bed.XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    int sv[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    char *argv[] = {path, NULL};
    struct proc_fd fd = {sv[1], 3};
    struct proc_spec spec = {.path = path,
                             .argv = argv,
                             .envp = environ,
                             .fds = &fd,
                             .nfds = 1,
                             .death_signal = SIGKILL};
    *pod = (struct bed_pod){.bed = b, .index = index, .dir = xstrdup(dir)};
    pod->pid = proc_spawn(&spec, &err);
    cr_assert_gt(pod->pid, 0, "%s", err_text(&err));
    close(sv[1]);
    pod->chan = chan_create(b->base, sv[0], sv[0], &chan_ops, pod);
}

struct bed *bed_create(uint32_t per_pod)
{
    struct bed *b = xcalloc(1, sizeof *b);
    b->base = loop_create();
    snprintf(b->nspace, sizeof b->nspace, "muster.test.%d", (int)getpid());
    b->per_pod = per_pod;
    b->size = per_pod * BED_PODS;
    cr_assert_leq(b->size, BED_RANKS_MAX);
    b->colls = coll_create(BED_PODS, NULL, &coll_ops, b);
    b->names = namestore_create(NULL, names_done, b);
    b->bound = loop_timer(b->base, on_bound, b);
    for (uint32_t r = 0; r < b->size; r++)
        b->ranks[r] = (struct bed_rank){.bed = b, .rank = r};
    for (uint32_t p = 0; p < BED_PODS; p++)
        start_server(b, p);
    return b;
}

void bed_send_setup(struct bed *b, uint32_t self, char *const nodes[BED_PODS])
{
    uint32_t ranks[BED_RANKS_MAX];
    Muster__Position pos[BED_PODS], *list[BED_PODS];
    for (uint32_t r = 0; r < b->size; r++)
        ranks[r] = r;
    for (uint32_t p = 0; p < BED_PODS; p++) {
        muster__position__init(&pos[p]);
        pos[p].node = nodes[p];
        pos[p].n_ranks = b->per_pod;
        pos[p].ranks = ranks + p * b->per_pod;
        list[p] = &pos[p];
    }
    Muster__PmixSetup m;
    muster__pmix_setup__init(&m);
    m.nspace = b->nspace;
    m.n_positions = BED_PODS;
    m.positions = list;
    m.self = self;
    m.uid = getuid();
    m.gid = getgid();
    m.universe_size = b->size;
    m.tmpdir = b->pods[self].dir;
    chan_send_msg(b->pods[self].chan, &(struct frame){.kind = FRAME_PMIX_SETUP},
                  &m.base);
}

void bed_setup(struct bed *b)
{
    char n0[] = "n0", n1[] = "n1", *nodes[BED_PODS] = {n0, n1};
    for (uint32_t p = 0; p < BED_PODS; p++)
        bed_send_setup(b, p, nodes);
    cr_assert(bed_until(b, bed_all_ready, 10000), "no PMIX_READY");
    for (uint32_t p = 0; p < BED_PODS; p++)
        cr_assert_str_eq(b->pods[p].error, "");
}

// ---- ranks ------------------------------------------------------------------

static void on_exit_of_rank(evutil_socket_t fd, short what, void *arg)
{
    struct bed_rank *r = arg;
    cr_assert_eq(waitpid(r->pid, &r->status, 0), r->pid);
    event_del(r->exited);
    r->gone = true;
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
    struct bed_rank *r = arg;
    ssize_t n = read(fd, buf_reserve(&r->out, 4096), 4096);
    if (n > 0)
        buf_commit(&r->out, (size_t)n);
    else
        event_del(r->readable);
}

static void rank_environment(const struct bed_rank *r, struct strv *env)
{
    for (char **e = environ; *e != NULL; e++)
        strv_add(env, *e);
    for (size_t i = 0; i < r->env.n; i++)
        strv_putenv(env, r->env.v[i]);
    strv_setenv(env, "JSM_JSRUN_PORT", "0");
    strv_setenv(env, "OMPI_MCA_btl_tcp_if_include", "lo");
    strv_setenv(env, "OMPI_MCA_mpi_yield_when_idle", "1");
    strv_setenv(env, "OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    strv_setenv(env, "OMPI_ALLOW_RUN_AS_ROOT", "1");
    strv_setenv(env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // The fake pods share /dev/shm, and Open MPI names its files there by host, job and
    // local rank: in one directory they would overwrite each other's.
    const char *dir = r->bed->pods[r->rank / r->bed->per_pod].dir;
    strv_setenv(env, "OMPI_MCA_btl_vader_backing_directory", dir);
    strv_setenv(env, "TMPDIR", dir);
}

void bed_start(struct bed *b, uint32_t rank, char *const *argv)
{
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO env = STRV_INIT;
    struct bed_rank *r = &b->ranks[rank];
    rank_environment(r, &env);
    int p[2];
    cr_assert_eq(pipe(p), 0);
    struct proc_fd fd = {p[1], 1};
    struct proc_spec spec = {.path = argv[0],
                             .argv = argv,
                             .envp = env.v,
                             .fds = &fd,
                             .nfds = 1,
                             .death_signal = SIGKILL};
    r->pid = proc_spawn(&spec, &err);
    cr_assert_gt(r->pid, 0, "%s", err_text(&err));
    close(p[1]);
    r->out_fd = p[0];
    r->exit_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    cr_assert_geq(r->exit_fd, 0);
    r->exited =
        event_new(b->base, r->exit_fd, EV_READ | EV_PERSIST, on_exit_of_rank, r);
    r->readable = event_new(b->base, r->out_fd, EV_READ | EV_PERSIST, on_output, r);
    event_add(r->exited, NULL);
    event_add(r->readable, NULL);
}

void bed_start_all(struct bed *b, char *const *argv)
{
    for (uint32_t r = 0; r < b->size; r++)
        bed_start(b, r, argv);
}

void bed_kill_rank(struct bed *b, uint32_t rank)
{
    kill(b->ranks[rank].pid, SIGKILL);
    coll_fail_rank(b->colls, b->nspace, rank, -200,
                   "a rank was killed"); // TERM_WO_SYNC
}

// ---- waiting ----------------------------------------------------------------

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    ((struct bed *)arg)->timed_out = true;
}

bool bed_until(struct bed *b, bool (*cond)(const struct bed *b), int ms)
{
    struct event *timer = loop_timer(b->base, on_timeout, b);
    loop_timer_arm(timer, (uint64_t)ms);
    b->timed_out = false;
    while (!cond(b) && !b->timed_out)
        event_base_loop(b->base, EVLOOP_ONCE);
    loop_timer_free(timer);
    return cond(b);
}

bool bed_all_ready(const struct bed *b)
{
    for (size_t p = 0; p < BED_PODS; p++)
        if (!b->pods[p].ready)
            return false;
    return true;
}

bool bed_all_gone(const struct bed *b)
{
    for (size_t r = 0; r < b->size; r++)
        if (b->ranks[r].pid != 0 && !b->ranks[r].gone)
            return false;
    return true;
}

bool bed_aborted(const struct bed *b)
{
    return b->aborted;
}

bool bed_server_ends(struct bed *b, uint32_t pod, int ms)
{
    struct bed_pod *p = &b->pods[pod];
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, p->pid, 0),
                           .events = POLLIN};
    cr_assert_geq(ended.fd, 0);
    chan_destroy(p->chan);
    p->chan = NULL;
    bool in_time = poll(&ended, 1, ms) == 1;
    close(ended.fd);
    if (!in_time)
        return false;
    int status;
    cr_assert_eq(waitpid(p->pid, &status, 0), p->pid);
    p->pid = 0;
    return status == 0;
}

// ---- the end ----------------------------------------------------------------

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

static void end_rank(struct bed_rank *r)
{
    strv_free(&r->env);
    buf_free(&r->out);
    if (r->pid == 0)
        return;
    if (!r->gone) {
        kill(r->pid, SIGKILL);
        waitpid(r->pid, NULL, 0);
    }
    event_free(r->exited);
    event_free(r->readable);
    close(r->exit_fd);
    close(r->out_fd);
}

static void end_pod(struct bed_pod *pod)
{
    if (pod->pid > 0) {
        kill(pod->pid, SIGKILL);
        waitpid(pod->pid, NULL, 0);
    }
    chan_destroy(pod->chan);
    nftw(pod->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(pod->dir);
    free(pod->error);
}

void bed_destroy(struct bed *b)
{
    for (uint32_t r = 0; r < b->size; r++)
        end_rank(&b->ranks[r]);
    for (uint32_t p = 0; p < BED_PODS; p++)
        end_pod(&b->pods[p]);
    coll_destroy(b->colls);
    namestore_destroy(b->names);
    loop_timer_free(b->bound);
    buf_free(&b->held);
    free(b->abort_text);
    loop_destroy(b->base);
    free(b);
}
