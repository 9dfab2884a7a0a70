// libpmix's upcalls: copy, queue, return. Nothing else may happen on its thread.
#include "agent/pmix_upcall.h"

#include <stdlib.h>
#include <string.h>

#include "agent/pmix_shift.h"
#include "common/mem.h"
#include "common/strv.h"

// libpmix's interface is process-wide and passes no argument of ours: this is the one
// place of the program that mirrors that.
static struct {
    struct pmixd_shift *shift;
    const struct pmixd_handler *handlers;
} host;

static void dispatch(void *arg)
{
    struct pmixd_call *call = arg;
    const struct pmixd_handler *h = &host.handlers[call->kind];
    h->fn(h->arg, call);
}

static void queue(struct pmixd_call *call)
{
    pmixd_shift_to_loop(host.shift, dispatch, call);
}

static struct pmixd_call *call_new(enum pmixd_call_kind kind, void *cbdata)
{
    struct pmixd_call *call = xcalloc(1, sizeof *call);
    call->kind = kind;
    call->cbdata = cbdata;
    return call;
}

void pmixd_call_free(struct pmixd_call *call)
{
    if (call == NULL)
        return;
    free(call->procs);
    if (call->info != NULL)
        PMIX_INFO_FREE(call->info, call->ninfo);
    if (call->apps != NULL)
        PMIX_APP_FREE(call->apps, call->napps);
    for (char **key = call->keys; key != NULL && *key != NULL; key++)
        free(*key);
    free(call->keys);
    free(call->text);
    free(call->data);
    free(call);
}

void pmixd_call_complete(struct pmixd_call *call, int status, const void *data,
                         size_t len)
{
    // libpmix takes the data up on its own thread and calls free() then.
    void *copy = len > 0 ? xmemdup(data, len) : NULL;
    call->modex(status, copy, len, call->cbdata, copy != NULL ? free : NULL, copy);
    pmixd_call_free(call);
}

static int local_status(const pmix_info_t *info, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS) &&
            info[i].value.type == PMIX_STATUS)
            return info[i].value.data.status;
    return PMIX_SUCCESS;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo, char *data,
                              size_t len, pmix_modex_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_FENCE, cbdata);
    call->procs = xmemdup(procs, nprocs * sizeof *procs);
    call->nprocs = nprocs;
    call->status = local_status(info, ninfo);
    call->data = (uint8_t *)data; // ours: libpmix (4.2 to 5.0) never frees it
    call->len = len;
    call->modex = done;
    queue(call);
    return PMIX_SUCCESS;
}

static pmix_status_t collective(enum pmixd_call_kind kind, const pmix_proc_t procs[],
                                size_t nprocs, const pmix_info_t info[], size_t ninfo,
                                pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(kind, cbdata);
    call->procs = xmemdup(procs, nprocs * sizeof *procs);
    call->nprocs = nprocs;
    call->status = local_status(info, ninfo);
    call->op = done;
    queue(call);
    return PMIX_SUCCESS;
}

static pmix_status_t on_connect(const pmix_proc_t procs[], size_t nprocs,
                                const pmix_info_t info[], size_t ninfo,
                                pmix_op_cbfunc_t done, void *cbdata)
{
    return collective(PMIXD_CALL_CONNECT, procs, nprocs, info, ninfo, done, cbdata);
}

static pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t nprocs,
                                   const pmix_info_t info[], size_t ninfo,
                                   pmix_op_cbfunc_t done, void *cbdata)
{
    return collective(PMIXD_CALL_DISCONNECT, procs, nprocs, info, ninfo, done, cbdata);
}

static pmix_status_t on_modex(const pmix_proc_t *proc, const pmix_info_t info[],
                              size_t ninfo, pmix_modex_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_MODEX, cbdata);
    call->proc = *proc;
    call->modex = done;
    queue(call);
    return PMIX_SUCCESS;
}

// ---- names --------------------------------------------------------------------

static void copy_info(struct pmixd_call *call, const pmix_info_t info[], size_t n)
{
    if (n == 0)
        return;
    PMIX_INFO_CREATE(call->info, n);
    call->ninfo = n;
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_XFER(&call->info[i], &info[i]);
}

static char **copy_keys(char **keys)
{
    size_t n = 0;
    while (keys != NULL && keys[n] != NULL)
        n++;
    char **copy = xcalloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(keys[i]);
    return copy;
}

static struct pmixd_call *names_call(enum pmixd_call_kind kind, const pmix_proc_t *proc,
                                     char **keys, const pmix_info_t info[],
                                     size_t ninfo, void *cbdata)
{
    struct pmixd_call *call = call_new(kind, cbdata);
    call->proc = *proc;
    call->keys = copy_keys(keys);
    copy_info(call, info, ninfo);
    return call;
}

static pmix_status_t on_publish(const pmix_proc_t *proc, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call =
        names_call(PMIXD_CALL_PUBLISH, proc, NULL, info, ninfo, cbdata);
    call->op = done;
    queue(call);
    return PMIX_SUCCESS;
}

static pmix_status_t on_lookup(const pmix_proc_t *proc, char **keys,
                               const pmix_info_t info[], size_t ninfo,
                               pmix_lookup_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call =
        names_call(PMIXD_CALL_LOOKUP, proc, keys, info, ninfo, cbdata);
    call->lookup = done;
    queue(call);
    return PMIX_SUCCESS;
}

static pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys,
                                  const pmix_info_t info[], size_t ninfo,
                                  pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call =
        names_call(PMIXD_CALL_UNPUBLISH, proc, keys, info, ninfo, cbdata);
    call->op = done;
    queue(call);
    return PMIX_SUCCESS;
}

// ---- spawn --------------------------------------------------------------------

static void copy_app(pmix_app_t *to, const pmix_app_t *from)
{
    to->cmd = from->cmd != NULL ? strdup(from->cmd) : NULL;
    to->argv = from->argv != NULL ? copy_keys(from->argv) : NULL;
    to->env = from->env != NULL ? copy_keys(from->env) : NULL;
    to->cwd = from->cwd != NULL ? strdup(from->cwd) : NULL;
    to->maxprocs = from->maxprocs;
    if (from->ninfo == 0)
        return;
    PMIX_INFO_CREATE(to->info, from->ninfo);
    to->ninfo = from->ninfo;
    for (size_t i = 0; i < from->ninfo; i++)
        PMIX_INFO_XFER(&to->info[i], &from->info[i]);
}

static pmix_status_t on_spawn(const pmix_proc_t *proc, const pmix_info_t info[],
                              size_t ninfo, const pmix_app_t apps[], size_t napps,
                              pmix_spawn_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_SPAWN, cbdata);
    call->proc = *proc;
    copy_info(call, info, ninfo);
    PMIX_APP_CREATE(call->apps, napps);
    call->napps = napps;
    for (size_t i = 0; i < napps; i++)
        copy_app(&call->apps[i], &apps[i]);
    call->spawn = done;
    queue(call);
    return PMIX_SUCCESS;
}

// ---- clients ------------------------------------------------------------------

static pmix_status_t on_abort(const pmix_proc_t *proc, void *server_object, int status,
                              const char text[], pmix_proc_t procs[], size_t nprocs,
                              pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_ABORT, cbdata);
    call->proc = *proc;
    call->status = status;
    call->text = text != NULL ? xstrdup(text) : NULL;
    call->op = done;
    queue(call);
    return PMIX_SUCCESS;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *server_object,
                                  pmix_info_t info[], size_t ninfo,
                                  pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_CONNECTED, NULL);
    call->proc = *proc;
    queue(call);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *server_object,
                                  pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_FINALIZED, NULL);
    call->proc = *proc;
    queue(call);
    return PMIX_OPERATION_SUCCEEDED;
}

// Without these two, libpmix refuses even what it does by itself: handlers for events
// of its own, and the removal of files that a client registers.
static pmix_status_t on_register_events(pmix_status_t *codes, size_t ncodes,
                                        const pmix_info_t info[], size_t ninfo,
                                        pmix_op_cbfunc_t done, void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister_events(pmix_status_t *codes, size_t ncodes,
                                          pmix_op_cbfunc_t done, void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_job_control(const pmix_proc_t *proc,
                                    const pmix_proc_t targets[], size_t ntargets,
                                    const pmix_info_t directives[], size_t ndirectives,
                                    pmix_info_cbfunc_t done, void *cbdata)
{
    return PMIX_ERR_NOT_SUPPORTED;
}

// The clients of this server have it from libpmix; the other pods' get it from us. What is
// meant for the host, or for one process, goes nowhere.
static pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *source,
                               pmix_data_range_t range, pmix_info_t info[],
                               size_t ninfo, pmix_op_cbfunc_t done, void *cbdata)
{
    if (range == PMIX_RANGE_RM || range == PMIX_RANGE_LOCAL ||
        range == PMIX_RANGE_PROC_LOCAL)
        return PMIX_OPERATION_SUCCEEDED;
    struct pmixd_call *call = call_new(PMIXD_CALL_NOTIFY, NULL);
    call->proc = *source;
    call->status = code;
    call->range = range;
    copy_info(call, info, ninfo);
    queue(call);
    return PMIX_OPERATION_SUCCEEDED;
}

// ---- groups and queries -------------------------------------------------------

static pmix_status_t on_group(pmix_group_operation_t op, char *group,
                              const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo,
                              pmix_info_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(
        op == PMIX_GROUP_CONSTRUCT ? PMIXD_CALL_GROUP : PMIXD_CALL_UNGROUP, cbdata);
    call->text = xstrdup(group);
    call->procs = xmemdup(procs, nprocs * sizeof *procs);
    call->nprocs = nprocs;
    call->status = local_status(info, ninfo);
    call->infos = done;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ENDPT_DATA) && call->data == NULL) {
            call->len = info[i].value.data.bo.size;
            call->data = xmemdup(info[i].value.data.bo.bytes, call->len);
        }
    queue(call);
    return PMIX_SUCCESS;
}

static pmix_status_t on_query(pmix_proc_t *proc, pmix_query_t *queries, size_t n,
                              pmix_info_cbfunc_t done, void *cbdata)
{
    STRV_AUTO keys = STRV_INIT;
    for (size_t i = 0; i < n; i++)
        for (char **key = queries[i].keys; key != NULL && *key != NULL; key++)
            strv_add(&keys, *key);
    struct pmixd_call *call = call_new(PMIXD_CALL_QUERY, cbdata);
    call->keys = copy_keys(keys.v);
    call->infos = done;
    queue(call);
    return PMIX_SUCCESS;
}

static void on_log(const pmix_proc_t *proc, const pmix_info_t data[], size_t ndata,
                   const pmix_info_t directives[], size_t ndirectives,
                   pmix_op_cbfunc_t done, void *cbdata)
{
    struct pmixd_call *call = call_new(PMIXD_CALL_LOG, cbdata);
    call->proc = *proc;
    call->op = done;
    copy_info(call, data, ndata);
    queue(call);
}

pmix_server_module_t *pmixd_upcall_module(struct pmixd_shift *shift,
                                          const struct pmixd_handler *handlers)
{
    static pmix_server_module_t module = {
        .client_connected2 = on_connected,
        .client_finalized = on_finalized,
        .abort = on_abort,
        .fence_nb = on_fence,
        .direct_modex = on_modex,
        .publish = on_publish,
        .lookup = on_lookup,
        .unpublish = on_unpublish,
        .spawn = on_spawn,
        .connect = on_connect,
        .disconnect = on_disconnect,
        .register_events = on_register_events,
        .deregister_events = on_deregister_events,
        .notify_event = on_notify,
        .group = on_group,
        .query = on_query,
        .log = on_log,
        .job_control = on_job_control,
    };
    host.shift = shift;
    host.handlers = handlers;
    return &module;
}
