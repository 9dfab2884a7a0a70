// The frames of one sort (control or bulk) on their way over a link: encoded once, written
// from here, and kept from being written until the peer has acknowledged them.
//
//   [ written, not acknowledged | not written yet ]
//   ^ front                     ^ cursor            ^ end: replay_add
//
// Frames with a number are kept only where replay_keep() was called; frames without one (PING,
// HELLO, ...) go as soon as they are written. After a lost connection replay_rewind() puts the
// cursor back behind what the peer has received: each frame reaches it once. Pure: no clocks,
// no sockets. Bounding what is held is the owner's task.
#ifndef MUSTER_WIRE_REPLAY_H
#define MUSTER_WIRE_REPLAY_H

#include "wire/frame.h"

struct replay;

struct replay *replay_create(void);
void replay_destroy(struct replay *r); // NULL-safe

// From now on frames with a number wait for their acknowledgement.
void replay_keep(struct replay *r);
// Behind all others; numbers grow by one from frame to frame. Copied.
void replay_add(struct replay *r, const struct frame *f);
// The same for frames that are encoded already.
void replay_add_encoded(struct replay *r, const void *p, size_t n);
// The first frame of `from` that is not written goes behind those of `to`. Only whole
// frames: nothing of it may be written. False: there is none.
bool replay_move(struct replay *to, struct replay *from);

// What is to be written next: *len bytes, 0 when there is nothing. Valid until the next add.
const void *replay_next(const struct replay *r, size_t *len);
void replay_wrote(struct replay *r, size_t n);
size_t replay_unwritten(const struct replay *r); // bytes
size_t replay_held(const struct replay *r);      // bytes, the unwritten ones too

// The peer has received all frames up to `seq`; older news are ignored. -1 with err when
// it was not sent so many.
int replay_ack(struct replay *r, uint64_t seq, struct err *err);
// A new connection: `first` (no number; may be NULL) and then everything after `seq` is to
// be written, whatever was written before. -1 with err when that is not what is held.
int replay_rewind(struct replay *r, uint64_t seq, const struct frame *first,
                  struct err *err);

#endif
