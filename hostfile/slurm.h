// Host ranges of Slurm and pdsh: node[01-16,20]-ib,login in any number of words and
// lines; no counts. A host that is listed again is a member more.
#ifndef MUSTER_HOSTFILE_SLURM_H
#define MUSTER_HOSTFILE_SLURM_H

struct dialect;

const struct dialect *slurm_dialect(void);

#endif
