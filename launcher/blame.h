// Which nodes and links are at fault, from what each node's own checks and pairs of nodes
// found. Pure.
//
// A pair is BAD (wrong bytes, no end, or slower than the median by slow_factor), GOOD (within
// clear_factor of it), or between the two, which says nothing. The median is that of the
// nodes' best pairs: it holds until half of the nodes are slow. A node is
//   at fault   when it fails alone, or is BAD with two different partners that are cleared
//              themselves, and GOOD with nobody;
//   cleared    when it is GOOD with anybody;
//   suspect    when it is neither, and BAD with somebody: blame_proof() says whom it is to
//              be paired with next, and blame_judge() decides with these pairs, too.
// Every other BAD pair is its link's fault; for sure where both its ends are cleared.
#ifndef MUSTER_LAUNCHER_BLAME_H
#define MUSTER_LAUNCHER_BLAME_H

#include <stdbool.h>
#include <stddef.h>

#include "common/thresholds.h"
#include "launcher/pairs.h"

enum blame_outcome { BLAME_OK, BLAME_WRONG, BLAME_HANGS, BLAME_NOT_RUN };

enum {
    BLAME_TRIES = 3,  // a pair's numbers are the best of so many
    BLAME_PROOFS = 2, // further rounds for suspects, at most
};

struct blame_node {
    bool fails;  // its own checks say so
    double rate; // its copies, GB/s; 0: unknown
};

struct blame_pair {
    size_t a, b;
    enum blame_outcome outcome;
    double mb_s, rtt_us; // with BLAME_OK, best of BLAME_TRIES; 0: unknown
};

struct blame_input {
    const struct blame_node *nodes;
    size_t nnodes;
    const struct blame_pair *pairs; // of all rounds; a pair may come again
    size_t npairs;
    const struct thresholds *thresholds;
};

enum blame_cause {
    BLAME_FAILS_ALONE,
    BLAME_SLOW_ALONE,
    BLAME_WRONG_BYTES,
    BLAME_NO_END,
    BLAME_SLOW,
    BLAME_LATE, // round trips
};

struct blame {
    bool link;   // between a and b, else node a (b is as a)
    bool sure;   // a link: it, and not one of its ends
    size_t a, b; // a <= b
    enum blame_cause cause;
    double value, median; // slow ones: what it has, and what is usual; else 0
};

struct blames {
    struct blame *v; // nodes first; owned
    size_t n;
};

void blame_judge(const struct blame_input *in, struct blames *out);
void blames_free(struct blames *blames);
// Pairs that would decide about suspects, none of which was there before. Empty: nothing is
// open, or can be found out.
void blame_proof(const struct blame_input *in, struct pairs *more);

// One sentence; names: of the nodes. Caller frees.
char *blame_text(const struct blame *blame, const char *const *names);

#endif
