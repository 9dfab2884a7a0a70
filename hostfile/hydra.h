// Hydra's host file: NAME[:N] [user=U] [binding=...]. The same host on lines that follow
// each other is one member; a host that comes again later is a member more.
#ifndef MUSTER_HOSTFILE_HYDRA_H
#define MUSTER_HOSTFILE_HYDRA_H

struct dialect;

const struct dialect *hydra_dialect(void); // MPICH: a bare host has 1 slot
const struct dialect *
hydra_intel(void); // Intel MPI: a bare host's slots are not given (its cores)

#endif
