// The CPU as a back end: which build of the kernels this processor can run.
#include "kernels/compute/compute.h"

#include "kernels/compute/table.h"

const struct compute *compute_cpu(void)
{
#ifdef HAVE_FMA_BUILD
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return compute_table_fma();
#endif
    return compute_table_plain();
}

const struct compute *compute_portable(void)
{
    return compute_table_plain();
}
