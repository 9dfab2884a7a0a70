// Shared by the processes of torn: what they count, and what a good file looks like.
#ifndef MUSTER_TESTS_HOSTS_TORN_H
#define MUSTER_TESTS_HOSTS_TORN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { STAY = 32, MOVE = 32, READERS = 8, FORMS = 6, REWRITES_MAX = 10000 };

struct shared {
    atomic_ulong rewriting; // odd: from a truncation until the block is back
    atomic_ulong changes, lookups, reads, skipped;
    atomic_ulong lost, torn; // lookups of members that stay; files that are not good
    atomic_bool stop, rewritten; // readers end; the rewriter has ended
    unsigned long want_changes, want_rewrites;
    unsigned long back_us[REWRITES_MAX]; // from the rewriter's close until it is back
    unsigned long turn_us[REWRITES_MAX]; // until a process that only waits for it runs
    unsigned long rewrites;
    // Of this rewrite; 0: not yet. Closed by the rewriter; seen by anybody who read a good
    // file since; the bystander has run.
    atomic_ulong closed_us, seen_us, ran_us;
    char first[512]; // the first bad thing
};

// Lines of others, as kubelet writes them.
extern const char *const torn_foreign;
// Of FORMS; those of one member differ in length and in every digit.
const char *torn_address(int form);
// What a member that stays has. `out` has 64 bytes.
void torn_stay_address(int i, char *out);
// NULL: all lines are whole, those of others are there, members that stay have their
// address, members that move have one of theirs. Else what is wrong.
const char *torn_check(const char *text, size_t len);

#endif
