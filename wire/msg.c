// Packing and unpacking of protobuf bodies.
#include "wire/msg.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_sound(const ProtobufCMessage *m);

// All messages in a field that is one, or a list of them.
static bool holds_sound(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    const uint8_t *mem = (const uint8_t *)m;
    ProtobufCMessage *const *list = (const void *)(mem + f->offset);
    size_t n = *list != NULL ? 1 : 0;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&n, mem + f->quantifier_offset, sizeof n);
        memcpy(&list, mem + f->offset, sizeof list);
    }
    for (size_t i = 0; i < n; i++)
        if (!is_sound(list[i]))
            return false;
    return true;
}

// protobuf-c takes a field of number 0, which cannot be, and packs it so that it does not
// take it again: msg_copy() would fail.
static bool is_sound(const ProtobufCMessage *m)
{
    const ProtobufCMessageDescriptor *type = m->descriptor;
    for (unsigned i = 0; i < m->n_unknown_fields; i++)
        if (m->unknown_fields[i].tag == 0)
            return false;
    for (unsigned i = 0; i < type->n_fields; i++)
        if (type->fields[i].type == PROTOBUF_C_TYPE_MESSAGE &&
            !holds_sound(m, &type->fields[i]))
            return false;
    return true;
}

void *msg_unpack(const struct frame *f, const ProtobufCMessageDescriptor *type,
                 struct err *err)
{
    ProtobufCMessage *m = protobuf_c_message_unpack(type, &allocator, f->len, f->body);
    if (m != NULL && !is_sound(m)) {
        msg_free(m);
        m = NULL;
    }
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
