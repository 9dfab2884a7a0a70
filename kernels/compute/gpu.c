// The GPU as a back end, where nvcc was: cuda/ with an error that says what to do.
#include "common/err.h"
#include "kernels/compute/compute.h"
#include "kernels/compute/cuda/backend.h"

const struct compute *compute_cuda(unsigned which, struct err *err)
{
    char why[CUDA_TEXT] = "";
    const struct compute *c = cuda_backend(which, why);
    if (c == NULL)
        err_set(
            err,
            "the CUDA back end could not run here: %s; it needs a GPU and a driver "
            "for its CUDA version (nvidia-smi shows both); --compute cpu needs none",
            why);
    return c;
}
