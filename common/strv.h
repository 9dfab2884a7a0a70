// A growing, NULL-terminated vector of owned strings: argv, environments, lists.
#ifndef MUSTER_COMMON_STRV_H
#define MUSTER_COMMON_STRV_H

#include <stddef.h>

struct strv {
    char **v; // NULL-terminated once anything was added; owned
    size_t n;
    size_t cap;
};

#define STRV_INIT                                                                      \
    {                                                                                  \
        0                                                                              \
    }
#define STRV_AUTO __attribute__((cleanup(strv_free))) struct strv

void strv_add(struct strv *s, const char *text);
void strv_add_steal(struct strv *s, char *text);
void strv_addf(struct strv *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void strv_add_all(struct strv *s, char *const *texts, size_t n);
// The parts of "a,b", without empty ones.
void strv_add_split(struct strv *s, const char *list, char separator);
// The strings, which are the caller's now, and their number.
char **strv_take(struct strv *s, size_t *n);
void strv_remove(struct strv *s, size_t i);
void strv_free(struct strv *s);

// Environments: entries "NAME=VALUE". The last entry of a name counts and there is one.
const char *strv_getenv(const struct strv *s, const char *name); // NULL: not set
void strv_setenv(struct strv *s, const char *name, const char *value);
void strv_putenv(struct strv *s, const char *entry); // "NAME=VALUE", replaces NAME
// Many at once, without looking through all for each of them.
void strv_putenv_all(struct strv *s, char *const *entries, size_t n);
void strv_setenvf(struct strv *s, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void strv_unsetenv(struct strv *s, const char *name);

#endif
