// First cause and exit code.
#include "launcher/verdict.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/mem.h"
#include "common/proc.h"

bool verdict_set(struct verdict *v, enum verdict_strength strength, int code,
                 const char *fmt, ...)
{
    if (v->failed && strength <= v->strength)
        return false;
    va_list ap;
    va_start(ap, fmt);
    free(v->text);
    v->text = xvasprintf(fmt, ap);
    va_end(ap);
    v->failed = true;
    v->strength = strength;
    v->code = code;
    return true;
}

char *verdict_rank_text(const struct verdict_rank *r)
{
    CLEANUP_FREE char *of =
        r->world > 0 ? xasprintf(" of spawned world %u", r->world) : xstrdup("");
    return xasprintf("rank %u%s on %s (%s, pid %u)", r->rank, of, r->member, r->address,
                     r->pid);
}

bool verdict_exit(struct verdict *v, const struct verdict_rank *r, int status,
                  bool connected, bool finalized)
{
    CLEANUP_FREE char *who = verdict_rank_text(r);
    if (status != 0) {
        CLEANUP_FREE char *how = proc_status_text(status);
        return verdict_set(v, WIFSIGNALED(status) ? VERDICT_SIGNAL : VERDICT_ERROR,
                           proc_status_code(status), "%s ended with %s", who, how);
    }
    if (connected && !finalized)
        return verdict_set(v, VERDICT_ERROR, 1,
                           "%s ended with exit code 0 between MPI_Init and "
                           "MPI_Finalize; its peers would wait for it",
                           who);
    return false;
}

bool verdict_abort(struct verdict *v, const struct verdict_rank *r, int status,
                   const char *text)
{
    // As the shell would see exit(status); 0 would hide the abort.
    if (strcmp(text, "N/A") == 0) // Open MPI's word for nothing
        text = "";
    CLEANUP_FREE char *who = verdict_rank_text(r);
    int code = (status & 0xff) != 0 ? status & 0xff : 1;
    return verdict_set(v, VERDICT_ERROR, code, "%s called MPI_Abort(%d)%s%s", who,
                       status, text[0] != '\0' ? ": " : "", text);
}

void verdict_free(struct verdict *v)
{
    free(v->text);
    *v = (struct verdict){0};
}
