// Frames over a local, trusted byte stream (socketpair, pipe pair): agent to keeper,
// agent to muster-pmixd, and below a link that runs over stdio.
//
// A chan never blocks and never stops reading. Control frames go before bulk frames
// that wait. Its queues are bounded by the credit of streams (see Credit), not by the
// chan.
#ifndef MUSTER_WIRE_CHAN_H
#define MUSTER_WIRE_CHAN_H

#include "wire/frame.h"
#include "wire/muster.pb-c.h"

struct chan;
struct event_base;

struct chan_ops {
    // A frame came; its body is valid during the call only.
    void (*frame)(void *arg, const struct frame *f);
    // End of stream (why: "closed", kind "LOST") or failure (kind "LOST", or "PROTOCOL"
    // for a broken frame); called once, then the chan is dead: sends are dropped. The
    // owner still has to destroy it.
    void (*closed)(void *arg, const struct err *why);
};

// Takes over the fds (in == out: one socket), sets them non-blocking.
struct chan *chan_create(struct event_base *base, int in, int out,
                         const struct chan_ops *ops, void *arg);
// Also from inside a callback. NULL-safe. Unsent frames are lost.
void chan_destroy(struct chan *c);
// Copies the frame into the queue. The program ignores SIGPIPE.
void chan_send(struct chan *c, const struct frame *f);
// As chan_send with a packed message as body; the frame's body and len are ignored.
void chan_send_msg(struct chan *c, const struct frame *f, const ProtobufCMessage *msg);
// As chan_send, but behind all that is queued, the bulk frames too.
void chan_send_last(struct chan *c, const struct frame *f);
// Bytes that wait to be written.
size_t chan_pending(const struct chan *c);
// Bytes received so far.
uint64_t chan_received(const struct chan *c);
// Blocking write of what is queued, at most `ms`: the last words of a process.
void chan_flush(struct chan *c, int ms);

#endif
