// How a link survives the loss of its connection.
//
// The link itself: UP (or CLOSING) -> BROKEN, when its connection is lost or silent -> UP, when
// another connection is put below it, or -> DOWN, when the grace is over. Meanwhile what is sent
// is queued. The dialling end dials again (link_redial.h); the listening end waits.
//
// The other connection begins as a link of its own, which has no owner:
//   dialler                                    listener
//   HELLO {session, resume {round, received}}  HELLO {incarnation}
//   incarnation is another: the link is DOWN   session, incarnation or round is not the
//                                              link's: REFUSE
//                                              hand over, RESUMED {received}, then frames
//   RESUMED: hand over, then frames
// To hand over, the link takes the transport, drops its old one if it still has one (a loss that
// only the dialler has noticed), and sends what the peer has not received. The rest of the
// other link is freed.
//
// Acknowledgements: each frame bears one for its own sort; ACK goes out when ACK_BYTES came, or at
// the next tick, when there was no such frame.
#ifndef MUSTER_WIRE_LINK_RESUME_H
#define MUSTER_WIRE_LINK_RESUME_H

#include "wire/link_internal.h"

// At UP: may this link be resumed? If so its frames are kept from now on.
void link_resume_agree(struct link *l, const Muster__Hello *peer);
// Does the link survive this failure?
bool link_resume_can(const struct link *l, const struct err *why);
void link_resume_break(struct link *l, const struct err *why);
// Of a BROKEN link: it closes when its connection is back; it is not waited for longer than
// CLOSE_AWAY_MS any more.
void link_resume_close(struct link *l);
// The deadline of a BROKEN link has come.
void link_resume_time_over(struct link *l);
// Of a BROKEN link: no connection comes any more, and why.
void link_resume_give_up(struct link *l, const struct err *why);

// HELLO of a connection that is to go on with a link, at either end.
void link_resume_hello(struct link *l, const Muster__Hello *peer);
void link_resume_on_resumed(struct link *l, const struct frame *f);
// Can it be handed over now, with nothing of its transport on the stack?
bool link_resume_ready(const struct link *l);
// The connection finds its link, or is refused. `l` may be freed.
void link_resume_hand_over(struct link *l);

void link_resume_on_ack(struct link *l, const struct frame *f);
// Takes the acknowledgement that every frame bears.
void link_resume_take_ack(struct link *l, const struct frame *f);
// A numbered frame came.
void link_resume_count(struct link *l, const struct frame *f);
// Sends an ACK when something is not acknowledged yet.
void link_resume_tell(struct link *l);

#endif
