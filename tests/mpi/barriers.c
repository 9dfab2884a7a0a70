// barriers FILE: every rank says each of its barriers, until rank 0 sees FILE.
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    int rank, on = 1, n = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (argc == 2 && on) {
        MPI_Barrier(MPI_COMM_WORLD);
        printf("rank %d round %d\n", rank, ++n);
        fflush(stdout);
        nanosleep(&step, NULL);
        on = access(argv[1], F_OK) != 0;
        MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    printf("rank %d ended %d\n", rank, n);
    fflush(stdout);
    MPI_Finalize();
    return argc != 2;
}
