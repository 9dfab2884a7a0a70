// What the roles of a run tell each other: one JSON document (MUSTER_ROLE_FILE). Pure.
//
//   {"version": 3, "roles": {
//      "prefill": {"state": "running", "attempt": 2, "leader": "10.0.0.1", "port": 20123,
//                  "members": [{"name": "train-0.train", "address": "10.0.0.1"}, ...]},
//      "decode": ...}}
// Members are a role's positions in their order. The version grows with each change.
#ifndef MUSTER_LAUNCHER_ROLES_H
#define MUSTER_LAUNCHER_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/strv.h"

enum { ROLES_NAME_MAX = 32 };

struct roles;

// Letters, digits and dashes, a letter first.
bool roles_name_is_valid(const char *name);

// Nothing is known of any role yet. Names are copied.
struct roles *roles_create(const char *const *names, size_t n);
void roles_destroy(struct roles *r); // NULL-safe
// What a role's launcher says of it: the value of its name in the document. True when
// anything of it is new.
bool roles_set(struct roles *r, size_t role, const char *text, size_t len);
bool roles_are_whole(const struct roles *r); // all have said something
// The document. Caller frees.
char *roles_text(const struct roles *r);

// ---- of a document ------------------------------------------------------------

// The document with this as the role's part, which the launcher of all may not have heard of
// yet. Caller frees.
char *roles_with(const char *document, const char *role, const char *part);
// MUSTER_ROLE, MUSTER_ROLES and, of up to 64 addresses, MUSTER_ROLE_ADDRS_NAME for each role.
void roles_env(const char *document, const char *own, struct strv *out);
// Does a role but `own` run again, in another attempt than the one it ran in before?
bool roles_run_again(const char *before, const char *now, const char *own);

// ---- --restart-scope job -------------------------------------------------------
// Generations count how often all roles have started again. A role that starts again by
// itself enters the next one; the launcher of all orders the highest that it has heard of. So
// roles that fail in the same one, each before it hears of the other, do not end each other.

struct roles_generation {
    uint32_t now;    // of the attempt that runs, or of the next one where none does
    uint32_t wanted; // the highest that was ordered
};

// An attempt failed, and another one begins.
void roles_generation_next(struct roles_generation *g);
// An order came. lives: an attempt runs or stops now. True: it is of an earlier generation.
bool roles_generation_order(struct roles_generation *g, uint32_t wanted, bool lives);

#endif
