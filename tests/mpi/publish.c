// publish: every rank publishes a name, looks up its neighbour's, and takes its own back;
// then nobody finds it any more, and a name that never was is not found either.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void name_of(char *out, size_t n, int rank)
{
    snprintf(out, n, "service-%d", rank);
}

static int found(const char *name, char *port)
{
    return MPI_Lookup_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS;
}

static int check(int ok, int rank, const char *what)
{
    if (!ok)
        printf("rank %d: %s\n", rank, what);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    int rank, size, bad = 0;
    char name[64], other[64], port[MPI_MAX_PORT_NAME], want[64], got[MPI_MAX_PORT_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    name_of(name, sizeof name, rank);
    name_of(other, sizeof other, (rank + 1) % size);
    snprintf(port, sizeof port, "port-of-%d", rank);
    snprintf(want, sizeof want, "port-of-%d", (rank + 1) % size);
    bad += check(!found("service-none", got), rank, "found what nobody published");
    bad += check(MPI_Publish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, rank,
                 "could not publish");
    MPI_Barrier(MPI_COMM_WORLD);
    bad += check(found(other, got) && strcmp(got, want) == 0, rank, "wrong port");
    bad += check(MPI_Publish_name(other, MPI_INFO_NULL, port) != MPI_SUCCESS, rank,
                 "published another's name");
    MPI_Barrier(MPI_COMM_WORLD);
    bad += check(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, rank,
                 "could not unpublish");
    MPI_Barrier(MPI_COMM_WORLD);
    bad += check(!found(other, got), rank, "found what was taken back");
    if (bad == 0)
        printf("rank %d of %d: names right\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    return bad > 0;
}
