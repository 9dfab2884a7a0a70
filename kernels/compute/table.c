// The CPU's table of kernels; compiled twice: with FMA instructions, and for any processor.
#include "kernels/compute/table.h"

#include <stdlib.h>

#include "common/mem.h"
#include "kernels/compute/attention.h"
#include "kernels/compute/matmul.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/step.h"

static void *memory(size_t bytes)
{
    return xaligned(64, bytes);
}

static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void clear(void *p, size_t bytes)
{
    memset(p, 0, bytes);
}

static void copy_rows(void *to, size_t to_stride, const void *from, size_t from_stride,
                      size_t rows, size_t bytes)
{
    for (size_t r = 0; r < rows; r++)
        memcpy((char *)to + r * to_stride, (const char *)from + r * from_stride, bytes);
}

static void device(char text[COMPUTE_DEVICE])
{
    text[0] = '\0';
}

static const struct compute table = {
#ifdef __FMA__
    .name = "cpu, FMA",
#else
    .name = "cpu, plain C",
#endif
    .host = true,
    .alloc = memory,
    .free = free,
    .put = copy,
    .get = copy,
    .zero = clear,
    .copy = copy,
    .copy_rows = copy_rows,
    .device = device,
    .matmul = matmul,
    .matmul_dx = matmul_dx,
    .matmul_dw = matmul_dw,
    .embed = embed,
    .embed_back = embed_back,
    .add = add,
    .rmsnorm = rmsnorm,
    .rmsnorm_back = rmsnorm_back,
    .rope = rope,
    .rope_back = rope_back,
    .attention = attention,
    .attention_back = attention_back,
    .swiglu = swiglu,
    .swiglu_back = swiglu_back,
    .softmax = softmax,
    .cross_entropy = cross_entropy,
    .fixed_add = fixed_add,
    .add_i64 = add_i64,
    .fixed_scale = fixed_scale,
    .squares = squares,
    .adamw = adamw,
};

#ifdef __FMA__
const struct compute *compute_table_fma(void)
#else
const struct compute *compute_table_plain(void)
#endif
{
    return &table;
}
