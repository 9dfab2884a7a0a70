// Texts to the agent.
#include "agent/pmix_log.h"

#include <stdlib.h>
#include <string.h>

#include "agent/pmix_proc.h"
#include "agent/pmix_shift.h"
#include "agent/pmix_wire.h"
#include "common/mem.h"

static uint32_t stream_of(const pmix_info_t *info)
{
    if (info->value.type != PMIX_STRING || info->value.data.string == NULL)
        return 0;
    return PMIX_CHECK_KEY(info, PMIX_LOG_STDERR)   ? 2
           : PMIX_CHECK_KEY(info, PMIX_LOG_STDOUT) ? 1
                                                   : 0;
}

static pmix_status_t pass_on(struct pmixd_log *log, struct pmixd_call *call,
                             pmix_info_t *info)
{
    Muster__Proc proc;
    Muster__PmixLog m;
    char *text = info->value.data.string;
    uint32_t stream = stream_of(info);
    if (stream == 0)
        return PMIX_ERR_NOT_SUPPORTED;
    size_t len = strlen(text);
    if (len > FRAME_BULK_MAX / 2 || log->passed + len > PMIXD_LOG_MAX)
        return PMIX_ERR_OUT_OF_RESOURCE;
    log->passed += len;
    muster__pmix_log__init(&m);
    pmixd_proc_to_wire(&proc, &call->proc);
    m.proc = &proc;
    m.stream = stream;
    m.text = (ProtobufCBinaryData){.len = len, .data = (uint8_t *)text};
    pmixd_wire_log(log->wire, &m);
    return PMIX_SUCCESS;
}

// On libpmix's thread.
static void complete(void *arg)
{
    struct pmixd_call *call = arg;
    call->op(call->status, call->cbdata);
    pmixd_call_free(call);
}

void pmixd_log_call(void *log, struct pmixd_call *call)
{
    call->status = call->ninfo > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
    for (size_t i = 0; i < call->ninfo; i++) {
        pmix_status_t rc = pass_on(log, call, &call->info[i]);
        call->status = rc != PMIX_SUCCESS ? rc : call->status;
    }
    pmixd_shift_to_pmix(complete, call);
}
