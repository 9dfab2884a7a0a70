// What is believed of one member's address, from one DNS answer to the next. Pure.
//
// States: NONE (no address), HELD (one), DOUBTED (held, but the newest answers do not have
// it).
//   NONE    --an address--> HELD
//   HELD    --an address that it never had--> HELD (that one)
//   HELD    --no such name, or only addresses that it had before--> DOUBTED
//   DOUBTED --the held address--> HELD
//   DOUBTED --BELIEF_DOUBTS answers in a row: no such name--> NONE
//           --BELIEF_DOUBTS in a row: the same story of the past--> HELD (that one)
// So one wrong NXDOMAIN and one stale answer change nothing, and a replacement is taken at
// once. A server that fails says nothing: it is not told here.
// A lost pod's successor is sought: the held address is in doubt for BELIEF_SOUGHT answers, as
// DNS may tell of the old pod for a while.
#ifndef MUSTER_HOSTFILE_BELIEF_H
#define MUSTER_HOSTFILE_BELIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { BELIEF_DOUBTS = 3, BELIEF_PAST_MAX = 4, BELIEF_SOUGHT = 8 };

struct belief {
    struct sockaddr_storage held; // ss_family 0: NONE
    struct sockaddr_storage
        *past; // addresses that it had, or that stood beside the held
               // one; newest first; owned
    unsigned char npast;
    unsigned char misses;  // answers in a row: no such name
    unsigned char returns; // answers in a row: only addresses of the past
    unsigned char sought;  // so many more answers, if they have nothing new
    bool avoid;            // see belief_avoid()
};

// The name has these addresses (n > 0). True: another one is held now.
bool belief_take(struct belief *b, const struct sockaddr_storage *addr, size_t n);
// The name does not exist. True: nothing is held any more.
bool belief_miss(struct belief *b);
// The held address is of no use (its pod was lost): one that stands beside it is better, and
// another one is sought.
void belief_avoid(struct belief *b);
bool belief_doubts(const struct belief *b);
void belief_free(struct belief *b);

#endif
