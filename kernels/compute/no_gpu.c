// A build without nvcc: says so where a GPU is asked for.
#include "common/err.h"
#include "kernels/compute/compute.h"

const struct compute *compute_cuda(unsigned which, struct err *err)
{
    (void)which;
    err_set(err, "the CUDA back end could not run here: this was built without nvcc; "
                 "install the CUDA toolkit and build again, or use --compute cpu");
    return NULL;
}
