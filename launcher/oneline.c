// The first line of a text, cut where a character ends.
#include "launcher/oneline.h"

#include <string.h>

#include "common/jsontext.h"
#include "common/mem.h"

char *oneline(const char *text, size_t max)
{
    size_t n = strcspn(text, "\n");
    n = n < max ? n : max;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    char *s = xstrndup(text, n);
    bool valid = jsontext_is_utf8(s);
    for (char *p = s; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
        else if (!valid && (unsigned char)*p >= 0x80)
            *p = '?';
    return s;
}
