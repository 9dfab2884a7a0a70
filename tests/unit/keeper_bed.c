// The agent's part of the conversation with a keeper.
#include "tests/unit/keeper_bed.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/keeper_main.h"
#include "agent/rank_io.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/msg.h"

static void run_keeper(int agent, int pmixd, const char *path)
    __attribute__((noreturn));

static void run_keeper(int agent, int pmixd, const char *path)
{
    char *argv[] = {xstrdup("keeper"), xstrdup("--pmixd"), NULL, NULL};
    int argc = path != NULL ? 3 : 1;
    argv[2] = path != NULL ? xstrdup(path) : NULL;
    // Above their places first, so that neither overwrites the other.
    agent = dup2(agent, 20);
    if (pmixd >= 0)
        pmixd = dup2(pmixd, 21);
    dup2(agent, 3);
    if (pmixd >= 0)
        dup2(pmixd, 4);
    close_range(pmixd >= 0 ? 5 : 4, ~0U, 0);
    int rc = keeper_main(argc, argv);
    _exit(rc);
}

void bed_start(struct bed *b, const char *pmixd)
{
    int sv[2], px[2] = {-1, -1};
    *b = (struct bed){.pmixd_fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0 ||
        (pmixd != NULL && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, px) < 0))
        abort();
    b->keeper = fork();
    if (b->keeper == 0)
        run_keeper(sv[1], px[1], pmixd);
    close(sv[1]);
    b->fd = sv[0];
    if (pmixd == NULL)
        return;
    close(px[1]);
    b->pmixd_fd = px[0];
}

// ---- to the keeper ----------------------------------------------------------

static const struct frame HEAD = {.job = 77, .term = 5, .attempt = 3};

static void write_all(struct bed *b, const struct buf *bytes)
{
    for (size_t at = 0; at < buf_len(bytes);) {
        ssize_t n =
            send(b->fd, buf_data(bytes) + at, buf_len(bytes) - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return;
        at += n > 0 ? (size_t)n : 0;
    }
}

void bed_send(struct bed *b, uint16_t kind, const void *body, size_t len)
{
    BUF_AUTO out = BUF_INIT;
    struct frame f = HEAD;
    f.kind = kind;
    f.body = body;
    f.len = len;
    frame_encode(&out, &f);
    write_all(b, &out);
}

static void send_msg(struct bed *b, uint16_t kind, const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f;
    msg_pack(&f, &body, msg);
    bed_send(b, kind, f.body, f.len);
}

void bed_spawn(struct bed *b, const struct bed_spawn *s)
{
    char sh[] = "/bin/sh", c[] = "-c", path_env[] = "PATH=/usr/bin:/bin", empty[] = "";
    CLEANUP_FREE char *path = xstrdup(s->path != NULL ? s->path : sh);
    CLEANUP_FREE char *script = xstrdup(s->script != NULL ? s->script : "");
    CLEANUP_FREE char *wdir = xstrdup(s->wdir != NULL ? s->wdir : "");
    CLEANUP_FREE char *own = xstrdup(s->rank_env != NULL ? s->rank_env : "");
    char *argv[] = {path, c, script}, *base_env[] = {path_env, NULL};
    char *const *common = s->env != NULL ? s->env : base_env;
    Muster__Spawn m = MUSTER__SPAWN__INIT;
    Muster__SpawnRank ranks[BED_RANKS], *list[BED_RANKS];
    for (uint32_t i = 0; i < s->ranks; i++) {
        muster__spawn_rank__init(&ranks[i]);
        ranks[i].rank = s->first + i;
        ranks[i].n_env = s->first + i == s->rank_env_of && s->rank_env != NULL ? 1 : 0;
        ranks[i].env = &own;
        list[i] = &ranks[i];
        for (int stream = 1; stream < 3; stream++)
            b->rank[s->first + i].granted[stream] = s->credit;
    }
    Muster__Program program = MUSTER__PROGRAM__INIT, *programs[] = {&program};
    program.path = path;
    program.argv = argv;
    program.n_argv = s->script != NULL ? 3 : 1;
    program.wdir = s->wdir != NULL ? wdir : empty;
    program.env = (char **)(uintptr_t)common;
    while (common[program.n_env] != NULL)
        program.n_env++;
    m.programs = programs;
    m.n_programs = 1;
    m.ranks = list;
    m.n_ranks = s->ranks;
    m.output_credit = s->credit;
    send_msg(b, FRAME_SPAWN, &m.base);
}

void bed_signal(struct bed *b, uint32_t number)
{
    Muster__Signal m = MUSTER__SIGNAL__INIT;
    m.number = number;
    send_msg(b, FRAME_SIGNAL, &m.base);
}

void bed_stop(struct bed *b, uint32_t grace_ms)
{
    Muster__Stop m = MUSTER__STOP__INIT;
    m.grace_ms = grace_ms;
    send_msg(b, FRAME_STOP, &m.base);
}

void bed_pre_stop(struct bed *b, int signo, uint32_t ms, uint32_t grace_ms)
{
    Muster__Stop m = MUSTER__STOP__INIT;
    m.grace_ms = grace_ms;
    m.pre_stop_signal = (uint32_t)signo;
    m.pre_stop_ms = ms;
    send_msg(b, FRAME_STOP, &m.base);
}

void bed_credit(struct bed *b, uint32_t rank, uint32_t stream, uint32_t bytes)
{
    Muster__Credit m = MUSTER__CREDIT__INIT;
    m.rank = rank;
    m.stream = stream;
    m.bytes = bytes;
    if (rank < BED_RANKS && stream < 3)
        b->rank[rank].granted[stream] += bytes;
    send_msg(b, FRAME_CREDIT, &m.base);
}

// ---- from the keeper --------------------------------------------------------

static void on_output(struct bed *b, const Muster__Output *m)
{
    struct bed_rank *r = &b->rank[m->rank];
    if (r->eof[m->stream] || m->data.len > FRAME_BULK_MAX)
        b->broke_rules = true;
    buf_append(&r->out[m->stream], m->data.data, m->data.len);
    r->eof[m->stream] = m->eof;
    if (buf_len(&r->out[m->stream]) > r->granted[m->stream])
        b->broke_rules = true;
    if (b->auto_credit && m->data.len > 0)
        bed_credit(b, m->rank, m->stream, (uint32_t)m->data.len);
}

static void on_exited(struct bed *b, const Muster__Exited *m)
{
    struct bed_rank *r = &b->rank[m->rank];
    if (r->exited || (pid_t)m->pid != r->pid)
        b->broke_rules = true;
    r->exited = true;
    r->status = m->status;
}

static void on_started(struct bed *b, const Muster__Started *m)
{
    for (size_t i = 0; i < m->n_ranks; i++)
        b->rank[m->ranks[i]->rank].pid = (pid_t)m->ranks[i]->pid;
}

static void on_failed(struct bed *b, const Muster__Failed *m)
{
    b->failed_code = m->code;
    free(b->failed_text);
    b->failed_text = xstrdup(m->text);
}

static void on_stopped(struct bed *b, const Muster__Stopped *m)
{
    b->leftovers = m->n_leftovers;
    b->took_ms = m->took_ms;
    b->killed = m->killed;
}

static void on_frame(struct bed *b, const struct frame *f)
{
    const ProtobufCMessageDescriptor *type =
        f->kind == FRAME_OUTPUT    ? &muster__output__descriptor
        : f->kind == FRAME_EXITED  ? &muster__exited__descriptor
        : f->kind == FRAME_STARTED ? &muster__started__descriptor
        : f->kind == FRAME_FAILED  ? &muster__failed__descriptor
                                   : &muster__stopped__descriptor;
    void *m = msg_unpack(f, type, NULL);
    if (m == NULL) {
        b->broke_rules = true;
        return;
    }
    switch (f->kind) {
    case FRAME_OUTPUT: on_output(b, m); break;
    case FRAME_EXITED: on_exited(b, m); break;
    case FRAME_STARTED: on_started(b, m); break;
    case FRAME_FAILED: on_failed(b, m); break;
    case FRAME_STOPPED: on_stopped(b, m); break;
    default: b->broke_rules = true;
    }
    msg_free(m);
}

static bool read_more(struct bed *b)
{
    struct pollfd p = {.fd = b->fd, .events = POLLIN};
    if (poll(&p, 1, BED_WAIT_MS) <= 0)
        return false;
    ssize_t n = read(b->fd, buf_reserve(&b->in, 65536), 65536);
    if (n <= 0) {
        b->closed = true;
        return false;
    }
    buf_commit(&b->in, (size_t)n);
    return true;
}

bool bed_take(struct bed *b)
{
    size_t used;
    int got;
    while ((got = frame_decode(&b->in, &b->last, &used, NULL)) == 0)
        if (!read_more(b))
            return false;
    if (got < 0)
        return false;
    on_frame(b, &b->last);
    buf_take(&b->in, used);
    b->last.body = NULL;
    return true;
}

bool bed_until(struct bed *b, uint16_t kind)
{
    while (bed_take(b))
        if (b->last.kind == kind)
            return true;
    return false;
}

bool bed_until_text(struct bed *b, uint32_t rank, uint32_t stream, const char *text)
{
    while (strstr(bed_text(b, rank, stream), text) == NULL)
        if (!bed_take(b))
            return false;
    return true;
}

bool bed_until_eof(struct bed *b, uint32_t rank, uint32_t stream)
{
    while (!b->rank[rank].eof[stream])
        if (!bed_take(b))
            return false;
    return true;
}

bool bed_until_exited(struct bed *b, uint32_t rank)
{
    while (!b->rank[rank].exited)
        if (!bed_take(b))
            return false;
    return true;
}

const char *bed_text(struct bed *b, uint32_t rank, uint32_t stream)
{
    struct buf *out = &b->rank[rank].out[stream];
    *buf_reserve(out, 1) = '\0';
    return (const char *)buf_data(out);
}

pid_t bed_number(struct bed *b, int i)
{
    const char *p = bed_text(b, 0, RANK_IO_STDOUT);
    for (; i > 0; i--) {
        p += strspn(p, "0123456789");
        p += strcspn(p, "0123456789");
    }
    return (pid_t)atoi(p);
}

// ---- the end ----------------------------------------------------------------

int bed_end(struct bed *b)
{
    int status = -1;
    close(b->fd);
    waitpid(b->keeper, &status, 0);
    if (b->pmixd_fd >= 0)
        close(b->pmixd_fd);
    for (int i = 0; i < BED_RANKS; i++)
        for (int stream = 0; stream < 3; stream++)
            buf_free(&b->rank[i].out[stream]);
    buf_free(&b->in);
    free(b->failed_text);
    b->failed_text = NULL;
    return status;
}

bool bed_gone(pid_t pid)
{
    uint64_t end = loop_now_ms() + BED_WAIT_MS;
    while (loop_now_ms() < end) {
        char state = proc_state(pid);
        if (state == '\0' || state == 'Z')
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}
