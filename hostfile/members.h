// Members: the entries of the group as a source names them.
//
// A list in source order. Names are opaque bytes and never the identity of a member:
// the index is. Two entries of one name are one member (Open MPI adds their slots up).
#ifndef MUSTER_HOSTFILE_MEMBERS_H
#define MUSTER_HOSTFILE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"
#include "common/strv.h"

enum { MEMBERS_DEFAULT_PORT = 7822 };

struct member {
    char *name;                   // as the source names it, without a final dot; in
                                  // the list's pool
    bool absolute;                // the name had a final dot: never searched
    int slots;                    // -1: the source gives none (the agent's CPUs count)
    int max_slots;                // -1: none
    int port;                     // -1: none (MEMBERS_DEFAULT_PORT)
    char *user;                   // NULL: none; owned
    char *slot_ids;               // "1,2": only these of its slots; NULL: all; owned
    unsigned line;                // where it stands in its file, 0: no file
    struct sockaddr_storage addr; // ss_family 0: not resolved (port not filled in)
    char *why; // when not resolved: the last reason ("NXDOMAIN"); owned, NULL
};

struct members_slot; // of the index by name
struct members_pool; // memory of the names

struct members {
    struct member *v;
    size_t n, cap;
    struct strv warnings;       // "FILE:LINE:COLUMN: text"
    struct members_slot *index; // kept by the functions below; NULL: empty
    size_t index_cap;
    struct members_pool *pool;
};

#define MEMBERS_INIT                                                                   \
    {                                                                                  \
        0                                                                              \
    }
#define MEMBERS_AUTO __attribute__((cleanup(members_free))) struct members

// Append an empty member (slots, max_slots, port -1) of this name.
struct member *members_add(struct members *m, const char *name, size_t len);
// The first member of this name, or else a new one; *added says which.
struct member *members_take(struct members *m, const char *name, size_t len,
                            bool *added);
// Says that members_take() of this name is next: in a long list the index is not in the
// cache, and its line comes while the name is being checked.
void members_expect(const struct members *m, const char *name, size_t len);
// Index of a name (compared without case, as DNS does), -1 when absent; the first when
// several have it. Constant time.
long members_find(const struct members *m, const char *name, size_t len);
// All members of one name get another.
void members_rename(struct members *m, const char *from, const char *to);
// Drop the members whose `keep` is false; the others keep their order.
void members_keep(struct members *m, const bool *keep);
// Entries of one name become one member, the first: slots add up (one without a count
// is worth 1). A warning tells of it. Users and ports must agree (HF_CONFLICT).
int members_merge(struct members *m, const char *file, struct err *err);
void members_copy(struct members *to, const struct members *from);
// `from` is empty afterwards; what `to` held is freed.
void members_move(struct members *to, struct members *from);
void members_free(struct members *m);
// True when both hold the same in the same order, addresses, reasons and warnings
// included.
bool members_equal(const struct members *a, const struct members *b);

// The address as a literal without port ("10.1.2.3", "fd00::5"), "" when unresolved.
void members_address(const struct member *m, char *out,
                     size_t size); // INET6_ADDRSTRLEN

#endif
