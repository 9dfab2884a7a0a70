// abort [RANK [CODE]]: that rank calls MPI_Abort(CODE) while the others wait for it.
#include <mpi.h>

#include "tests/mpi/arg.h"

int main(int argc, char **argv)
{
    int rank, who = arg_int(argc, argv, 1, 0), code = arg_int(argc, argv, 2, 42);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who)
        MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
