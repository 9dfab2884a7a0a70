// Which of several programs a rank runs, as MPI tells it, and how many ranks there could be.
#include <mpi.h>
#include <stdio.h>

static int attribute(int key)
{
    int *value, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, (void *)&value, &found);
    return found ? *value : -1;
}

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%s: rank %d of %d is of program %d, universe %d, sum %d\n",
           argc > 1 ? argv[1] : "?", rank, size, attribute(MPI_APPNUM),
           attribute(MPI_UNIVERSE_SIZE), sum);
    MPI_Finalize();
    return 0;
}
