// The states of a link as a table: pure, without any network.
#ifndef MUSTER_WIRE_LINK_STATE_H
#define MUSTER_WIRE_LINK_STATE_H

#include <stdbool.h>

#include "wire/link.h"

enum link_event {
    LINK_EV_CONNECTED, // the byte stream is there
    LINK_EV_OPENED,    // so are the channels: frames can go
    LINK_EV_GREETED,   // the peer's HELLO is good
    LINK_EV_BREAK,     // no connection, but the link lives on
    LINK_EV_RESUME,    // it has another one
    LINK_EV_CLOSE,     // one side says BYE or REFUSE
    LINK_EV_END,       // over, for whatever reason
};
const char *link_event_name(enum link_event ev);

// The state after `ev` in *state. False, and *state stays, where `ev` cannot happen.
bool link_state_next(enum link_state *state, enum link_event ev);

#endif
