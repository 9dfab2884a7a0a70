// What libpmix asks of its host: copied on libpmix's thread, handled in the event loop.
//
// One kind a request. An upcall copies its arguments into a pmixd_call, queues it and
// returns; the handler of that kind gets it in the loop. What is not here (tools,
// allocations, credentials, monitoring, ...) libpmix answers with PMIX_ERR_NOT_SUPPORTED.
#ifndef MUSTER_AGENT_PMIX_UPCALL_H
#define MUSTER_AGENT_PMIX_UPCALL_H

#include <pmix_server.h>
#include <stddef.h>
#include <stdint.h>

struct pmixd_shift;

enum pmixd_call_kind {
    PMIXD_CALL_FENCE,      // procs, status, data; answer: modex
    PMIXD_CALL_CONNECT,    // procs, status; answer: op
    PMIXD_CALL_DISCONNECT, // the same
    PMIXD_CALL_MODEX,      // proc is the process asked for; answer: modex
    PMIXD_CALL_ABORT, // proc called it; status, text; answer: op, on libpmix's thread
    PMIXD_CALL_CONNECTED, // proc; no answer
    PMIXD_CALL_FINALIZED, // proc; no answer
    PMIXD_CALL_PUBLISH,   // proc, info; answer: op, on libpmix's thread
    PMIXD_CALL_LOOKUP,    // proc, keys, info; answer: lookup, on libpmix's thread
    PMIXD_CALL_UNPUBLISH, // proc, keys (NULL: all), info; answer: as of publish
    PMIXD_CALL_SPAWN,     // proc, info, apps; answer: spawn
    PMIXD_CALL_GROUP,     // text (its name), procs, data; answer: infos
    PMIXD_CALL_UNGROUP,   // text, procs; answer: infos
    PMIXD_CALL_NOTIFY,    // proc raised it; status, range, info; no answer
    PMIXD_CALL_QUERY,     // keys; answer: infos, on libpmix's thread
    PMIXD_CALL_LOG,       // proc, info; answer: op, on libpmix's thread
    PMIXD_CALL_KINDS,
};

// All owned. `status` of a collective is its PMIX_LOCAL_COLLECTIVE_STATUS: a participant
// died here when it is not PMIX_SUCCESS.
struct pmixd_call {
    enum pmixd_call_kind kind;
    pmix_proc_t proc;
    pmix_proc_t *procs;
    size_t nprocs;
    int status;
    pmix_data_range_t range;
    char *text; // may be NULL
    uint8_t *data;
    size_t len;
    pmix_info_t *info;
    size_t ninfo;
    pmix_app_t *apps;
    size_t napps;
    char **keys; // NULL-terminated, or NULL
    pmix_modex_cbfunc_t modex;
    pmix_op_cbfunc_t op;
    pmix_lookup_cbfunc_t lookup;
    pmix_spawn_cbfunc_t spawn;
    pmix_info_cbfunc_t infos;
    void *cbdata;
};

// Runs in the loop and takes over the call.
typedef void (*pmixd_call_fn)(void *arg, struct pmixd_call *call);

struct pmixd_handler {
    pmixd_call_fn fn;
    void *arg;
};

// The module for PMIx_server_init. Calls go through `shift` to handlers[kind]; both
// must stay until the process ends. libpmix has one server a process and hands no
// argument to most upcalls, so this can be called once a process.
pmix_server_module_t *pmixd_upcall_module(struct pmixd_shift *shift,
                                          const struct pmixd_handler *handlers);

void pmixd_call_free(struct pmixd_call *call); // NULL-safe

// Completes a call of kind FENCE or MODEX with a copy of data, and frees the call.
void pmixd_call_complete(struct pmixd_call *call, int status, const void *data,
                         size_t len);

#endif
