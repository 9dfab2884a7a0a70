// A line is read by writing the one that it should be.
#include "kernels/check/net_hello.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

int net_token_check(const char *token, struct err *err)
{
    size_t n = strlen(token);
    bool plain = true;
    for (size_t i = 0; i < n; i++)
        plain = plain && (isalnum((unsigned char)token[i]) || strchr("-_.", token[i]));
    if (plain && n >= NET_TOKEN_MIN && n <= NET_TOKEN_MAX)
        return 0;
    err_set(err, "a token is %d to %d letters, digits, '-', '_' or '.'", NET_TOKEN_MIN,
            NET_TOKEN_MAX);
    return -1;
}

char *net_hello(const char *token, uint64_t seed)
{
    return xasprintf("muster-netcheck 2 %s %llu\n", token, (unsigned long long)seed);
}

static bool is_same(const char *a, size_t n, const char *b)
{
    unsigned char differs = 0;
    if (strlen(b) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

bool net_hello_read(const char *line, size_t n, const char *token, uint64_t *seed)
{
    const char *blank = memrchr(line, ' ', n);
    if (blank == NULL)
        return false;
    uint64_t said = strtoull(blank + 1, NULL, 10); // what is no number is told below
    CLEANUP_FREE char *want = net_hello(token, said);
    if (!is_same(line, n, want))
        return false;
    *seed = said;
    return true;
}
