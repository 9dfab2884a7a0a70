// Who follows whom: the members that a job knows, against its source's newest list.
//
// What is sure comes first. An entry stands for the member of its name; else for the
// member of its address. What is left over is guessed, and only where nothing else can
// be had: members known by an address alone whose agents are gone are vacant, and new
// entries fill them in the order of the list. Who guessed wrongly is told by the agents' own
// hostnames, once they greet: that is for the caller.
//
//  what the list has                  what becomes of it
//  a name with another address        MOVED; the index stays
//  an address for a name              the member, which keeps its name
//  a name for an address              the member, which gets the name (NAMED)
//  another order, fewer entries       nothing: members stay until something follows them
//  more entries                       extras, for the caller to append
//  a name or an address twice         the first one counts, a warning tells
//  an attached member's address       it stays with that one, whose agent answers there;
//   under another member's name       the other keeps what it had (warning)
//  a lost member's address            it goes to whom the list gives it; the lost one has
//   under another member's name       none then (ROBBED), unless it is listed there, too
//  an address for a vacant place      FILLED
//  a newcomer, but an open member is  FILLED
//   listed no longer
//  an address, but the member that    an extra with `after`: ask again when that agent is
//   was left out is still attached    gone
//
// What stays where it is goes before what is new. The result applied, the same list gives
// no change again, but for who may have the address that an attached member has left.
// Pure; linear time.
#ifndef MUSTER_HOSTFILE_SUCCEED_H
#define MUSTER_HOSTFILE_SUCCEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/strv.h"
#include "hostfile/members.h"

// A member as its job knows it; all borrowed.
struct succeed_member {
    const char *name;    // hostname_is_of_address(): known by its address alone
    const char *address; // literal, "" while it has none
    int port;            // <= 0: MEMBERS_DEFAULT_PORT
    bool live;           // its agent is attached, at that address
    bool
        open; // nobody has met it: when the list has it no longer, it was not the job's
};

enum succeed_cause {
    SUCCEED_MOVED,  // its name has another address or port
    SUCCEED_NAMED,  // its address has a name now
    SUCCEED_FILLED, // a new entry took the vacant place: a guess
    SUCCEED_ROBBED, // its address is another member's now
};

// What a member is called and where it is from now on.
struct succeed_change {
    size_t member;
    enum succeed_cause cause;
    bool live; // its agent is attached at the old address: replaced, or DNS is wrong
    const char *name; // borrowed from the list or the members
    char address[46]; // literal; "": none
    int port;         // as in struct member
};

// An entry that stands for no member.
struct succeed_extra {
    size_t entry;
    long after; // the member that it follows when that one's agent is gone; -1: a spare
};

struct succeed {
    long *entry;                    // of each member, -1: the list has it no longer
    struct succeed_change *changes; // by member, one each at most
    size_t nchanges;
    struct succeed_extra *extras; // in the order of the list
    size_t nextras;
    struct strv warnings;
};

#define SUCCEED_AUTO __attribute__((cleanup(succeed_free))) struct succeed

// `out` borrows names from `v` and `list`.
void succeed_plan(const struct succeed_member *v, size_t n, const struct members *list,
                  struct succeed *out);
void succeed_free(struct succeed *s);

// The name for texts and events: "moved", ...
const char *succeed_cause_name(enum succeed_cause cause);

#endif
