// A token goes round once; each rank adds its number, rank 0 checks the sum.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    enum { TAG = 7 };
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long token = 0, want = (long)size * (size - 1) / 2;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    if (rank > 0) {
        MPI_Recv(&token, 1, MPI_LONG, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        MPI_Send(&token, 1, MPI_LONG, next, TAG, MPI_COMM_WORLD);
    } else if (size > 1) {
        MPI_Send(&token, 1, MPI_LONG, next, TAG, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_LONG, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int bad = rank == 0 && token != want;
    if (rank == 0)
        printf("ring of %d: sum %ld, %s\n", size, token, bad ? "wrong" : "right");
    fflush(stdout);
    MPI_Finalize();
    return bad;
}
