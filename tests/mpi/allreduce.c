// Sums over messages of several sizes, each element checked on each rank.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Exact in int64 for any number of ranks that fits a test.
static int64_t term(int rank, size_t i)
{
    return (int64_t)(rank + 1) * (int64_t)(i % 1009 + 1);
}

static size_t wrong_elements(size_t n, int rank, int size)
{
    int64_t *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
    size_t wrong = 0;
    if (in == NULL || out == NULL)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (size_t i = 0; in != NULL && i < n; i++)
        in[i] = term(rank, i);
    MPI_Allreduce(in, out, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    int64_t ranks = (int64_t)size * (size + 1) / 2;
    for (size_t i = 0; out != NULL && i < n; i++)
        wrong += out[i] != ranks * term(0, i) ? 1 : 0;
    free(in);
    free(out);
    return wrong;
}

int main(int argc, char **argv)
{
    static const size_t bytes[] = {8, 512, 4096, 65536, 1048576};
    int rank, size, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++) {
        size_t wrong = wrong_elements(bytes[k] / sizeof(int64_t), rank, size);
        if (wrong > 0)
            printf("rank %d: %zu wrong elements at %zu bytes\n", rank, wrong, bytes[k]);
        else if (rank == 0)
            printf("allreduce of %d: %zu bytes right\n", size, bytes[k]);
        bad |= wrong > 0;
    }
    fflush(stdout);
    MPI_Finalize();
    return bad;
}
