// spawn [N [how]]: rank 0's world spawns N ranks of this program and sums with them.
//
//   how: "one" (default), "multiple" (two programs: N and 1 ranks), "nested" (the first
//   child spawns one more), "twice", "missing" (no such program: an error is expected),
//   "die" (child 0 exits with 5), "wait" (all sleep for ever after the spawn), "plain" (the child leaves without MPI_Init)
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/arg.h"

static void where(const char *what, MPI_Comm across)
{
    int rank, size, remote = 0;
    char host[256] = "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_remote_size(across, &remote);
    gethostname(host, sizeof host - 1);
    const char *env = getenv("RANK"), *world = getenv("WORLD_SIZE");
    printf("%s %d of %d on %s, env %s of %s, facing %d\n", what, rank, size, host,
           env != NULL ? env : "-", world != NULL ? world : "-", remote);
    fflush(stdout);
}

// Over the merged ranks of both sides; each adds 1.
static int count_all(MPI_Comm across, int high)
{
    MPI_Comm all;
    int one = 1, sum = 0, size = 0;
    MPI_Intercomm_merge(across, high, &all);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    return sum == size ? size : -1;
}

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static MPI_Comm spawn_one(char *program, char *how, int n)
{
    MPI_Comm across = MPI_COMM_NULL;
    char number[16];
    snprintf(number, sizeof number, "%d", n);
    char *argv[] = {number, how, NULL};
    MPI_Comm_spawn(program, argv, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &across,
                   MPI_ERRCODES_IGNORE);
    return across;
}

static MPI_Comm spawn_multiple(char *program, int n)
{
    MPI_Comm across = MPI_COMM_NULL;
    char number[16], first[] = "first", second[] = "second";
    snprintf(number, sizeof number, "%d", n);
    char *argv0[] = {number, first, NULL}, *argv1[] = {number, second, NULL};
    char *programs[] = {program, program}, **argvs[] = {argv0, argv1};
    int counts[] = {n, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, programs, argvs, counts, infos, 0, MPI_COMM_WORLD,
                            &across, MPI_ERRCODES_IGNORE);
    return across;
}

static int missing(void)
{
    MPI_Comm across;
    char none[] = "/no/such/program";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rc = MPI_Comm_spawn(none, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                            &across, MPI_ERRCODES_IGNORE);
    printf("spawn of nothing: %s\n", rc != MPI_SUCCESS ? "an error" : "no error");
    fflush(stdout);
    return rc != MPI_SUCCESS ? 0 : 1;
}

static int child(MPI_Comm parent, const char *program, const char *how)
{
    int rank, appnum = -1, *number, set;
    char *self = strdup(program), last[] = "last";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, (void *)&number, &set);
    appnum = set ? *number : -1;
    where("child", parent);
    if (strcmp(how, "first") == 0 || strcmp(how, "second") == 0)
        printf("child %d is the %s, appnum %d\n", rank, how, appnum);
    int all = count_all(parent, 1);
    if (strcmp(how, "die") == 0 && rank == 0)
        _exit(5);
    if (strcmp(how, "wait") == 0)
        sleep_for_ever();
    if (strcmp(how, "nested") == 0) {
        MPI_Comm across = spawn_one(self, last, 1);
        all = count_all(across, 0) > 0 ? all : -1;
        MPI_Comm_disconnect(&across);
    }
    MPI_Comm_disconnect(&parent);
    free(self);
    return all > 0 ? 0 : 1;
}

static int one_turn(char *program, char *how, int n, int rank)
{
    MPI_Comm across = strcmp(how, "multiple") == 0 ? spawn_multiple(program, n)
                                                   : spawn_one(program, how, n);
    where("parent", across);
    int all = count_all(across, 0);
    if (rank == 0)
        printf("together %d\n", all);
    fflush(stdout);
    if (strcmp(how, "wait") == 0 || strcmp(how, "die") == 0)
        sleep_for_ever();
    MPI_Comm_disconnect(&across);
    return all > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int rank, bad = 0, n = arg_int(argc, argv, 1, 2);
    char one[] = "one", *how = argc > 2 ? argv[2] : one;
    MPI_Comm parent;
    if (strcmp(how, "plain") == 0 && getenv("OMPI_PARENT_PORT") != NULL)
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        bad = child(parent, argv[0], how);
    else if (strcmp(how, "missing") == 0)
        bad = missing();
    else
        for (int turn = 0; turn < (strcmp(how, "twice") == 0 ? 2 : 1); turn++)
            bad |= one_turn(argv[0], how, n, rank);
    MPI_Finalize();
    return bad;
}
