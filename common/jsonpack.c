// A format, walked once.
#include "common/jsonpack.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/jsontext.h"
#include "common/mem.h"

// The next character of the format but blanks and separators.
static char next(const char **at)
{
    *at += strspn(*at, " ,:");
    char c = **at;
    *at += c != '\0' ? 1 : 0;
    return c;
}

json_t *jsonpack_text(const char *text)
{
    BUF_AUTO mended = BUF_INIT;
    if (text == NULL)
        return json_null();
    jsontext_mend(&mended, text);
    CLEANUP_FREE char *whole = buf_steal_str(&mended);
    return json_string(whole);
}

static json_t *pack_string(const char **at, va_list *values)
{
    const char *text = va_arg(*values, const char *);
    bool optional = **at == '?';
    *at += optional ? 1 : 0;
    if (text == NULL && !optional)
        abort();
    return jsonpack_text(text);
}

static json_t *pack_object(const char **at, va_list *values);

static json_t *pack_value(const char **at, va_list *values)
{
    switch (next(at)) {
    case 's': return pack_string(at, values);
    case 'i': return json_integer(va_arg(*values, int));
    case 'I': return json_integer(va_arg(*values, json_int_t));
    case 'f': return json_real(va_arg(*values, double));
    case 'b': return json_boolean(va_arg(*values, int));
    case 'o': return va_arg(*values, json_t *);
    case '{': return pack_object(at, values);
    default: return NULL;
    }
}

static json_t *pack_object(const char **at, va_list *values)
{
    json_t *object = json_object();
    char c;
    while ((c = next(at)) == 's') {
        const char *key = va_arg(*values, const char *);
        if (json_object_set_new(object, key, pack_value(at, values)) < 0)
            abort();
    }
    if (c != '}')
        abort();
    return object;
}

json_t *jsonpack(const char *format, ...)
{
    va_list values;
    const char *at = format;
    va_start(values, format);
    if (next(&at) != '{')
        abort();
    json_t *object = pack_object(&at, &values);
    va_end(values);
    return object;
}
