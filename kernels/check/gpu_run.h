// gpucheck's work on one GPU, through the CUDA runtime: C's view of gpu_run.cu.
#ifndef MUSTER_KERNELS_CHECK_GPU_RUN_H
#define MUSTER_KERNELS_CHECK_GPU_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/check/gpu_formats.h"
#include "kernels/check/gpu_wrong.h"

enum { GPU_TEXT = 160, GPU_COPIES = 3 };

enum gpu_trouble { GPU_FINE, GPU_FAILS, GPU_COULD_NOT_RUN };

struct gpu_work {
    int device;
    double percent; // of the free memory
    unsigned rounds;
    uint64_t seed, until_ms; // CLOCK_MONOTONIC
    void (*stage)(void *arg, int device, const char *what);
    void *arg;

    char name[GPU_TEXT], bus_id[GPU_TEXT];
    uint64_t bytes; // of memory that was marched over
    struct gpu_wrong march, copy, product[GPU_KINDS];
    unsigned march_pass;          // that found it
    double march_gb_s, copy_gb_s; // read and written
    double gflop_s[GPU_KINDS];
    enum gpu_trouble trouble;
    char why[GPU_TEXT];
};

// GPUs that this process may use. Not GPU_FINE: why says what the runtime said.
enum gpu_trouble gpu_count(int *count, char why[GPU_TEXT]);
// On the calling thread.
void gpu_run(struct gpu_work *w);

#endif
