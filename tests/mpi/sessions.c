// sessions: no MPI_Init; a session, the group of its world, a communicator made from it
// twice, sums over them. Needs MPI 4 (Open MPI 5, MPICH 4).
#include <mpi.h>
#include <stdio.h>

static int sum_right(MPI_Session session, const char *tag)
{
    int rank, size, sum = 0;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    int rc =
        MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    if (rc != MPI_SUCCESS)
        return 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("rank %d of %d: %s %s\n", rank, size, tag,
           sum == size * (size - 1) / 2 ? "right" : "wrong");
    fflush(stdout);
    MPI_Comm_free(&comm);
    return sum == size * (size - 1) / 2;
}

int main(void)
{
    MPI_Session session;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) {
        printf("MPI_Session_init: an error\n");
        return 2;
    }
    int good = sum_right(session, "first") && sum_right(session, "second");
    MPI_Session_finalize(&session);
    if (!good)
        printf("MPI_Comm_create_from_group: an error\n");
    return !good;
}
