// The driver's names, and its errors as texts.
#include "kernels/check/cuda_driver.h"

#include "common/dynlib.h"
#include "kernels/check/finding.h"

static const struct dynlib_symbol symbols[] = {
    {"cuInit", offsetof(struct cuda_driver, init), true},
    {"cuDeviceGetCount", offsetof(struct cuda_driver, count), true},
    {"cuDeviceGet", offsetof(struct cuda_driver, device), true},
    {"cuDeviceGetPCIBusId", offsetof(struct cuda_driver, bus_id), true},
    {"cuDevicePrimaryCtxRetain", offsetof(struct cuda_driver, retain_context), true},
    {"cuCtxSetCurrent", offsetof(struct cuda_driver, set_context), true},
    {"cuMemAlloc_v2", offsetof(struct cuda_driver, alloc), true},
    {"cuMemFree_v2", offsetof(struct cuda_driver, free), true},
    {"cuMemcpyHtoD_v2", offsetof(struct cuda_driver, put), true},
    {"cuMemcpyDtoH_v2", offsetof(struct cuda_driver, get), true},
    {"cuStreamCreate", offsetof(struct cuda_driver, make_stream), true},
    {"cuStreamSynchronize", offsetof(struct cuda_driver, wait_stream), true},
    {"cuGetErrorString", offsetof(struct cuda_driver, error_string), true},
};

void cuda_driver_say(const struct cuda_driver *c, const char *call, int rc, int code,
                     struct err *err)
{
    const char *text = NULL;
    c->error_string(rc, &text);
    err_set_kind(err, NULL, code, "%s: %s (%d)", call,
                 text != NULL ? text : "unknown error", rc);
}

int cuda_driver_open(const char *path, struct cuda_driver *out, struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    if (dynlib_open(path, symbols, sizeof symbols / sizeof *symbols, out, &why) < 0) {
        err_set_kind(err, NULL, FINDING_COULD_NOT_RUN, "no NVIDIA driver here: %s",
                     err_text(&why));
        return -1;
    }
    int rc = out->init(0);
    if (rc == 0)
        return 0;
    cuda_driver_say(out, "cuInit", rc, FINDING_COULD_NOT_RUN, err);
    return -1;
}
