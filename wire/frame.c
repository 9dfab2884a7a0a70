// Encoding and decoding of frame headers.
#include "wire/frame.h"

#include <endian.h>
#include <string.h>

const char *frame_kind_name(uint16_t kind)
{
    static const char *const names[] = {
        [FRAME_HELLO] = "HELLO",
        [FRAME_REFUSE] = "REFUSE",
        [FRAME_PING] = "PING",
        [FRAME_BYE] = "BYE",
        [FRAME_BYE_ACK] = "BYE_ACK",
        [FRAME_ACK] = "ACK",
        [FRAME_RESUMED] = "RESUMED",
        [FRAME_ATTACH] = "ATTACH",
        [FRAME_ATTACHED] = "ATTACHED",
        [FRAME_LOST] = "LOST",
        [FRAME_REATTACH] = "REATTACH",
        [FRAME_ROLL] = "ROLL",
        [FRAME_CLAIM] = "CLAIM",
        [FRAME_RECORD] = "RECORD",
        [FRAME_GRANT] = "GRANT",
        [FRAME_DENY] = "DENY",
        [FRAME_PREPARE] = "PREPARE",
        [FRAME_READY] = "READY",
        [FRAME_FAILED] = "FAILED",
        [FRAME_GO] = "GO",
        [FRAME_STARTED] = "STARTED",
        [FRAME_EXITED] = "EXITED",
        [FRAME_SIGNAL] = "SIGNAL",
        [FRAME_STOP] = "STOP",
        [FRAME_STOPPED] = "STOPPED",
        [FRAME_DONE] = "DONE",
        [FRAME_OUTPUT] = "OUTPUT",
        [FRAME_INPUT] = "INPUT",
        [FRAME_CREDIT] = "CREDIT",
        [FRAME_ACCOUNT] = "ACCOUNT",
        [FRAME_INSPECT] = "INSPECT",
        [FRAME_VERDICT] = "VERDICT",
        [FRAME_COLL] = "COLL",
        [FRAME_COLL_DONE] = "COLL_DONE",
        [FRAME_MODEX] = "MODEX",
        [FRAME_MODEX_DONE] = "MODEX_DONE",
        [FRAME_ABORT] = "ABORT",
        [FRAME_PMIX_USED] = "PMIX_USED",
        [FRAME_NAMES] = "NAMES",
        [FRAME_NAMES_DONE] = "NAMES_DONE",
        [FRAME_SPAWN_REQUEST] = "SPAWN_REQUEST",
        [FRAME_SPAWN_DONE] = "SPAWN_DONE",
        [FRAME_NOTIFY] = "NOTIFY",
        [FRAME_ROLES] = "ROLES",
        [FRAME_PMIX_SETUP] = "PMIX_SETUP",
        [FRAME_PMIX_READY] = "PMIX_READY",
        [FRAME_PMIX_CLIENT] = "PMIX_CLIENT",
        [FRAME_PMIX_LOG] = "PMIX_LOG",
        [FRAME_SPAWN] = "SPAWN",
        [FRAME_LOOKUP] = "LOOKUP",
        [FRAME_LOOKUP_DONE] = "LOOKUP_DONE",
        [FRAME_ASK] = "ASK",
        [FRAME_ANSWER] = "ANSWER",
        [FRAME_ALIVE] = "ALIVE",
    };
    if (kind >= sizeof names / sizeof *names || names[kind] == NULL)
        return "?";
    return names[kind];
}

static uint8_t *put16(uint8_t *p, uint16_t v)
{
    v = htobe16(v);
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
    v = htobe64(v);
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static const uint8_t *get16(const uint8_t *p, uint16_t *v)
{
    memcpy(v, p, sizeof *v);
    *v = be16toh(*v);
    return p + sizeof *v;
}

static const uint8_t *get32(const uint8_t *p, uint32_t *v)
{
    memcpy(v, p, sizeof *v);
    *v = be32toh(*v);
    return p + sizeof *v;
}

static const uint8_t *get64(const uint8_t *p, uint64_t *v)
{
    memcpy(v, p, sizeof *v);
    *v = be64toh(*v);
    return p + sizeof *v;
}

void frame_encode(struct buf *out, const struct frame *f)
{
    uint8_t *p = buf_reserve(out, FRAME_HEADER + f->len);
    p = put32(p, (uint32_t)f->len);
    p = put16(p, f->kind);
    p = put16(p, f->flags);
    p = put64(p, f->seq);
    p = put64(p, f->ack);
    p = put64(p, f->job);
    p = put32(p, f->term);
    p = put32(p, f->attempt);
    p = put32(p, f->src);
    p = put32(p, f->dst);
    if (f->len > 0)
        memcpy(p, f->body, f->len);
    buf_commit(out, FRAME_HEADER + f->len);
}

int frame_decode(const struct buf *in, struct frame *f, size_t *used, struct err *err)
{
    if (buf_len(in) < FRAME_HEADER)
        return 0;
    uint32_t len;
    const uint8_t *p = get32(buf_data(in), &len);
    p = get16(p, &f->kind);
    p = get16(p, &f->flags);
    p = get64(p, &f->seq);
    p = get64(p, &f->ack);
    p = get64(p, &f->job);
    p = get32(p, &f->term);
    p = get32(p, &f->attempt);
    p = get32(p, &f->src);
    p = get32(p, &f->dst);
    size_t max = frame_is_bulk(f->kind) ? FRAME_BULK_MAX + 1024 : FRAME_BODY_MAX;
    if (len > max) {
        err_set(err, "frame of kind %u claims %u bytes, more than the %zu allowed",
                f->kind, len, max);
        return -1;
    }
    if (buf_len(in) - FRAME_HEADER < len)
        return 0;
    f->body = p;
    f->len = len;
    *used = FRAME_HEADER + (size_t)len;
    return 1;
}
