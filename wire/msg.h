// Between protobuf messages and frame bodies.
#ifndef MUSTER_WIRE_MSG_H
#define MUSTER_WIRE_MSG_H

#include "common/err.h"
#include "wire/frame.h"
#include "wire/muster.pb-c.h"

// Pack `msg` into *body (owned by the caller, buf_free) and point f at it.
void msg_pack(struct frame *f, struct buf *body, const ProtobufCMessage *msg);

// The body as a message of this type, NULL with err when it is malformed. Free with
// msg_free (NULL-safe). Strings of a message are never NULL.
void *msg_unpack(const struct frame *f, const ProtobufCMessageDescriptor *type,
                 struct err *err);
void msg_free(void *msg);
// A copy that owns all that it points to; NULL of NULL. Free with msg_free.
void *msg_copy(const ProtobufCMessage *msg);

#endif
