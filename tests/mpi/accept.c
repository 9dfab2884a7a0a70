// accept: the lower half of the ranks opens a port and publishes it, the upper half looks
// it up and connects; sums go across both ways, then they disconnect. Twice.
#include <mpi.h>
#include <stdio.h>

#define SERVICE "accept-test"

static MPI_Comm serve(MPI_Comm half, int leads)
{
    MPI_Comm across;
    char port[MPI_MAX_PORT_NAME] = "";
    if (leads) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(SERVICE, MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &across);
    if (leads) {
        MPI_Unpublish_name(SERVICE, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    return across;
}

static MPI_Comm reach(MPI_Comm half, int leads)
{
    MPI_Comm across;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Barrier(MPI_COMM_WORLD);
    if (leads)
        MPI_Lookup_name(SERVICE, MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &across);
    return across;
}

// Each side gets the sum of the other side's world ranks.
static int sums_right(MPI_Comm across, int rank, int size, int upper)
{
    int lower_n = size / 2, sum = -1, want = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, across);
    for (int r = 0; r < size; r++)
        want += (r >= lower_n) != upper ? r : 0;
    return sum == want;
}

int main(int argc, char **argv)
{
    int rank, size, bad = 0;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int upper = rank >= size / 2, leads = rank == 0 || rank == size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Comm across = upper ? reach(half, leads) : serve(half, leads);
        bad |= !sums_right(across, rank, size, upper);
        MPI_Comm_disconnect(&across);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d of %d: sums across %s\n", rank, size, bad ? "wrong" : "right");
    fflush(stdout);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return bad;
}
