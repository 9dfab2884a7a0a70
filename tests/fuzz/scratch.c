// A directory below /dev/shm, else /tmp.
#include "scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/mem.h"
#include "demand.h"

static char *dir;

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static void clean(void)
{
    nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

const char *scratch_dir(void)
{
    static const char *const below[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; dir == NULL && i < sizeof below / sizeof *below; i++) {
        CLEANUP_FREE char *name = xasprintf("%s/fuzz.XXXXXX", below[i]);
        if (mkdtemp(name) == NULL)
            continue;
        dir = STEAL(name);
        atexit(clean);
    }
    demand(dir != NULL, "no directory");
    return dir;
}

char *scratch_put(const char *name, const void *data, size_t size)
{
    char *path = xasprintf("%s/%s", scratch_dir(), name);
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    demand(fd >= 0 && fd_write(fd, data, size) == 0, "not written");
    return path;
}
