// The phase of the pairs: which pairs run now, what both ends said, and what follows. Pure.
//
// States:
//   ROUNDS --step is over--> ROUNDS (the next step of pairs.h's plan)
//   ROUNDS, PROOF --all steps are over--> PROOF (blame_proof() has pairs; BLAME_PROOFS times at most)
//                                         OVER (it has none)
// A step is over when both ends of each of its pairs have said a word, or are lost. A pair whose port
// was taken by somebody else runs again in the same step, PAIRING_TRIES times at most.
#ifndef MUSTER_LAUNCHER_PAIRING_H
#define MUSTER_LAUNCHER_PAIRING_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/blame.h"

enum { PAIRING_TRIES = 3 };

enum pairing_state { PAIRING_ROUNDS, PAIRING_PROOF, PAIRING_OVER, PAIRING_STATES };

// What one end found.
struct pairing_word {
    enum blame_outcome outcome;
    bool taken;          // with BLAME_NOT_RUN: its port was
    double mb_s, rtt_us; // with BLAME_OK
};

struct pairing;

// nodes (copied): those that are paired, none of which fails by itself. thresholds: borrowed.
struct pairing *pairing_create(const struct blame_node *nodes, size_t n,
                               const struct thresholds *thresholds);
void pairing_destroy(struct pairing *p);

enum pairing_state pairing_state(const struct pairing *p);
const char *pairing_state_name(enum pairing_state s);

// A pair that is to be started now, which is done with the call; false: none, for now.
bool pairing_take(struct pairing *p, size_t *serves, size_t *dials);
// The node, an end of a pair that runs, said so. Ignored where none does.
void pairing_said(struct pairing *p, size_t node, const struct pairing_word *w);
// Nothing more comes of that node: pairs that run with it and those that would are NOT_RUN.
void pairing_lost(struct pairing *p, size_t node);

// For whoever waits: pairs that are over, and all that are planned so far.
void pairing_count(const struct pairing *p, size_t *over, size_t *all);
// The pairs that are over, in their order, and whom they put the blame on (blames_free).
const struct blame_pair *pairing_results(const struct pairing *p, size_t *n);
void pairing_judge(const struct pairing *p, struct blames *out);

#endif
