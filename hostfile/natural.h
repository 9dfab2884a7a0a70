// The order in which people count: node-2 before node-10.
#ifndef MUSTER_HOSTFILE_NATURAL_H
#define MUSTER_HOSTFILE_NATURAL_H

// Runs of digits compare by value (of any length), all else by byte; equal values with
// more leading zeros come later. A total order, as strcmp(3) gives one.
int natural_compare(const char *a, const char *b);

#endif
