// One error type for the whole house: a text that says what, where, why and what to do.
//
// Contract: a function that can fail takes `struct err *err` last, returns 0 (or a
// pointer) on success and -1 (or NULL) on failure, and on failure has set *err. It
// never prints. The text is printed once, at the top. A caller that has more context
// (file, member) puts it in front with err_prefix(). `err` may be NULL where the caller
// does not care. Allocation failure of small objects aborts and is no error (mem.h).
#ifndef MUSTER_COMMON_ERR_H
#define MUSTER_COMMON_ERR_H

#include <stdarg.h>

struct err {
    char *text;       // owned; NULL: no error
    const char *kind; // static word for machines ("HF_SYNTAX"), or NULL
    int code;         // exit code that the program ends with, 0: not said (125)
};

#define ERR_INIT                                                                       \
    {                                                                                  \
        0                                                                              \
    }
#define ERR_AUTO __attribute__((cleanup(err_clear))) struct err

// Set the error; an error that was there before is replaced.
void err_set(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// As err_set, with a kind (a static string) and an exit code.
void err_set_kind(struct err *err, const char *kind, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
// As err_set, with ": strerror(errnum)" behind the text.
void err_set_errno(struct err *err, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// Put "text: " in front of the error that is set.
void err_prefix(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// Copy `from` into `to` (which is replaced).
void err_copy(struct err *to, const struct err *from);
// The text, never NULL.
const char *err_text(const struct err *err);
// Free the text; the object can be used again.
void err_clear(struct err *err);

#endif
