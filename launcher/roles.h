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
// Of what it said last; "" before.
const char *roles_state(const struct roles *r, size_t role);
// The document. Caller frees.
char *roles_text(const struct roles *r);

// ---- of a document ------------------------------------------------------------

// MUSTER_ROLE, MUSTER_ROLES and, of up to 64 addresses, MUSTER_ROLE_ADDRS_NAME for each role.
void roles_env(const char *document, const char *own, struct strv *out);
// Does a role but `own` run again, in another attempt than the one it ran in before?
bool roles_run_again(const char *before, const char *now, const char *own);

#endif
