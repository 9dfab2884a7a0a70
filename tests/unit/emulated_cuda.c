// compute_cuda() for programs whose GPU is the emulated one.
#include "tests/unit/emulated.h"

const struct compute *compute_cuda(unsigned which, struct err *err)
{
    (void)which;
    (void)err;
    return compute_emulated();
}
