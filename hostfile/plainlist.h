// Plain lists: names in any number of words and lines, each once; no counts.
#ifndef MUSTER_HOSTFILE_PLAINLIST_H
#define MUSTER_HOSTFILE_PLAINLIST_H

struct dialect;

const struct dialect *plainlist_dialect(void);

#endif
