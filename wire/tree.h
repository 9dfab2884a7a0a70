// Tree routing as pure integer functions.
//
// Vertex 0 is the launcher, each other one a member (launcher/group.h). The tree is the complete k-ary
// tree in breadth-first order; with a fan-out of at least the number of members it is a
// star.
#ifndef MUSTER_WIRE_TREE_H
#define MUSTER_WIRE_TREE_H

#include <stdint.h>

enum { TREE_FANOUT_DEFAULT = 64 };
#define TREE_ALL 0xffffffffu // destination: every vertex of the subtree

struct tree {
    uint32_t vertices; // launcher and members
    uint32_t fanout;   // at least 1
};

// Parent of v; of the root: 0.
uint32_t tree_parent(const struct tree *t, uint32_t v);
// Number of children of v, and the first of them (they are consecutive); without
// children *first is t->vertices.
uint32_t tree_children(const struct tree *t, uint32_t v, uint32_t *first);
// Edges between the root and v.
uint32_t tree_depth(const struct tree *t, uint32_t v);
// Is v in the subtree of top (v == top: yes)? No for a v that is not in the tree, so
// this also judges a destination that came from the network.
int tree_contains(const struct tree *t, uint32_t top, uint32_t v);
// The neighbour of `self` on the way to `dst`: a child or the parent; self when dst is
// self. Both must be in the tree.
uint32_t tree_next_hop(const struct tree *t, uint32_t self, uint32_t dst);

#endif
