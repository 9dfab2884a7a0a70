// The CUDA back end's table with memory of the host, which nobody but kernels may touch.
#include "tests/unit/emulated.h"

#include <stdio.h>
#include <sys/mman.h>

#define GPU_NAME "cuda, emulated"
#include "kernels/compute/cuda/launches.h"

enum { PIECES = 512, PAGE = 4096 };

// What is allocated, of whole pages.
static struct {
    void *at;
    size_t bytes;
} pieces[PIECES];

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "emulated GPU: %s\n", what);
    abort();
}

static void let(bool touch)
{
    for (int i = 0; i < PIECES; i++) {
        if (pieces[i].at != NULL)
            must(mprotect(pieces[i].at, pieces[i].bytes,
                          touch ? PROT_READ | PROT_WRITE : PROT_NONE) == 0,
                 "mprotect");
    }
}

static void *device_alloc(size_t bytes)
{
    for (int i = 0; i < PIECES; i++) {
        if (pieces[i].at != NULL)
            continue;
        pieces[i].bytes = (bytes / PAGE + 1) * PAGE;
        pieces[i].at =
            mmap(NULL, pieces[i].bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(pieces[i].at != MAP_FAILED, "no memory");
        return pieces[i].at;
    }
    must(false, "too many allocations");
    return NULL;
}

static void device_free(void *p)
{
    for (int i = 0; p != NULL && i < PIECES; i++) {
        if (pieces[i].at == p) {
            munmap(p, pieces[i].bytes);
            pieces[i].at = NULL;
            return;
        }
    }
    must(p == NULL, "what is freed was not allocated here");
}

// What is borrowed is not zeroed on a GPU.
static void *device_borrow(size_t bytes)
{
    void *p = device_alloc(bytes);
    let(true);
    memset(p, 0x7f, bytes);
    let(false);
    return p;
}

static void device_return(void *p)
{
    device_free(p);
}

static void device_put(void *to, const void *from_host, size_t bytes)
{
    let(true);
    memcpy(to, from_host, bytes);
    let(false);
}

static void device_get(void *to_host, const void *from, size_t bytes)
{
    let(true);
    memcpy(to_host, from, bytes);
    let(false);
}

static void device_zero(void *p, size_t bytes)
{
    let(true);
    memset(p, 0, bytes);
    let(false);
}

static void device_copy(void *to, const void *from, size_t bytes)
{
    let(true);
    memcpy(to, from, bytes);
    let(false);
}

static void device_copy_rows(void *to, size_t to_stride, const void *from,
                             size_t from_stride, size_t rows, size_t bytes)
{
    let(true);
    for (size_t r = 0; r < rows; r++)
        memcpy((char *)to + r * to_stride, (const char *)from + r * from_stride, bytes);
    let(false);
}

// The GPU of this rank's number, of as many as $EMULATED_GPUS says.
static void device_name(char text[COMPUTE_DEVICE])
{
    const char *rank = getenv("LOCAL_RANK"), *gpus = getenv("EMULATED_GPUS");
    unsigned long n = gpus != NULL ? strtoul(gpus, NULL, 10) : 16;
    unsigned long which = rank != NULL ? strtoul(rank, NULL, 10) % n : 0;
    snprintf(text, COMPUTE_DEVICE, "GPU-emulated-%lu", which);
}

static void device_starting(void)
{
    let(true);
}

static void device_started(const char *kernel)
{
    (void)kernel;
    let(false);
}

const struct compute *compute_emulated(void)
{
    return &launch_table;
}
