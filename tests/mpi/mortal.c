// mortal RANK US: rank RANK gets SIGKILL US microseconds after its main() began, wherever
// it is then. Each rank says "rank N begins" and "rank N: MPI_Init took US us"; then they
// meet in barriers for ever.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "tests/mpi/arg.h"

static long now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000L + ts.tv_nsec / 1000;
}

static void die_in(int us)
{
    struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec in = {
        .it_value = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L + 1}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &kill, &timer) < 0 ||
        timer_settime(timer, 0, &in, NULL) < 0) {
        perror("mortal: timer");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    const struct timespec step = {.tv_nsec = 20 * 1000 * 1000};
    const char *rank = getenv("RANK");
    int who = arg_int(argc, argv, 1, -1), us = arg_int(argc, argv, 2, 0);
    long begin = now_us();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (rank == NULL)
        rank = "?";
    printf("rank %s begins\n", rank);
    if (atoi(rank) == who)
        die_in(us);
    MPI_Init(&argc, &argv);
    printf("rank %s: MPI_Init took %ld us\n", rank, now_us() - begin);
    for (;;) {
        MPI_Barrier(MPI_COMM_WORLD);
        nanosleep(&step, NULL);
    }
}
