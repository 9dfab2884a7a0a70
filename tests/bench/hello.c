// MPI_Init, MPI_Finalize, and what that cost this rank in CPU seconds.
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    int rank, size;
    struct rusage r;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    getrusage(RUSAGE_SELF, &r);
    printf("rank %d of %d: CPU %.4f\n", rank, size,
           seconds(r.ru_utime) + seconds(r.ru_stime));
    return 0;
}
