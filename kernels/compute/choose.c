// Which back end a rank computes with.
#include <stdlib.h>
#include <string.h>

#include "kernels/compute/compute.h"

bool compute_kind_parse(enum compute_kind *kind, const char *name)
{
    *kind = strcmp(name, "cuda") == 0 ? COMPUTE_CUDA : COMPUTE_CPU;
    return *kind == COMPUTE_CUDA || strcmp(name, "cpu") == 0;
}

// 0 where no launcher says it: a rank alone.
static unsigned local_rank(void)
{
    const char *text = getenv("LOCAL_RANK");
    if (text == NULL)
        text = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;
}

const struct compute *compute_open(enum compute_kind kind, struct err *err)
{
    return kind == COMPUTE_CPU ? compute_cpu() : compute_cuda(local_rank(), err);
}
