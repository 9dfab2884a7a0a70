// One word that names hosts: [user@]NAME[:COUNT], NAME with ranges or an IPv6 literal.
#ifndef MUSTER_HOSTFILE_HOSTWORD_H
#define MUSTER_HOSTFILE_HOSTWORD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/strv.h"
#include "hostfile/place.h"

enum { HOSTWORD_MAX = 1024 }; // bytes of a word that a reader takes

enum { HOSTWORD_SLOTS_MAX = 1000000 };

// Slices of the word that was parsed.
struct hostword {
    const char *user; // NULL: none
    size_t user_len;
    const char *host; // brackets of a literal taken off; ranges not yet expanded
    size_t host_len;
    bool literal6;  // host is an IPv6 address
    bool bracketed; // "[...]" round it
    bool ambiguous; // bare IPv6 whose last ":N" may have been meant as a count
    int count;      // -1: none
};

// Errors: HF_SYNTAX, HF_BAD_COUNT, HF_BAD_NAME.
int hostword_parse(const char *text, size_t len, const struct place *at,
                   struct hostword *out, struct err *err);
// Appends the names that the word stands for, each checked; `text` and `at` as before.
int hostword_names(const struct hostword *w, const char *text, const struct place *at,
                   struct strv *out, struct err *err);
// A count of slots, 0 to HOSTWORD_SLOTS_MAX; `what` ("slots", "the count of ash") is
// for the error, which stands `offset` bytes behind the place.
int hostword_count(const char *s, size_t len, const char *what, const struct place *at,
                   size_t offset, int *out, struct err *err);
// A decimal number without sign of at most `max`, -1 when it is none.
long hostword_number(const char *s, size_t len, long max);

#endif
