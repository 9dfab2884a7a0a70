// A format, walked once.
#include "common/jsonpack.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/jsontext.h"
#include "common/mem.h"

struct pack {
    const char *at; // in the format
    va_list values;
};

// The next character but blanks and separators.
static char next(struct pack *p)
{
    p->at += strspn(p->at, " ,:");
    char c = *p->at;
    p->at += c != '\0' ? 1 : 0;
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

static json_t *pack_string(struct pack *p)
{
    const char *text = va_arg(p->values, const char *);
    bool optional = *p->at == '?';
    p->at += optional ? 1 : 0;
    if (text == NULL && !optional)
        abort();
    return jsonpack_text(text);
}

static json_t *pack_object(struct pack *p);

static json_t *pack_value(struct pack *p)
{
    switch (next(p)) {
    case 's': return pack_string(p);
    case 'i': return json_integer(va_arg(p->values, int));
    case 'I': return json_integer(va_arg(p->values, json_int_t));
    case 'f': return json_real(va_arg(p->values, double));
    case 'b': return json_boolean(va_arg(p->values, int));
    case 'o': return va_arg(p->values, json_t *);
    case '{': return pack_object(p);
    default: return NULL;
    }
}

static json_t *pack_object(struct pack *p)
{
    json_t *object = json_object();
    char c;
    while ((c = next(p)) == 's') {
        const char *key = va_arg(p->values, const char *);
        if (json_object_set_new(object, key, pack_value(p)) < 0)
            abort();
    }
    if (c != '}')
        abort();
    return object;
}

json_t *jsonpack(const char *format, ...)
{
    struct pack p = {.at = format};
    va_start(p.values, format);
    if (next(&p) != '{')
        abort();
    json_t *object = pack_object(&p);
    va_end(p.values);
    return object;
}
