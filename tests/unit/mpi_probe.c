// A small MPI program, run as ranks by the PMIx tests. Prints one line a rank.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared_size(int rank)
{
    MPI_Comm node;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL,
                        &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size;
}

// Every rank adds rank + 1 to each element; the sum is known.
static int check_sum(int rank, int size)
{
    enum { N = 10000 };
    static long in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = rank + 1 + i;
    MPI_Allreduce(in, out, N, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        if (out[i] != (long)size * (size + 1) / 2 + (long)size * i)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (check_sum(rank, size) < 0)
        return 1;
    printf("rank %d size %d shared %d\n", rank, size, shared_size(rank));
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
