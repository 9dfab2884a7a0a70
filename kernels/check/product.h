// Matrix products whose every element is known: small integers times powers of two.
//
// A[i][k] = f[(i + k) mod K] * 2^r(i),  B[k][j] = g[(k - j) mod K] * 2^c(j), K = the inner
// dimension. Then C[i][j] = h[(i + j) mod K] * 2^(r(i) + c(j)) with h[d] = sum over t of
// f[t] * g[(t - d) mod K]: K sums in integers tell all elements. No sum of terms needs more
// bits than the float's fraction has, so that each order of adding gives exactly this.
#ifndef MUSTER_KERNELS_CHECK_PRODUCT_H
#define MUSTER_KERNELS_CHECK_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRODUCT_N = 256 }; // all three dimensions

// The arithmetic: sums of PRODUCT_N terms stay below 2^24 (float) and 2^53 (double).
enum product_kind { PRODUCT_FP32, PRODUCT_FP64, PRODUCT_KINDS };

struct product_wrong {
    uint64_t count;
    unsigned row, column; // of the first
    double expected, got;
};

struct product; // matrices and what is expected of them

// Bytes that product_create() needs for its matrices, which begin with C, then A, B.
size_t product_bytes(enum product_kind kind);
// Memory of the caller, aligned to 64 bytes. It can be freed after product_destroy().
struct product *product_create(enum product_kind kind, void *memory);
void product_destroy(struct product *p); // NULL-safe

// Other integers and exponents, and their sums.
void product_fill(struct product *p, uint64_t seed);
// C = A * B, rows from the first to the last.
void product_compute(struct product *p);
// Every element of C.
void product_verify(const struct product *p, struct product_wrong *wrong);

// For tests: what an element of C has to be.
double product_expected(const struct product *p, unsigned row, unsigned column);
const char *product_name(enum product_kind kind);

#endif
