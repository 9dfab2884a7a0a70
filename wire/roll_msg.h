// Between the roll and its message. Pure.
#ifndef MUSTER_WIRE_ROLL_MSG_H
#define MUSTER_WIRE_ROLL_MSG_H

#include "hostfile/roll.h"
#include "wire/muster.pb-c.h"

// All but the term, which the frame has. Free with msg_free().
Muster__Roll *roll_msg_make(const struct roll *r);
// NULL with err when it is none that can be used (roll_check): it comes from the network.
struct roll *roll_msg_read(const Muster__Roll *m, uint32_t term, struct err *err);

#endif
