// Packing and unpacking of protobuf bodies.
#include "wire/msg.h"

#include <stdlib.h>

#include "common/mem.h"

// protobuf-c returns NULL both for bad bytes and for no memory: memory never fails
// here.
static void *pb_alloc(void *data, size_t size)
{
    return xmalloc(size);
}

static void pb_free(void *data, void *p)
{
    free(p);
}

static ProtobufCAllocator allocator = {.alloc = pb_alloc, .free = pb_free};

void msg_pack(struct frame *f, struct buf *body, const ProtobufCMessage *msg)
{
    size_t size = protobuf_c_message_get_packed_size(msg);
    buf_clear(body);
    protobuf_c_message_pack(msg, buf_reserve(body, size));
    buf_commit(body, size);
    f->body = buf_data(body);
    f->len = size;
}

void *msg_unpack(const struct frame *f, const ProtobufCMessageDescriptor *type,
                 struct err *err)
{
    ProtobufCMessage *m = protobuf_c_message_unpack(type, &allocator, f->len, f->body);
    if (m == NULL)
        err_set(err, "malformed %s message of %zu bytes", frame_kind_name(f->kind),
                f->len);
    return m;
}

void msg_free(void *msg)
{
    if (msg != NULL)
        protobuf_c_message_free_unpacked(msg, &allocator);
}

void *msg_copy(const ProtobufCMessage *msg)
{
    BUF_AUTO body = BUF_INIT;
    struct frame f = {0};
    if (msg == NULL)
        return NULL;
    msg_pack(&f, &body, msg);
    return msg_unpack(&f, msg->descriptor, NULL);
}
