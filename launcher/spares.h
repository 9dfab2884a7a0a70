// Who takes the positions of the next attempt. Pure.
//
// A member without a position is a spare. A position whose member is not there is vacant; a
// spare takes it, else it waits. So that a spare takes it, it has to be there and have as many
// slots as the position has ranks. Spares that have not failed lately go first, then those
// that have (they are better than waiting). A member that is there but has failed gives its
// position up only to a spare that has not. In all of this the lowest index comes first, and
// who gives a position up is a spare from then on. Nobody else's position changes.
#ifndef MUSTER_LAUNCHER_SPARES_H
#define MUSTER_LAUNCHER_SPARES_H

#include <stdbool.h>
#include <stdint.h>

struct spares_member {
    bool there;  // can be prepared
    bool failed; // lately: avoided
    uint32_t slots;
    const char *hostname; // its source gives an address only, its agent this; else NULL
};

// seats: the member of each position, distinct; as it is, and then as it is to be. needs: the
// slots that a spare has to have there. Returns how many positions are still vacant.
uint32_t spares_seat(const struct spares_member *m, uint32_t n, uint32_t *seats,
                     const uint32_t *needs, uint32_t npositions);
// Where pods came to positions by the order of new addresses in a list, their own names win:
// who is called as the one that had another position before changes places with who is there.
// called: of each position, NULL: not known. A hostname that is there twice says nothing.
void spares_recognize(const struct spares_member *m, uint32_t *seats,
                      const char *const *called, const uint32_t *needs,
                      uint32_t npositions);
// Each position goes to who had it before a launcher took over (`found`; UINT32_MAX: nobody
// that there is); the others keep theirs, or go to the first members that are left and have
// the slots. False, and nothing changed: there are none.
bool spares_inherit(const struct spares_member *m, uint32_t n, uint32_t *seats,
                    const uint32_t *found, const uint32_t *needs, uint32_t npositions);

#endif
