// Findings before the start: small /dev/shm, long TMPDIR.
#include "agent/preflight.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
    SHM_EACH_MIB = 16,     // what NCCL or Open MPI take for a rank, roughly
    SOCKET_PATH_MAX = 107, // sun_path without its NUL
    SOCKET_TAIL = 40,      // what libraries put behind TMPDIR for their sockets
};

void preflight_look(struct preflight *p)
{
    struct statvfs v;
    const char *tmp = getenv("TMPDIR");
    if (statvfs("/dev/shm", &v) == 0)
        p->shm_bytes = (uint64_t)v.f_blocks * v.f_frsize;
    p->tmpdir = tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
}

void preflight_warn(const struct preflight *p, struct strv *warnings)
{
    uint64_t mib = p->shm_bytes >> 20, want = (uint64_t)p->ranks * SHM_EACH_MIB;
    size_t len = strlen(p->tmpdir);
    // One rank needs no shared memory with others.
    if (p->shm_bytes > 0 && p->ranks > 1 && mib < want)
        strv_addf(
            warnings,
            "SHM_SMALL: /dev/shm has %llu MiB for %u ranks (%u x %d MiB): NCCL and "
            "MPI may die of bus errors; mount an emptyDir with medium: Memory there",
            (unsigned long long)mib, p->ranks, p->ranks, SHM_EACH_MIB);
    if (len + SOCKET_TAIL > SOCKET_PATH_MAX)
        strv_addf(
            warnings,
            "TMPDIR_TOO_LONG: TMPDIR has %zu characters; sockets below it need at "
            "most %d in all: set a shorter TMPDIR for musterd",
            len, SOCKET_PATH_MAX);
}
