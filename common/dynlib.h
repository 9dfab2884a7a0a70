// A library that a machine may have, opened at run time: its functions as a table of ours.
//
// So that programs build and run where neither its headers nor the library are.
#ifndef MUSTER_COMMON_DYNLIB_H
#define MUSTER_COMMON_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

struct dynlib_symbol {
    const char *name;
    size_t at;   // of its pointer in the table
    bool needed; // false: NULL where the library is older than the function
};

// Puts the library's functions into *table. path: as for dlopen(). It stays loaded: libraries with
// threads of their own do not survive being closed.
int dynlib_open(const char *path, const struct dynlib_symbol *symbols, size_t n,
                void *table, struct err *err);

#endif
