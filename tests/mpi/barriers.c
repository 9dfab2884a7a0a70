// barriers N: every rank says each of N barriers, a hundredth of a second apart.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#include "tests/mpi/arg.h"

int main(int argc, char **argv)
{
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    int rank, n = arg_int(argc, argv, 1, 10);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i <= n; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        printf("rank %d round %d\n", rank, i);
        fflush(stdout);
        nanosleep(&step, NULL);
    }
    MPI_Finalize();
    return 0;
}
