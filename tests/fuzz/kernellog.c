// libFuzzer target for the kernel's log, in which Xids of GPUs are looked for.
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "kernels/check/kernel_log.h"
#include "scratch.h"

static void check_event(const struct kernel_log *log, size_t i)
{
    const struct xid_event *e = &log->v[i];
    size_t n = strlen(e->bus_id);
    demand(n > 0 && strspn(e->bus_id, "0123456789abcdefABCDEF:") == n, "no bus id");
    demand(xid_meaning_text(xid_meaning(e->number)) != NULL, "no meaning");
    CLEANUP_FREE char *device = xasprintf("%s.0", e->bus_id);
    demand(kernel_log_of(log, device) == e, "it is another GPU's");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    struct kernel_log log;
    CLEANUP_FREE char *path = scratch_put("kmsg", data, size);
    demand(kernel_log_read(&log, path, &err) == 0, err_text(&err));
    for (size_t i = 0; i < log.n; i++)
        check_event(&log, i);
    demand(kernel_log_of(&log, "") == NULL, "whose is it?");
    kernel_log_free(&log);
    return 0;
}
