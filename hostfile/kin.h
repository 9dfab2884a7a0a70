// Several members whose names hang on one headless Service: what an answer of the Service
// says of which names to ask. Pure.
//
// A round is: kin_listed() or kin_gone(), then kin_named() for each address that the plan
// wants named, then kin_settle(). While the Service lists the addresses that the members
// have, and nothing is missing, a round asks no name at all. What changed is asked: names
// whose address is not listed any more, and those that a reverse lookup gives for an
// address that was not there before; their own A record has the word, not the PTR.
#ifndef MUSTER_HOSTFILE_KIN_H
#define MUSTER_HOSTFILE_KIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
    KIN_REVERSE_MAX = 16, // more new addresses than these: ask all names that lack one
    KIN_PROBES = 4, // members without an address that are asked though nothing changed
    KIN_APART_ROUNDS = 16,
};

struct kin;

// Members are numbers of the caller's.
//
// Address of a member, NULL: none.
typedef const struct sockaddr_storage *kin_address(void *arg, size_t member);

struct kin_view {
    kin_address *held;
    kin_address *confirmed; // in this round by its own name
    void *arg;
};

struct kin_plan {
    size_t *ask; // members; owned
    size_t nask;
    struct sockaddr_storage *reverse; // addresses to be named; owned
    size_t nreverse;
};

// `service`: absolute, without final dot.
struct kin *kin_create(const char *service);
void kin_destroy(struct kin *k); // NULL-safe
const char *kin_service(const struct kin *k);
// `name`: of the member; up to its first dot it is the pod's.
void kin_add(struct kin *k, size_t member, const char *name);
size_t kin_size(const struct kin *k);
size_t kin_member(const struct kin *k, size_t i);

// Each member once, in turn.
size_t kin_turn(struct kin *k);

// The Service has these addresses / has none. The plan is added to.
void kin_listed(struct kin *k, const struct sockaddr_storage *addr, size_t n,
                const struct kin_view *view, struct kin_plan *plan);
void kin_gone(struct kin *k, const struct kin_view *view, struct kin_plan *plan);
// The servers fail on the Service's name, though they are there.
void kin_failed(struct kin *k, const struct kin_view *view, struct kin_plan *plan);
// A new address has the name head.SERVICE; NULL: it has none there.
void kin_named(struct kin *k, const char *head, const struct kin_view *view,
               struct kin_plan *plan);
// The round is over. True when it turned out now that the names have nothing to do with
// the Service (kin_is_apart).
bool kin_settle(struct kin *k, const struct kin_view *view);
// Each name has to be asked; after KIN_APART_ROUNDS rounds the Service is tried again.
bool kin_is_apart(struct kin *k);

void kin_plan_free(struct kin_plan *plan);

#endif
