// The roll: members, their incarnations and addresses, and who sits at which position.
//
// A member is known by its index, a life of its agent by the incarnation; names and
// addresses are never an identity. Positions are the places of a job (dense from 0,
// sticky): a replaced member changes one seat, or only an incarnation and an address.
// Rolls of one job are ordered by (term, generation); each change makes a new
// generation. A roll never shrinks. Pure.
#ifndef MUSTER_HOSTFILE_ROLL_H
#define MUSTER_HOSTFILE_ROLL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "hostfile/members.h"

enum {
    ROLL_INCARNATION_BYTES = 16,
    ROLL_NAME_MAX = 255,
    ROLL_KEY_MAX = 255,
    ROLL_SLOTS_MAX = 1 << 20
};

struct roll_member {
    char *name;       // as the source names it; owned
    char address[46]; // literal, IPv4 or IPv6; "" while it has none
    uint16_t port;
    int slots;    // as the source gives them; -1: it gives none
    bool present; // its agent has greeted; the rest is what it said
    uint8_t incarnation[ROLL_INCARNATION_BYTES];
    char *hostname; // owned; "" until present
    uint32_t cpus;
};

struct roll {
    char *job_key;       // owned
    uint32_t term;       // of the launcher that wrote it
    uint64_t generation; // counts its changes
    bool pods;           // names are those of a Service's pods (hosts_members.h)
    struct roll_member *members; // owned, in source order
    uint32_t nmembers;
    uint32_t *positions; // member's index of each position; owned
    uint32_t *slots;     // of each position, for hostfiles; owned
    uint32_t npositions;
};

// A roll of generation 1 without positions; ports that are not given are
// MEMBERS_DEFAULT_PORT.
struct roll *roll_create(const char *job_key, uint32_t term,
                         const struct members *members);
void roll_destroy(struct roll *r); // NULL-safe

// A member's agent greeted. Returns true, with a new generation, when anything of it is
// new.
bool roll_greet(struct roll *r, uint32_t member, const uint8_t *incarnation,
                const char *hostname, uint32_t cpus);
// Assign the positions, with the slots of each; -1 with err, and nothing changed, when a
// member is out of range or has two.
int roll_seat(struct roll *r, const uint32_t *members, const uint32_t *slots,
              uint32_t n, struct err *err);

// What a member is called and where it is from now on (succeed.h says who).
struct roll_move {
    uint32_t member;
    const char *name;    // borrowed
    const char *address; // literal, "": none; borrowed
    int port;            // <= 0: as it was
};
// All of them together: a new generation, where anything is new. Returns true then.
bool roll_move(struct roll *r, const struct roll_move *moves, size_t n);

// Is it a roll that can be used? For what comes from elsewhere: names are names,
// addresses literals or "", seats distinct members. -1 with err that names the member.
int roll_check(const struct roll *r, struct err *err);
// As lists: all members, and those with a position in its order, with its slots (NULL:
// not wanted).
void roll_lists(const struct roll *r, struct members *all, struct members *seated);
// Position of a member, -1 when it has none (a spare).
long roll_position_of(const struct roll *r, uint32_t member);
// The order of two rolls of one job: negative when a is older, 0 when they are the
// same. *comparable is false for rolls of different jobs.
int roll_compare(const struct roll *a, const struct roll *b, bool *comparable);

#endif
