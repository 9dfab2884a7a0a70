// The distance of Levenshtein, without case.
#include "hostfile/near.h"

#include <ctype.h>
#include <stdbool.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t near_distance(const char *a, size_t na, const char *b, size_t nb, size_t most)
{
    size_t row[NEAR_MAX + 1];
    if (na > NEAR_MAX || nb > NEAR_MAX || (na > nb ? na - nb : nb - na) > most)
        return most + 1;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t kept = diagonal + (same(a[i - 1], b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = least(kept, least(row[j], row[j - 1]) + 1);
        }
    }
    return least(row[nb], most + 1);
}
