// libFuzzer target for the wire. An input that begins with 0xFF is a stream of frames; else the
// first byte says which message the rest is.
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "wire/msg.h"
#include "wire/roll_msg.h"

// ---- frames -----------------------------------------------------------------------

static bool same_frame(const struct frame *a, const struct frame *b)
{
    return a->kind == b->kind && a->flags == b->flags && a->seq == b->seq &&
           a->ack == b->ack && a->job == b->job && a->term == b->term &&
           a->attempt == b->attempt && a->src == b->src && a->dst == b->dst &&
           a->len == b->len && (a->len == 0 || memcmp(a->body, b->body, a->len) == 0);
}

// A part of a frame is none, or broken already.
static void try_part(const uint8_t *data, size_t size, int whole)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO in = BUF_INIT;
    struct frame f;
    size_t used;
    buf_append(&in, data, size);
    int rc = frame_decode(&in, &f, &used, &err);
    demand(rc == 0 || (rc < 0 && whole < 0), "a part was taken for a frame");
}

static void try_stream(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO in = BUF_INIT;
    BUF_AUTO out = BUF_INIT;
    struct frame f, again;
    size_t used, unused;
    int rc;
    buf_append(&in, data, size);
    while ((rc = frame_decode(&in, &f, &used, &err)) > 0) {
        demand(used == FRAME_HEADER + f.len && used <= buf_len(&in), "its length");
        demand(f.len <= FRAME_BODY_MAX, "a body beyond the bound");
        try_part(buf_data(&in), used - 1, rc);
        buf_clear(&out);
        frame_encode(&out, &f);
        demand(buf_len(&out) == used, "the length of what was encoded");
        demand(frame_decode(&out, &again, &unused, NULL) == 1 && same_frame(&f, &again),
               "what was encoded is another frame");
        frame_kind_name(f.kind);
        buf_take(&in, used);
    }
    if (rc < 0)
        demand_error(&err);
}

// ---- messages ---------------------------------------------------------------------

static const ProtobufCMessageDescriptor *const types[] = {
    &muster__hello__descriptor,
    &muster__received__descriptor,
    &muster__refuse__descriptor,
    &muster__attach__descriptor,
    &muster__attached__descriptor,
    &muster__lost__descriptor,
    &muster__reattach__descriptor,
    &muster__roll__descriptor,
    &muster__record__descriptor,
    &muster__prepare__descriptor,
    &muster__ready__descriptor,
    &muster__failed__descriptor,
    &muster__go__descriptor,
    &muster__started__descriptor,
    &muster__exited__descriptor,
    &muster__signal__descriptor,
    &muster__stop__descriptor,
    &muster__stopped__descriptor,
    &muster__done__descriptor,
    &muster__output__descriptor,
    &muster__credit__descriptor,
    &muster__coll__descriptor,
    &muster__modex__descriptor,
    &muster__abort__descriptor,
    &muster__pmix_used__descriptor,
    &muster__names__descriptor,
    &muster__names_done__descriptor,
    &muster__notify__descriptor,
    &muster__spawn_request__descriptor,
    &muster__spawn_done__descriptor,
    &muster__ask__descriptor,
    &muster__answer__descriptor,
    &muster__account__descriptor,
    &muster__roles__descriptor,
    &muster__spawn__descriptor,
    &muster__pmix_setup__descriptor,
    &muster__pmix_ready__descriptor,
    &muster__pmix_client__descriptor,
    &muster__pmix_log__descriptor,
    &muster__inspect__descriptor,
    &muster__verdict__descriptor,
};
enum { TYPES = sizeof types / sizeof *types };

static bool same_bytes(const struct buf *a, const struct buf *b)
{
    return buf_len(a) == buf_len(b) &&
           (buf_len(a) == 0 || memcmp(buf_data(a), buf_data(b), buf_len(a)) == 0);
}

// A roll that was taken goes on to the next vertex as the same one.
static void try_roll(const Muster__Roll *m)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO once = BUF_INIT;
    BUF_AUTO twice = BUF_INIT;
    struct frame f = {0};
    struct roll *r = roll_msg_read(m, 7, &err);
    if (r == NULL) {
        demand_error(&err);
        return;
    }
    Muster__Roll *passed = roll_msg_make(r);
    struct roll *again = roll_msg_read(passed, 7, &err);
    demand(again != NULL, "a roll that was passed on is refused");
    Muster__Roll *further = roll_msg_make(again);
    msg_pack(&f, &once, &passed->base);
    msg_pack(&f, &twice, &further->base);
    demand(same_bytes(&once, &twice), "a roll that was passed on is another one");
    msg_free(passed);
    msg_free(further);
    roll_destroy(r);
    roll_destroy(again);
}

static void try_message(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                        size_t size)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO once = BUF_INIT;
    BUF_AUTO twice = BUF_INIT;
    struct frame f = {.kind = FRAME_ROLL, .body = data, .len = size};
    ProtobufCMessage *m = msg_unpack(&f, type, &err);
    if (m == NULL) {
        demand_error(&err);
        return;
    }
    msg_pack(&f, &once, m);
    ProtobufCMessage *copy = msg_copy(m);
    demand(copy != NULL, "what was packed is malformed");
    msg_pack(&f, &twice, copy);
    demand(same_bytes(&once, &twice), "what was packed is another message");
    if (type == &muster__roll__descriptor)
        try_roll((const Muster__Roll *)m);
    msg_free(copy);
    msg_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] == 0xFF)
        try_stream(data + 1, size - 1);
    else
        try_message(types[data[0] % TYPES], data + 1, size - 1);
    return 0;
}
