// First cause and exit code.
#include "launcher/verdict.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/proc.h"

bool verdict_set(struct verdict *v, int code, const char *fmt, ...)
{
    if (v->failed)
        return false;
    va_list ap;
    va_start(ap, fmt);
    v->text = xvasprintf(fmt, ap);
    va_end(ap);
    v->failed = true;
    v->code = code;
    return true;
}

bool verdict_exit(struct verdict *v, const struct verdict_rank *r, int status,
                  bool connected, bool finalized)
{
    if (status != 0) {
        CLEANUP_FREE char *how = proc_status_text(status);
        return verdict_set(v, proc_status_code(status),
                           "rank %u on %s (%s, pid %u) ended with %s", r->rank,
                           r->member, r->address, r->pid, how);
    }
    if (connected && !finalized)
        return verdict_set(v, 1,
                           "rank %u on %s (%s, pid %u) ended with exit code 0 between "
                           "MPI_Init and MPI_Finalize; its peers would wait for it",
                           r->rank, r->member, r->address, r->pid);
    return false;
}

bool verdict_abort(struct verdict *v, const struct verdict_rank *r, int status,
                   const char *text)
{
    // As the shell would see exit(status); 0 would hide the abort.
    int code = (status & 0xff) != 0 ? status & 0xff : 1;
    return verdict_set(v, code, "rank %u on %s (%s, pid %u) called MPI_Abort(%d)%s%s",
                       r->rank, r->member, r->address, r->pid, status,
                       text[0] != '\0' ? ": " : "", text);
}

void verdict_free(struct verdict *v)
{
    free(v->text);
    *v = (struct verdict){0};
}
