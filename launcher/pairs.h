// Who checks the network with whom: two rounds, in which everybody has two different partners; in groups
// of up to PAIRS_ALL_MEET everybody meets everybody.
//
// Round 1 pairs 0-1, 2-3, ...; round 2 pairs 1-2, 3-4, ..., and the last with the first. Of
// an odd number one is left over in each round; these two come third, with each other.
// In a group of four or five a good node can have no partners but slow ones in such a ring; then all
// that is measured is slow, and slow is the median. Pure.
#ifndef MUSTER_LAUNCHER_PAIRS_H
#define MUSTER_LAUNCHER_PAIRS_H

#include <stddef.h>

enum { PAIRS_ALL_MEET = 5 };

// Pairs of the same step have no node in common and run at once; steps follow one another.
struct pair {
    size_t a, b; // a < b
    unsigned step;
};

struct pairs {
    struct pair *v; // owned
    size_t n;
};

// For n nodes; one has no pair. No pair occurs twice.
void pairs_plan(struct pairs *pairs, size_t n);
void pairs_add(struct pairs *pairs, size_t a, size_t b, unsigned step);
void pairs_free(struct pairs *pairs);

#endif
