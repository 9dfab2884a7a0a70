// What has to hold whatever the input is; else libFuzzer keeps the input.
#ifndef MUSTER_TESTS_FUZZ_DEMAND_H
#define MUSTER_TESTS_FUZZ_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

// What was refused says why.
static inline void demand_error(const struct err *err)
{
    demand(err->text != NULL && err->text[0] != '\0', "an error without a text");
}

#endif
