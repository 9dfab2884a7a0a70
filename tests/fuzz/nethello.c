// libFuzzer target for netcheck's first line: a token, a newline, and what a caller says.
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "kernels/check/net_hello.h"

static void check_own(const char *token, uint64_t seed)
{
    CLEANUP_FREE char *line = net_hello(token, seed);
    uint64_t got = ~seed;
    demand(strlen(line) < NET_HELLO_MAX, "it is longer than what is read");
    demand(net_hello_read(line, strlen(line), token, &got) && got == seed,
           "its own line is not taken");
}

// Nothing but that very line is.
static void check_said(const char *token, const char *said, size_t n)
{
    uint64_t seed = 0;
    if (!net_hello_read(said, n, token, &seed))
        return;
    CLEANUP_FREE char *line = net_hello(token, seed);
    demand(strlen(line) == n && memcmp(line, said, n) == 0, "another line is taken");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    if (newline == NULL)
        return 0;
    size_t len = (size_t)(newline - data), n = size - len - 1;
    CLEANUP_FREE char *token = xstrndup((const char *)data, len);
    CLEANUP_FREE char *said = xcalloc(1, n + 1);
    if (n > 0)
        memcpy(said, newline + 1, n);
    if (net_token_check(token, &err) < 0) {
        demand_error(&err);
        return 0;
    }
    check_own(token, n);
    check_own(token, UINT64_MAX);
    check_said(token, said, n);
    return 0;
}
