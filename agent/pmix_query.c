// Answers to queries.
#include "agent/pmix_query.h"

#include <pmix_common.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pmix_info.h"
#include "agent/pmix_shift.h"
#include "common/buf.h"
#include "common/mem.h"
#include "common/strv.h"

static char *join(const struct strv *v)
{
    BUF_AUTO text = BUF_INIT;
    for (size_t i = 0; i < v->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", v->v[i]);
    return buf_steal_str(&text);
}

static bool add_answer(struct pmixd_info *out, const char *key,
                       const struct strv *nspaces)
{
    if (strcmp(key, PMIX_QUERY_NUM_PSETS) == 0) {
        pmixd_info_add_u32(out, key, 0);
    } else if (strcmp(key, PMIX_QUERY_PSET_NAMES) == 0) {
        pmixd_info_add_string(out, key, "");
    } else if (strcmp(key, PMIX_QUERY_NAMESPACES) == 0) {
        CLEANUP_FREE char *list = join(nspaces);
        pmixd_info_add_string(out, key, list);
    } else {
        return false;
    }
    return true;
}

struct completion {
    struct pmixd_call *call;
    pmix_status_t status;
    struct pmixd_info info;
};

static void release(void *arg)
{
    struct completion *c = arg;
    pmixd_info_free(&c->info);
    pmixd_call_free(c->call);
    free(c);
}

// On libpmix's thread.
static void complete(void *arg)
{
    struct completion *c = arg;
    c->call->infos(c->status, c->info.v, c->info.n, c->call->cbdata, release, c);
}

void pmixd_query_call(void *nspaces, struct pmixd_call *call)
{
    struct completion *c = xcalloc(1, sizeof *c);
    size_t asked = 0;
    c->call = call;
    for (char **key = call->keys; *key != NULL; key++, asked++)
        add_answer(&c->info, *key, nspaces);
    c->status = c->info.n == asked ? PMIX_SUCCESS
                : c->info.n > 0    ? PMIX_QUERY_PARTIAL_SUCCESS
                                   : PMIX_ERR_NOT_FOUND;
    pmixd_shift_to_pmix(complete, c);
}
