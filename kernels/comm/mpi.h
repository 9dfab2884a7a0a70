// The world of MPI as a back end; the only user of mpi.h among the kernels.
#ifndef MUSTER_KERNELS_COMM_MPI_H
#define MUSTER_KERNELS_COMM_MPI_H

#include "kernels/comm/comm.h"

// MPI_Init. Error: this build is without MPI.
struct comm *comm_mpi(struct err *err);

#endif
