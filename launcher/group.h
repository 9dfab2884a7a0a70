// The members as the launcher sees them: found, connected, lost, and why.
//
// States of a member (the launcher's view; agents have their own):
//   MISSING --address--> FOUND --greeted--> ATTACHED --lost--> LOST --greeted--> ATTACHED
// Pure bookkeeping: no links, no lookups.
#ifndef MUSTER_LAUNCHER_GROUP_H
#define MUSTER_LAUNCHER_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "hostfile/members.h"

enum group_state { GROUP_MISSING, GROUP_FOUND, GROUP_ATTACHED, GROUP_LOST };
enum { GROUP_STATES = GROUP_LOST + 1 };
enum group_event { GROUP_EV_ADDRESS, GROUP_EV_GREETED, GROUP_EV_LOST, GROUP_EVENTS };

struct group_member {
    enum group_state state;
    const struct member *member; // of the group's own copy
    char address[64];            // literal, "" while missing
    char *why;                   // last reason while not attached; owned, NULL
    uint32_t agents;             // that were attached, one after the other
};

struct group {
    struct members members;
    struct group_member *v;
    uint32_t n;
};

const char *group_state_name(enum group_state s); // "missing", "found", ...
const char *group_event_name(enum group_event ev);
// The state after `ev`; the same where it changes nothing. Pure.
enum group_state group_state_next(enum group_state s, enum group_event ev);
// It happens to the member; true: its state is another one now.
bool group_happens(struct group_member *m, enum group_event ev);
// Replaces the members by a source's newest list (only before anything is dialed).
void group_update(struct group *g, const struct members *members);
void group_free(struct group *g);
// Members with an address.
uint32_t group_found(const struct group *g);
uint32_t group_attached(const struct group *g);
// Index of a vertex's member.
static inline struct group_member *group_at(struct group *g, uint32_t vertex)
{
    return &g->v[vertex - 1];
}
void group_set_why(struct group_member *m, const char *why);
// "train-2: NXDOMAIN, train-3 (10.0.0.7): connection refused": what is not attached (or
// not found, or lost), at most `max` members and then a count.
void group_describe_missing(const struct group *g, enum group_state below, unsigned max,
                            struct buf *out);
// "train-2 (10.0.0.5)", or the name alone when it is the address. Caller frees.
char *group_member_text(const struct group_member *m);

#endif
