// A list of requests, copied.
#include "agent/modex.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/mem.h"

enum { FAILED = -1 }; // PMIX_ERROR

struct request {
    uint32_t asker, rank;
    uint64_t id;
    char *nspace; // owned
    struct request *prev, *next;
};

struct modex {
    size_t max, n;
    modex_fail_fn fail;
    void *arg;
    struct request *requests;
};

struct modex *modex_create(size_t max, modex_fail_fn fail, void *arg)
{
    struct modex *m = xcalloc(1, sizeof *m);
    m->max = max;
    m->fail = fail;
    m->arg = arg;
    return m;
}

static void drop(struct modex *m, struct request *r)
{
    DL_DELETE(m->requests, r);
    m->n--;
    free(r->nspace);
    free(r);
}

void modex_destroy(struct modex *m)
{
    if (m == NULL)
        return;
    while (m->requests != NULL)
        drop(m, m->requests);
    free(m);
}

void modex_fail(struct modex *m, uint32_t asker, const Muster__Modex *request)
{
    Muster__Modex answer = MUSTER__MODEX__INIT;
    answer.id = request->id;
    answer.proc = request->proc;
    answer.status = FAILED;
    m->fail(m->arg, asker, &answer);
}

bool modex_asked(struct modex *m, uint32_t asker, const Muster__Modex *request)
{
    if (m->n >= m->max) {
        modex_fail(m, asker, request);
        return false;
    }
    struct request *r = xcalloc(1, sizeof *r);
    r->asker = asker;
    r->id = request->id;
    r->rank = request->proc->rank;
    r->nspace = xstrdup(request->proc->nspace);
    DL_APPEND(m->requests, r);
    m->n++;
    return true;
}

bool modex_answered(struct modex *m, uint32_t asker, uint64_t id)
{
    struct request *r;
    DL_FOREACH (m->requests, r) {
        if (r->asker != asker || r->id != id)
            continue;
        drop(m, r);
        return true;
    }
    return false;
}

static void fail_one(struct modex *m, const struct request *r)
{
    Muster__Proc proc = MUSTER__PROC__INIT;
    Muster__Modex request = MUSTER__MODEX__INIT;
    proc.nspace = r->nspace;
    proc.rank = r->rank;
    request.id = r->id;
    request.proc = &proc;
    modex_fail(m, r->asker, &request);
}

void modex_rank_gone(struct modex *m, const char *nspace, uint32_t rank)
{
    struct request *r, *next;
    DL_FOREACH_SAFE (m->requests, r, next) {
        if (r->rank != rank || strcmp(r->nspace, nspace) != 0)
            continue;
        fail_one(m, r);
        drop(m, r);
    }
}

size_t modex_waiting(const struct modex *m)
{
    return m->n;
}
