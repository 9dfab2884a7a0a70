// Sockets of ranks.
#include "agent/pmi1.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/pmi1_parse.h"
#include "agent/pmi1_serve.h"
#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/coll.h"

enum {
    PIECE = 16 * 1024,
    OUT_MAX = 64 * 1024, // a rank that does not read its replies is not read either
    DRAIN_PIECES = 64,
};

struct rank {
    struct pmi1 *all;
    size_t local;
    int fd;    // -1: closed
    bool deaf; // it takes no replies any more; what it said before is still read
    struct event *readable, *writable;
    struct pmi1_parse *parse;
    struct buf out;
};

struct pmi1 {
    struct pmi1_conf conf;
    const struct pmi1_ops *ops;
    void *arg;
    struct pmi1_serve *serve;
    struct rank *ranks;
    size_t n;
};

static uint32_t rank_of(const struct pmi1 *p, size_t local)
{
    return p->conf.prepare->positions[p->conf.self]->ranks[local];
}

static void close_rank(struct rank *r)
{
    if (r->fd < 0)
        return;
    event_del(r->readable);
    event_del(r->writable);
    close(r->fd);
    r->fd = -1;
}

// ---- out --------------------------------------------------------------------

static void write_some(struct rank *r)
{
    while (r->fd >= 0 && buf_len(&r->out) > 0) {
        ssize_t n = send(r->fd, buf_data(&r->out), buf_len(&r->out), MSG_NOSIGNAL);
        if (n > 0) {
            buf_take(&r->out, (size_t)n);
        } else if (errno == EAGAIN) {
            event_add(r->writable, NULL);
            break;
        } else if (errno != EINTR) {
            r->deaf = true;
            buf_clear(&r->out);
        }
    }
    if (r->fd < 0)
        return;
    if (buf_len(&r->out) > OUT_MAX)
        event_del(r->readable);
    else
        event_add(r->readable, NULL);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    write_some(arg);
}

static void on_reply(void *arg, size_t local, const char *line)
{
    struct rank *r = &((struct pmi1 *)arg)->ranks[local];
    if (r->fd < 0 || r->deaf)
        return;
    buf_append_str(&r->out, line);
    write_some(r);
}

// ---- in ---------------------------------------------------------------------

static void take_commands(struct rank *r)
{
    ERR_AUTO err = ERR_INIT;
    const struct pmi1_cmd *cmd;
    int rc = 0;
    while (r->fd >= 0 && (rc = pmi1_parse_next(r->parse, &cmd, &err)) == 1)
        if (pmi1_serve_command(r->all->serve, r->local, cmd, &err) < 0) {
            rc = -1;
            break;
        }
    if (rc >= 0)
        return;
    log_warn(r->all->conf.log,
             "rank %u broke the PMI-1 protocol and is not heard any more: %s",
             rank_of(r->all, r->local), err_text(&err));
    close_rank(r);
}

// false: nothing was there, or nothing will come any more.
static bool read_some(struct rank *r)
{
    char piece[PIECE];
    ssize_t n = r->fd >= 0 ? read(r->fd, piece, sizeof piece) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_rank(r);
        return false;
    }
    pmi1_parse_feed(r->parse, piece, (size_t)n);
    take_commands(r);
    return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    read_some(arg);
}

void pmi1_drain(struct pmi1 *p, size_t local)
{
    for (int i = 0; i < DRAIN_PIECES && read_some(&p->ranks[local]); i++)
        ;
}

// ---- what concerns others -----------------------------------------------------

static void on_connected(void *arg, size_t local)
{
    struct pmi1 *p = arg;
    p->ops->connected(p->arg, local);
}

static void on_finalized(void *arg, size_t local)
{
    struct pmi1 *p = arg;
    p->ops->finalized(p->arg, local);
}

static void on_aborted(void *arg, size_t local, int code, const char *text)
{
    struct pmi1 *p = arg;
    p->ops->aborted(p->arg, local, code, text);
}

static void on_barrier(void *arg, uint64_t index, const void *data, size_t len)
{
    struct pmi1 *p = arg;
    Muster__Proc all = MUSTER__PROC__INIT, *procs[] = {&all};
    all.nspace = p->conf.prepare->nspace;
    all.rank = COLL_RANK_ALL;
    Muster__Coll part = MUSTER__COLL__INIT;
    part.kind = COLL_PMI1;
    part.n_procs = 1;
    part.procs = procs;
    part.index = index;
    part.data.len = len;
    part.data.data = (uint8_t *)(uintptr_t)data; // only read
    p->ops->part(p->arg, &part);
}

static void on_names(void *arg, size_t local, enum namestore_op op, const char *service,
                     const char *port)
{
    struct pmi1 *p = arg;
    // Apart from what PMIx clients publish, whose values have a form of their own.
    CLEANUP_FREE char *key = xasprintf("pmi1:%s", service);
    Muster__Proc proc = MUSTER__PROC__INIT;
    Muster__NamesItem item = MUSTER__NAMES_ITEM__INIT, *items[] = {&item};
    Muster__Names m = MUSTER__NAMES__INIT;
    proc.nspace = p->conf.prepare->nspace;
    proc.rank = rank_of(p, local);
    item.key = key;
    if (port != NULL)
        item.value = (ProtobufCBinaryData){
            .len = strlen(port), .data = (uint8_t *)(uintptr_t)port}; // only read
    m.op = op;
    m.proc = &proc;
    m.items = items;
    m.n_items = 1;
    p->ops->names(p->arg, local, &m);
}

void pmi1_names_done(struct pmi1 *p, size_t local, const Muster__NamesDone *done)
{
    const Muster__NamesItem *item = done->n_items > 0 ? done->items[0] : NULL;
    CLEANUP_FREE char *port =
        item != NULL ? xstrndup((const char *)item->value.data, item->value.len) : NULL;
    pmi1_serve_names_done(p->serve, local, done->status, port);
}

static void on_spawn(void *arg, size_t local, Muster__SpawnRequest *request)
{
    struct pmi1 *p = arg;
    Muster__Proc *parent = request->parent = xmalloc(sizeof *parent);
    muster__proc__init(parent);
    parent->nspace = xstrdup(p->conf.prepare->nspace);
    parent->rank = rank_of(p, local);
    p->ops->spawn(p->arg, local, request);
}

void pmi1_spawn_done(struct pmi1 *p, size_t local, const Muster__SpawnDone *done)
{
    const char *why = done->error[0] != '\0' ? done->error : "it was not started";
    pmi1_serve_spawn_done(p->serve, local, done->nspace[0] != '\0' ? "" : why);
}

void pmi1_result(struct pmi1 *p, const Muster__Coll *result)
{
    ERR_AUTO err = ERR_INIT;
    if (pmi1_serve_barrier_done(p->serve, result->index, result->status, result->why,
                                result->data.data, result->data.len, &err) == 0)
        return;
    err_prefix(&err, "PMI-1 barrier");
    p->ops->failed(p->arg, &err);
}

// ---- life -------------------------------------------------------------------

static void start_rank(struct pmi1 *p, size_t local, int fd)
{
    struct rank *r = &p->ranks[local];
    r->all = p;
    r->local = local;
    r->fd = fd;
    r->parse = pmi1_parse_create();
    proc_set_nonblock(fd);
    r->readable = event_new(p->conf.base, fd, EV_READ | EV_PERSIST, on_readable, r);
    r->writable = event_new(p->conf.base, fd, EV_WRITE, on_writable, r);
    event_add(r->readable, NULL);
}

struct pmi1 *pmi1_create(const struct pmi1_conf *conf, const int *fds,
                         const struct pmi1_ops *ops, void *arg)
{
    static const struct pmi1_serve_ops serve_ops = {
        on_reply,   on_connected, on_finalized, on_aborted,
        on_barrier, on_names,     on_spawn};
    struct pmi1 *p = xcalloc(1, sizeof *p);
    p->conf = *conf;
    p->ops = ops;
    p->arg = arg;
    p->serve = pmi1_serve_create(conf->prepare, conf->self, &serve_ops, p);
    p->n = conf->prepare->positions[conf->self]->n_ranks;
    p->ranks = xcalloc(p->n, sizeof *p->ranks);
    for (size_t i = 0; i < p->n; i++)
        start_rank(p, i, fds[i]);
    return p;
}

void pmi1_destroy(struct pmi1 *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->n; i++) {
        struct rank *r = &p->ranks[i];
        close_rank(r);
        event_free(r->readable);
        event_free(r->writable);
        pmi1_parse_destroy(r->parse);
        buf_free(&r->out);
    }
    pmi1_serve_destroy(p->serve);
    free(p->ranks);
    free(p);
}
