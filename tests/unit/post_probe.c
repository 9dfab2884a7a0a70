// post_probe FILE: two ranks of MPI. Rank 0 posts messages and then makes FILE; rank 1 takes no part
// in MPI before FILE is there, for 20 s at most: whoever waits for a receiver waits too long.
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "kernels/comm/comm.h"

enum { TRIES = 2000, TAG = 5, MOST = 1 << 20 };

// Those of a rank's memory that MPI treats in its several ways.
static const size_t sizes[] = {1, 256, 300, 4000, 5000, 70000, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void post_all(struct comm *world, const char *path)
{
    CLEANUP_FREE char *p = xcalloc(MOST, 1);
    for (size_t i = 0; i < SIZES; i++) {
        memset(p, (int)i + 1, sizes[i]);
        comm_post(world, p, sizes[i], 1, TAG);
    }
    memset(p, 0, MOST); // it was copied
    FILE *f = fopen(path, "w");
    if (f != NULL)
        fclose(f);
}

static int receive_all(struct comm *world)
{
    CLEANUP_FREE char *p = xcalloc(MOST, 1);
    int wrong = 0;
    for (size_t i = 0; i < SIZES; i++) {
        comm_recv(world, p, sizes[i], 0, TAG);
        wrong += p[0] != (int)i + 1 || memcmp(p, p + 1, sizes[i] - 1) != 0;
    }
    return wrong;
}

static bool is_there(const char *path)
{
    for (int i = 0; i < TRIES && access(path, F_OK) < 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    return access(path, F_OK) == 0;
}

int main(int argc, char **argv)
{
    ERR_AUTO err = ERR_INIT;
    struct comm *world = argc == 2 ? comm_open(&err) : NULL;
    if (world == NULL || comm_size(world) != 2)
        return 2;
    int wrong = 0;
    if (comm_rank(world) == 0) {
        post_all(world, argv[1]);
    } else {
        bool there = is_there(argv[1]);
        wrong = receive_all(world);
        printf("%s, %d wrong\n", there ? "nobody waited" : "it waited", wrong);
        wrong += !there;
    }
    comm_destroy(world);
    return wrong > 0 ? 1 : 0;
}
