// Who sits where: the members of a group that seats of a record mean. Pure.
#ifndef MUSTER_WIRE_CLAIM_SEATS_H
#define MUSTER_WIRE_CLAIM_SEATS_H

#include <stdint.h>

#include "wire/muster.pb-c.h"

enum { CLAIM_LAUNCHER_BYTES = 16 }; // an incarnation: of a launcher, or of an agent

// What a member's agent is called.
struct claim_member {
    const char *name;
    const uint8_t *incarnation; // RecordSeat's; NULL: it has not greeted
};

// The member (index) of each seat: whose agent sat there, else who has the name; each member
// once, UINT32_MAX: nobody.
void claim_seats_find(Muster__RecordSeat *const *seats, uint32_t n,
                      const struct claim_member *members, uint32_t nmembers,
                      uint32_t *found);

#endif
