// Who takes the place of a lost inner vertex in the tree of links. Pure.
//
// Those below an inner vertex are reached through it alone. Where it is lost, its member
// changes places with one at a leaf, whom the vertex above dials then; the lost one is dialed
// at that leaf from then on. So nobody who is well loses a link but the one that moves.
//
// It is the topmost lost vertex on a way that counts: what is below it cannot be reached, and
// shows once it can. Who moves: the first leaf that is there and has no position, then any
// that is there; then, as long as nobody has failed to reach them, those that are hidden by a lost
// vertex themselves, in the same order.
#ifndef MUSTER_LAUNCHER_EXCHANGE_H
#define MUSTER_LAUNCHER_EXCHANGE_H

#include <stdbool.h>

#include "wire/tree.h"

enum exchange_state {
    EXCHANGE_LOST, // it could not be reached
    EXCHANGE_HIDDEN, // not there, and it may be well: who could reach it is lost, or has just
                     // been told to
    EXCHANGE_THERE,
};

struct exchange_place {
    enum exchange_state state;
    bool spare; // its member has no position
    bool stays; // its member does not move
};

// v: by vertex - 1. False: there is nothing to exchange.
bool exchange_find(const struct tree *t, const struct exchange_place *v, uint32_t *lost,
                   uint32_t *leaf);
// It is not there, and nobody is who could reach it: what is known of it may be long ago.
bool exchange_is_cut_off(const struct tree *t, const struct exchange_place *v,
                         uint32_t vertex);

#endif
