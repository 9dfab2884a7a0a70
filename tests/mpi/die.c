// die [RANK [CODE]]: that rank exits with CODE, without MPI_Finalize, while the others
// wait in a barrier. A negative CODE is the signal that it dies of.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "tests/mpi/arg.h"

int main(int argc, char **argv)
{
    int rank, who = arg_int(argc, argv, 1, 0), code = arg_int(argc, argv, 2, 7);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who) {
        if (code < 0)
            kill(getpid(), -code);
        _exit(code);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
