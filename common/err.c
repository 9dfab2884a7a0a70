// The error object that travels up to whoever prints it.
#include "common/err.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

static void set(struct err *err, const char *kind, int code, char *text)
{
    if (err == NULL) {
        free(text);
        return;
    }
    free(err->text);
    err->text = text;
    err->kind = kind;
    err->code = code;
}

void err_set(struct err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(err, NULL, 0, xvasprintf(fmt, ap));
    va_end(ap);
}

void err_set_kind(struct err *err, const char *kind, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(err, kind, code, xvasprintf(fmt, ap));
    va_end(ap);
}

void err_set_errno(struct err *err, int errnum, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *head = xvasprintf(fmt, ap);
    va_end(ap);
    set(err, NULL, 0, xasprintf("%s: %s", head, strerror(errnum)));
    free(head);
}

void err_prefix(struct err *err, const char *fmt, ...)
{
    if (err == NULL || err->text == NULL)
        return;
    va_list ap;
    va_start(ap, fmt);
    char *head = xvasprintf(fmt, ap);
    va_end(ap);
    set(err, err->kind, err->code, xasprintf("%s: %s", head, err->text));
    free(head);
}

void err_copy(struct err *to, const struct err *from)
{
    set(to, from->kind, from->code, xstrdup(err_text(from)));
}

const char *err_text(const struct err *err)
{
    return err != NULL && err->text != NULL ? err->text : "unknown error";
}

void err_clear(struct err *err)
{
    free(err->text);
    *err = (struct err)ERR_INIT;
}
