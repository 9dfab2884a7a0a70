// hang [pause]: every rank says its pid, then they meet in barriers (or sleep) for
// ever.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct timespec step = {.tv_nsec = 200 * 1000 * 1000};
    int rank, sleeps = argc > 1 && strcmp(argv[1], "pause") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d pid %d\n", rank, (int)getpid());
    fflush(stdout);
    for (;;) {
        if (sleeps)
            pause();
        else
            MPI_Barrier(MPI_COMM_WORLD);
        nanosleep(&step, NULL);
    }
}
