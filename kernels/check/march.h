// An address-hashed memory march: write, verify and invert, verify and invert back, verify.
//
//   pass 1  upwards    w h        h: pattern_word(seed, address of the word)
//   pass 2  upwards    r h, w ~h
//   pass 3  downwards  r ~h, w h
//   pass 4  upwards    r h
// Each bit of each word is read as 0 and as 1, each time after its neighbours were written.
// It finds stuck and weak cells, coupled ones and wrong address lines (as MARCH C- does).
#ifndef MUSTER_KERNELS_CHECK_MARCH_H
#define MUSTER_KERNELS_CHECK_MARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MARCH_PASSES = 4, MARCH_BLOCK = 512 }; // words that are verified, then written

// The first wrong word, and how many there were.
struct march_wrong {
    uint64_t count;
    uintptr_t address;
    uint64_t expected, got;
    uint64_t again; // at the second read: as `got`, it lies in memory so
    unsigned pass;
};

struct march {
    uint64_t *words; // page-aligned memory of the caller
    size_t n;        // a multiple of MARCH_BLOCK
    uint64_t seed;
    // Asked before each block: false ends the march. NULL: it is never asked.
    bool (*go_on)(void *arg, unsigned pass, size_t done);
    void *arg;
};

// False: it was ended before the last word. *wrong is filled in any case.
bool march_run(const struct march *m, struct march_wrong *wrong);

// The value of a word after pass 1, 3 and 4.
uint64_t march_word(const struct march *m, size_t i);

// What the march leaves, again, with another seed: pass 1 alone.
void march_fill(const struct march *m);
// Does `at` hold what belongs to words[0..n) of m?
void march_verify(const struct march *m, const uint64_t *at, struct march_wrong *wrong);

#endif
