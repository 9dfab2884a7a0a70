// Loops that are compiled for several vector widths; the loader takes the widest that the
// core has, so that the units are tested which real work uses.
#ifndef MUSTER_KERNELS_CHECK_CLONES_H
#define MUSTER_KERNELS_CHECK_CLONES_H

// Sanitizers run before the loader's choice is made, and clang 14 chooses otherwise.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__)
#define CLONES                                                                         \
    __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define CLONES
#endif

#endif
