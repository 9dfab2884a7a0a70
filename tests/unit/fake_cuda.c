// A stand-in for libcuda.so.1: $FAKE_CUDA="count=2 init=100" has two devices, or cuInit's error.
#include <string.h>

#include "tests/unit/standin_memory.h"

enum { OK = 0, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_VALUE = 1 };

int cuInit(unsigned flags);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *device, int index);
int cuDeviceGetPCIBusId(char *text, int size, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *at, size_t bytes);
int cuMemFree_v2(unsigned long long at);
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuGetErrorString(int rc, const char **text);

static int planted(const char *key, int usual)
{
    const char *plan = getenv("FAKE_CUDA");
    const char *at = plan != NULL ? strstr(plan, key) : NULL;
    return at != NULL ? atoi(at + strlen(key)) : usual;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return planted("init=", OK);
}

int cuDeviceGetCount(int *n)
{
    *n = planted("count=", 1);
    return OK;
}

int cuDeviceGet(int *device, int index)
{
    *device = index;
    return OK;
}

int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "0000:%02X:00.0", 0x30 + (unsigned)device);
    return OK;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    static char contexts[64];
    *context = &contexts[device % 64];
    return OK;
}

int cuCtxSetCurrent(void *context)
{
    return context != NULL ? OK : INVALID_VALUE;
}

// The size stands in a page before it.
int cuMemAlloc_v2(unsigned long long *at, size_t bytes)
{
    enum { PAGE = 4096 };
    size_t all = (bytes / PAGE + 2) * PAGE;
    char *p =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return OUT_OF_MEMORY;
    memcpy(p, &all, sizeof all);
    mprotect(p + PAGE, all - PAGE, PROT_NONE);
    *at = (unsigned long long)(size_t)(p + PAGE);
    return OK;
}

int cuMemFree_v2(unsigned long long at)
{
    enum { PAGE = 4096 };
    size_t all;
    char *p = (char *)(size_t)at - PAGE;
    memcpy(&all, p, sizeof all);
    return munmap(p, all) == 0 ? OK : INVALID_VALUE;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
    return standin_put((void *)(size_t)to, from, bytes) ? OK : INVALID_VALUE;
}

int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
    return standin_get(to, (const void *)(size_t)from, bytes) ? OK : INVALID_VALUE;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    static char a_stream;
    (void)flags;
    *stream = &a_stream;
    return OK;
}

int cuStreamSynchronize(void *stream)
{
    return stream != NULL ? OK : INVALID_VALUE;
}

int cuGetErrorString(int rc, const char **text)
{
    *text = rc == NO_DEVICE ? "no CUDA-capable device is detected" : "some error";
    return OK;
}
