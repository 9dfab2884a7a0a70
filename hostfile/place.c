// Places in sources and the wording of what is wrong there.
#include "hostfile/place.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { SHOWN_MAX = 80 };

static char *where(const struct place *at, size_t offset)
{
    size_t column = at->column + offset;
    return at->line > 0 ? xasprintf("%s:%u:%zu", at->file, at->line, column)
                        : xasprintf("%s:%zu", at->file, column);
}

int place_fail(const struct place *at, size_t offset, const char *kind, struct err *err,
               const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    CLEANUP_FREE char *head = where(at, offset);
    err_set_kind(err, kind, 0, "%s: %s: %s", head, kind, text);
    return -1;
}

char *place_warning(const struct place *at, size_t offset, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    CLEANUP_FREE char *head = where(at, offset);
    return xasprintf("%s: %s", head, text);
}

static int bad_byte(const struct place *at, const unsigned char *p, size_t i,
                    size_t len, struct err *err)
{
    const char *kind = "HF_ENCODING";
    if (p[i] == 0xC2 && i + 1 < len && p[i + 1] == 0xA0)
        return place_fail(
            at, i, kind, err,
            "a non-breaking space (bytes 0xC2 0xA0): write a plain space");
    if (p[i] == '\0')
        return place_fail(at, i, kind, err,
                          "a NUL byte: the file is half-written, or no text");
    if (p[i] == '\r')
        return place_fail(at, i, kind, err,
                          "a carriage return inside the line: end lines with \\n");
    if ((p[i] == 0xFF || p[i] == 0xFE) && i == 0 && at->line == 1)
        return place_fail(at, i, kind, err,
                          "byte 0x%02X: the file looks like UTF-16; save it as UTF-8",
                          p[i]);
    return place_fail(at, i, kind, err,
                      "byte 0x%02X: names and keys are plain ASCII letters, digits, "
                      "'-', '_' and '.'",
                      p[i]);
}

// True when none of eight bytes is below 0x20 or above 0x7E.
static bool are_plain(const unsigned char *p)
{
    const uint64_t ones = 0x0101010101010101U, tops = 0x8080808080808080U;
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return (((w - 0x20 * ones) | (w + ones) | w) & tops) == 0;
}

int place_check_bytes(const struct place *at, const char *text, size_t len,
                      struct err *err)
{
    const unsigned char *p = (const void *)text;
    for (size_t i = 0; i < len; i++) {
        while (len - i >= 8 && are_plain(p + i))
            i += 8;
        if (i < len && ((p[i] < 0x20 && p[i] != '\t') || p[i] >= 0x7F))
            return bad_byte(at, p, i, len, err);
    }
    return 0;
}

int place_shown(size_t len)
{
    return (int)(len < SHOWN_MAX ? len : SHOWN_MAX);
}
