// What the options of `muster run` say of the ranks' layout.
#ifndef MUSTER_LAUNCHER_OPTS_LAYOUT_H
#define MUSTER_LAUNCHER_OPTS_LAYOUT_H

#include "launcher/opts.h"

// Once all are read, the source too: -1 with err where they contradict each other. Sets
// map.ranks and map.ppn, sub-groups, and the texts with placeholders.
int opts_layout_settle(struct opts *o, struct err *err);
// Ranks that each member takes, where --ppn or --slots says so; 0: they do not.
uint32_t opts_layout_each(const struct opts *o);

#endif
