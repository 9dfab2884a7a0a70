// What an attempt leaves beside its processes: temporary files, a port, shared memory.
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "agent/port_holder.h"
#include "agent/shm_files.h"
#include "common/mem.h"

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    remove(path);
    return 0;
}

void attempt_proof_clear(struct attempt *at, struct strv *findings)
{
    if (at->tmpdir == NULL)
        return;
    nftw(at->tmpdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (rmdir(at->tmpdir) < 0 && errno != ENOENT && findings != NULL)
        strv_addf(findings, "temporary directory %s cannot be removed: %s", at->tmpdir,
                  strerror(errno));
    free(STEAL(at->tmpdir));
}

// Nobody of the attempt can hold it any more.
static void look_at_port(const struct attempt *at, struct strv *findings)
{
    CLEANUP_FREE char *who =
        at->master_port != 0 ? port_holder_text(at->master_port) : NULL;
    if (who != NULL)
        strv_addf(findings,
                  "port %u, on which rank 0 listened (MASTER_PORT), is held by %s",
                  at->master_port, who);
}

// Ranks that were killed could not remove what they had made there, and libpmix knows of
// Open MPI's files alone. Where the pod is shared others may have made it, too.
static void look_at_shm(const struct attempt *at, struct strv *findings)
{
    if (at->failed_here && at->started_ranks && session_owns_pod(at->session))
        shm_files_name("/dev/shm", &at->shm_before, findings);
}

void attempt_proof(struct attempt *at, struct strv *findings)
{
    attempt_proof_clear(at, findings);
    look_at_port(at, findings);
    look_at_shm(at, findings);
}
