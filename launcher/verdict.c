// First cause and exit code.
#include "launcher/verdict.h"

#include <signal.h>
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
    v->rank = -1;
    return true;
}

char *verdict_rank_text(const struct verdict_rank *r)
{
    CLEANUP_FREE char *of =
        r->world > 0 ? xasprintf(" of spawned world %u", r->world) : xstrdup("");
    return xasprintf("rank %u%s on %s (%s, pid %u)", r->rank, of, r->member, r->address,
                     r->pid);
}

// A cause that is one rank's.
static bool set_rank(struct verdict *v, const struct verdict_rank *r,
                     enum verdict_strength strength, int code, const char *how)
{
    CLEANUP_FREE char *who = verdict_rank_text(r);
    if (!verdict_set(v, strength, code, "%s %s", who, how))
        return false;
    v->rank = r->number;
    return true;
}

static enum verdict_strength strength_of(int status)
{
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) != SIGPIPE;
    return killed ? VERDICT_SIGNAL : VERDICT_ERROR;
}

bool verdict_exit(struct verdict *v, const struct verdict_rank *r, int status,
                  bool connected, bool finalized)
{
    if (status != 0) {
        CLEANUP_FREE char *how = proc_status_text(status);
        CLEANUP_FREE char *text = xasprintf("ended with %s", how);
        return set_rank(v, r, strength_of(status), proc_status_code(status), text);
    }
    if (connected && !finalized)
        return set_rank(v, r, VERDICT_ERROR, 1,
                        "ended with exit code 0 between MPI_Init and MPI_Finalize; its "
                        "peers would wait for it");
    return false;
}

bool verdict_abort(struct verdict *v, const struct verdict_rank *r, int status,
                   const char *text)
{
    if (strcmp(text, "N/A") == 0) // Open MPI's word for nothing
        text = "";
    // As the shell would see exit(status); 0 would hide the abort.
    int code = (status & 0xff) != 0 ? status & 0xff : 1;
    CLEANUP_FREE char *how = xasprintf("called MPI_Abort(%d)%s%s", status,
                                       text[0] != '\0' ? ": " : "", text);
    return set_rank(v, r, VERDICT_ERROR, code, how);
}

void verdict_out_of_memory(struct verdict *v, uint32_t rank, uint32_t kills)
{
    if (v->rank != (long)rank || v->text == NULL)
        return;
    char *before = v->text;
    v->text =
        xasprintf("%s: out of memory (its container's count of OOM kills rose by %u); "
                  "raise the container's memory limit or let ranks use less",
                  before, kills);
    free(before);
}

void verdict_free(struct verdict *v)
{
    free(v->text);
    *v = (struct verdict){0};
}
