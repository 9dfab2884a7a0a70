// Natural order.
#include "hostfile/natural.h"

#include <ctype.h>
#include <string.h>

static size_t digits(const char *s)
{
    size_t n = 0;
    while (isdigit((unsigned char)s[n]))
        n++;
    return n;
}

static int compare_runs(const char *a, size_t na, const char *b, size_t nb)
{
    for (; na > 1 && *a == '0'; na--)
        a++;
    for (; nb > 1 && *b == '0'; nb--)
        b++;
    if (na != nb)
        return na < nb ? -1 : 1;
    return memcmp(a, b, na);
}

int natural_compare(const char *a, const char *b)
{
    const char *whole_a = a, *whole_b = b;
    while (*a != '\0' && *b != '\0') {
        size_t na = digits(a), nb = digits(b);
        if (na == 0 || nb == 0) {
            if (*a != *b)
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        int order = compare_runs(a, na, b, nb);
        if (order != 0)
            return order;
        a += na;
        b += nb;
    }
    if (*a != *b)
        return *a == '\0' ? -1 : 1;
    size_t la = strlen(whole_a), lb = strlen(whole_b);
    return la != lb ? (la < lb ? -1 : 1) : strcmp(whole_a, whole_b);
}
