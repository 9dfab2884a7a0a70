// NVIDIA's driver, opened at run time: the few calls of it that netcheck makes.
//
// As nvml.h: own prototypes, after cuda.h of 13.0; only a supervised child calls them.
#ifndef MUSTER_KERNELS_CHECK_CUDA_DRIVER_H
#define MUSTER_KERNELS_CHECK_CUDA_DRIVER_H

#include <stddef.h>

#include "common/err.h"

#define CUDA_DRIVER_LIBRARY "libcuda.so.1" // where dlopen() looks

enum { CUDA_DRIVER_BUS_ID = 32 };

struct cuda_context; // CUcontext
struct cuda_stream;  // CUstream

// Each returns a CUresult, 0 where all is well.
struct cuda_driver {
    int (*init)(unsigned flags);
    int (*count)(int *n);
    int (*device)(int *device, int index);
    int (*bus_id)(char *text, int size, int device);
    int (*retain_context)(struct cuda_context **context, int device);
    int (*set_context)(struct cuda_context *context);
    int (*alloc)(unsigned long long *at, size_t bytes);
    int (*free)(unsigned long long at);
    int (*put)(unsigned long long to, const void *from, size_t bytes);
    int (*get)(void *to, unsigned long long from, size_t bytes);
    int (*make_stream)(struct cuda_stream **stream, unsigned flags);
    int (*wait_stream)(struct cuda_stream *stream);
    int (*error_string)(int rc, const char **text);
};

// The library, and cuInit. Error: there is none, no driver, or no device; err->code 2 (could not run).
int cuda_driver_open(const char *path, struct cuda_driver *out, struct err *err);
// "CALL: TEXT (NUMBER)", with err->code `code`.
void cuda_driver_say(const struct cuda_driver *c, const char *call, int rc, int code,
                     struct err *err);

#endif
