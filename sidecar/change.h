// The difference between what the members were and what they are. Pure.
//
// Members are compared by name, without case: one that has another address has changed.
// Where a source names members by their addresses there is nothing but gone and new.
#ifndef MUSTER_SIDECAR_CHANGE_H
#define MUSTER_SIDECAR_CHANGE_H

#include <stdint.h>

#include "common/buf.h"
#include "common/strv.h"
#include "hostfile/members.h"

struct change {
    const struct members *was, *is; // borrowed
    size_t added, removed, changed;
};

void change_find(const struct members *was, const struct members *is,
                 struct change *out);
bool change_is_empty(const struct change *c);
// One line of JSON: {"generation":G,"members":N,"added":[{"name","address"}],
// "removed":[{"name","address"}],"changed":[{"name","old","new"}]}, each in the order of
// its list; an address that is not known is null.
void change_json(const struct change *c, uint64_t generation, struct buf *out);
// The counts: MUSTER_GENERATION, MUSTER_MEMBERS, MUSTER_ADDED, MUSTER_REMOVED,
// MUSTER_CHANGED. No lists: an environment has bounds, a group has none.
void change_env(const struct change *c, uint64_t generation, struct strv *env);

#endif
