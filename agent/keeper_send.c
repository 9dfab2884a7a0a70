// Filling in messages.
#include "agent/keeper_send.h"

#include "agent/keeper_ranks.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/chan.h"

static void send_msg(const struct keeper_send *s, enum frame_kind kind,
                     const ProtobufCMessage *msg)
{
    struct frame f = s->head;
    f.kind = (uint16_t)kind;
    chan_send_msg(s->chan, &f, msg);
}

void keeper_send_started(const struct keeper_send *s, const struct keeper_ranks *ranks,
                         size_t first)
{
    size_t n = keeper_ranks_count(ranks) - first;
    CLEANUP_FREE Muster__RankPid *pids = xcalloc(n, sizeof *pids);
    CLEANUP_FREE Muster__RankPid **list = xcalloc(n, sizeof *list);
    for (size_t i = 0; i < n; i++) {
        muster__rank_pid__init(&pids[i]);
        pids[i].rank = keeper_ranks_number(ranks, first + i);
        pids[i].pid = (uint32_t)keeper_ranks_pid(ranks, first + i);
        list[i] = &pids[i];
    }
    Muster__Started m = MUSTER__STARTED__INIT;
    m.n_ranks = n;
    m.ranks = list;
    send_msg(s, FRAME_STARTED, &m.base);
}

void keeper_send_failed(const struct keeper_send *s, const struct err *why)
{
    Muster__Failed m = MUSTER__FAILED__INIT;
    CLEANUP_FREE char *text = xstrdup(err_text(why));
    m.text = text;
    m.code = why->code != 0 ? (uint32_t)why->code : 125;
    send_msg(s, FRAME_FAILED, &m.base);
}

void keeper_send_found(const struct keeper_send *s, uint32_t world,
                       const struct strv *paths, const struct err *why)
{
    Muster__LookupDone m = MUSTER__LOOKUP_DONE__INIT;
    CLEANUP_FREE char *text = xstrdup(why->text != NULL ? err_text(why) : "");
    m.world = world;
    m.paths = paths->v;
    m.n_paths = paths->n;
    m.error = text;
    m.code = (uint32_t)why->code;
    send_msg(s, FRAME_LOOKUP_DONE, &m.base);
}

void keeper_send_output(const struct keeper_send *s, uint32_t rank, uint32_t stream,
                        const uint8_t *data, size_t len, bool eof)
{
    Muster__Output m = MUSTER__OUTPUT__INIT;
    m.rank = rank;
    m.stream = stream;
    m.data.data = (uint8_t *)(uintptr_t)data; // only read
    m.data.len = len;
    m.eof = eof;
    send_msg(s, FRAME_OUTPUT, &m.base);
}

void keeper_send_exited(const struct keeper_send *s, uint32_t rank, pid_t pid,
                        int status)
{
    Muster__Exited m = MUSTER__EXITED__INIT;
    m.rank = rank;
    m.pid = (uint32_t)pid;
    m.status = status;
    m.ended_ms = loop_wall_ms();
    send_msg(s, FRAME_EXITED, &m.base);
}

void keeper_send_stopped(const struct keeper_send *s, const struct keeper_proof *p)
{
    Muster__Stopped m = MUSTER__STOPPED__INIT;
    m.n_leftovers = p->leftovers.n;
    m.leftovers = p->leftovers.v;
    m.took_ms = p->took_ms;
    m.killed = p->killed;
    send_msg(s, FRAME_STOPPED, &m.base);
}

void keeper_send_taken(const struct keeper_send *s, uint32_t rank, uint32_t bytes)
{
    Muster__Credit m = MUSTER__CREDIT__INIT;
    m.rank = rank;
    m.stream = 0; // stdin
    m.bytes = bytes;
    send_msg(s, FRAME_CREDIT, &m.base);
}

void keeper_send_ping(const struct keeper_send *s)
{
    struct frame f = s->head;
    f.kind = FRAME_PING;
    chan_send(s->chan, &f);
}
