// A number on the command line of an MPI test program.
#ifndef MUSTER_TESTS_MPI_ARG_H
#define MUSTER_TESTS_MPI_ARG_H

#include <stdio.h>
#include <stdlib.h>

// argv[i], or fallback where it was not given; exits with 2 when it is no number.
static inline int arg_int(int argc, char **argv, int i, int fallback)
{
    if (i >= argc)
        return fallback;
    char *end;
    long value = strtol(argv[i], &end, 10);
    if (end != argv[i] && *end == '\0' && value >= -100000000 && value <= 100000000)
        return (int)value;
    fprintf(stderr, "%s: argument %d, '%s': want a number\n", argv[0], i, argv[i]);
    exit(2);
}

#endif
