// What a check found: verdict, reason and evidence, printed as one JSON object. Pure.
#ifndef MUSTER_KERNELS_CHECK_FINDING_H
#define MUSTER_KERNELS_CHECK_FINDING_H

#include <stdint.h>

#include "common/jsonpack.h"

enum finding_verdict { // the exit codes, too
    FINDING_PASS,
    FINDING_FAIL,
    FINDING_COULD_NOT_RUN,
    FINDING_NOT_HERE, // there is nothing that it could check
};

struct finding {
    enum finding_verdict verdict;
    unsigned fails; // how many times it failed
    char *why; // of the first failure, else why it could not run; NULL: pass; owned
    json_t *evidence; // object: what else the output has; owned
};

// A pass with no evidence.
void finding_init(struct finding *f);
void finding_clear(struct finding *f);

// A failure outweighs what could not run; of each the first text is kept.
void finding_fail(struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void finding_could_not_run(struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// There is nothing to check: outweighs that it could not run, and nothing else.
void finding_not_here(struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// Evidence under that name; the value is taken over.
void finding_set(struct finding *f, const char *name, json_t *value);
// "0x00ff": a value for evidence, since JSON's numbers have no 64 bits.
json_t *finding_hex(uint64_t v, int digits);

// One line: {"check":CHECK,"verdict":...,"why":...,"seconds":...,EVIDENCE}. Caller frees.
char *finding_line(const struct finding *f, const char *check, double seconds);

#endif
