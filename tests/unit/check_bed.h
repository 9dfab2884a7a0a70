// A check that runs, and a hand that changes its memory from outside while it is stopped.
#ifndef MUSTER_TESTS_UNIT_CHECK_BED_H
#define MUSTER_TESTS_UNIT_CHECK_BED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct check_bed {
    pid_t pid;    // the check
    pid_t worker; // its child, which does the work
    int out, err; // its stdout and stderr
    int mem;      // /proc/WORKER/mem
    uint64_t at;  // its memory under test
};

// Starts kernels/check/NAME with these options (NULL at their end) on one core.
void check_bed_start(struct check_bed *b, const char *name, const char *const *options);
// The port in its first line on stderr, "... listening on ADDRESS:PORT".
unsigned short check_bed_port(struct check_bed *b);
// Stops all threads of the worker once its memory of `bytes` is there. False: it has ended.
bool check_bed_stop(struct check_bed *b, uint64_t bytes);
// Lets it run for about a fifth of a millisecond.
void check_bed_step(struct check_bed *b);
void check_bed_go(struct check_bed *b);

uint64_t check_bed_word(struct check_bed *b, uint64_t index);
void check_bed_flip(struct check_bed *b, uint64_t byte, uint8_t bits);

// Waits for its end. The object that it printed, the caller's; *code: its exit code.
json_t *check_bed_end(struct check_bed *b, int *code);
// "wrong"[0].NAME as a text or number, NULL or -1 where there is none.
const char *check_bed_text(json_t *said, const char *name);
json_int_t check_bed_number(json_t *said, const char *name);

#endif
