// A build without MPI: says so where a launcher has made a world.
#include "kernels/comm/mpi.h"

struct comm *comm_mpi(struct err *err)
{
    err_set(err,
            "a launcher has started this as one of several ranks, but it was built "
            "without MPI: install libopenmpi-dev and build again");
    return NULL;
}
