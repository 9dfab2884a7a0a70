// The members as the launcher sees them: found, connected, lost, and why.
//
// States of a member (the launcher's view; agents have their own):
//   MISSING --address--> FOUND --greeted--> ATTACHED --lost--> LOST --greeted--> ATTACHED
//   MISSING, FOUND --late--> LOST: the job goes on without it
//   ATTACHED --moved--> LOST: it changes its vertex, and is dialed there
// Each member is at a vertex of the tree of links: at first member i at vertex i + 1, later
// two of them may change places (exchange.h).
// Pure bookkeeping: no links, no lookups.
#ifndef MUSTER_LAUNCHER_GROUP_H
#define MUSTER_LAUNCHER_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "hostfile/members.h"

enum group_state { GROUP_MISSING, GROUP_FOUND, GROUP_ATTACHED, GROUP_LOST };
enum { GROUP_STATES = GROUP_LOST + 1 };
enum group_event {
    GROUP_EV_ADDRESS,
    GROUP_EV_GREETED,
    GROUP_EV_LOST,
    GROUP_EV_LATE,
    GROUP_EV_MOVED,
    GROUP_EVENTS,
};

struct group_member {
    enum group_state state;
    const struct member *member; // of the group's own copy
    char address[64];            // literal, "" while missing
    char *why;                   // last reason while not attached; owned, NULL
    uint32_t agents;             // that were attached, one after the other
    // FOUND: it is not dialed again, and that means this exit code; 0: it is.
    int refused;
    // Not ATTACHED, and nobody has failed to reach it: who could has just begun, or is away, or it
    // has moved.
    bool hidden;
};

// Who is at a vertex.
struct group_place {
    uint32_t member;
    uint64_t since; // generation of the Attach that says so; 0: from the beginning
};

struct group {
    struct members members;
    struct group_member *v;
    uint32_t *vertices;         // by member
    struct group_place *places; // by vertex - 1
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
// The vertex of a member (its index), and the other way.
uint32_t group_vertex_of(const struct group *g, uint32_t member);
uint32_t group_member_of(const struct group *g, uint32_t vertex);
struct group_member *group_at(struct group *g, uint32_t vertex);
// The members at two vertices change places.
void group_exchange(struct group *g, uint32_t a, uint32_t b);
// That generation of the Attach says first who is at the vertex now.
void group_say(struct group *g, uint32_t vertex, uint64_t generation);
// Was that said by who knows who is at the vertex? generation: of its Attach.
bool group_is_current(const struct group *g, uint32_t vertex, uint64_t generation);
void group_set_why(struct group_member *m, const char *why);
// "train-2: NXDOMAIN, train-3 (10.0.0.7): connection refused": what is not attached (or
// not found, or lost), at most `max` members and then a count.
void group_describe_missing(const struct group *g, enum group_state below, unsigned max,
                            struct buf *out);
// "train-2 (10.0.0.5)", or the name alone when it is the address. Caller frees.
char *group_member_text(const struct group_member *m);

#endif
