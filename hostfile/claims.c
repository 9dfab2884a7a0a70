// Twins and families among members.
#include "hostfile/claims.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/addrset.h"

enum { LISTED_MAX = 8 }; // names in a text

static void text_of(const struct sockaddr_storage *addr, char *out, socklen_t size)
{
    const struct sockaddr_in *a4 = (const void *)addr;
    const struct sockaddr_in6 *a6 = (const void *)addr;
    bool v4 = addr->ss_family == AF_INET;
    inet_ntop(addr->ss_family,
              v4 ? (const void *)&a4->sin_addr : (const void *)&a6->sin6_addr, out,
              size);
}

// ---- twins ------------------------------------------------------------------------

static void claim_all(struct addrset *taken, struct claim *c, size_t n, bool standing)
{
    for (size_t i = 0; i < n; i++) {
        if (c[i].addr == NULL || c[i].stands != standing)
            continue;
        size_t who = addrset_add(taken, c[i].addr, c[i].port, i);
        c[i].twin = who != i ? (long)who : -1;
    }
}

long claims_find_twins(struct claim *c, size_t n)
{
    struct addrset *taken = addrset_create();
    for (size_t i = 0; i < n; i++)
        c[i].twin = -1;
    claim_all(taken, c, n, true);
    claim_all(taken, c, n, false);
    addrset_destroy(taken);
    for (size_t i = 0; i < n; i++)
        if (c[i].twin >= 0)
            return (long)i;
    return -1;
}

static char *describe(const struct claim *c)
{
    return c->line > 0 ? xasprintf("%s (line %u)", c->name, c->line) : xstrdup(c->name);
}

void claims_twin_error(const struct claim *c, long who, const char *source,
                       struct err *err)
{
    long twin = c[who].twin;
    char at[INET6_ADDRSTRLEN];
    text_of(c[who].addr, at, sizeof at);
    CLEANUP_FREE char *first = describe(&c[who < twin ? who : twin]);
    CLEANUP_FREE char *second = describe(&c[who < twin ? twin : who]);
    err_set_kind(err, "HF_DUP_ADDRESS", 0,
                 "%s: HF_DUP_ADDRESS: %s and %s are one host, %s: keep one of them",
                 source, first, second, at);
}

// ---- families ---------------------------------------------------------------------

int claims_family(const struct sockaddr_storage *addr)
{
    const struct sockaddr_in6 *a6 = (const void *)addr;
    if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a6->sin6_addr))
        return AF_INET;
    return addr->ss_family;
}

void claims_count(const struct claim *c, size_t n, struct claims_families *out)
{
    *out = (struct claims_families){0};
    for (size_t i = 0; i < n; i++) {
        if (c[i].addr == NULL)
            continue;
        bool v4 = claims_family(c[i].addr) == AF_INET;
        out->n4 += v4 ? 1 : 0;
        out->n6 += v4 ? 0 : 1;
        out->fixed4 = out->fixed4 || (v4 && c[i].fixed);
        out->fixed6 = out->fixed6 || (!v4 && c[i].fixed);
    }
}

static void list_family(const struct claim *c, size_t n, int family, struct buf *out)
{
    size_t shown = 0;
    char at[INET6_ADDRSTRLEN];
    for (size_t i = 0; i < n; i++) {
        if (c[i].addr == NULL || claims_family(c[i].addr) != family)
            continue;
        if (shown++ >= LISTED_MAX)
            continue;
        text_of(c[i].addr, at, sizeof at);
        buf_printf(out, "%s%s", shown > 1 ? ", " : "", c[i].name);
        if (strcmp(at, c[i].name) != 0)
            buf_printf(out, " (%s)", at);
    }
    if (shown > LISTED_MAX)
        buf_printf(out, " and %zu more", shown - LISTED_MAX);
}

void claims_family_error(const struct claim *c, size_t n, const char *source,
                         struct err *err)
{
    BUF_AUTO v4 = BUF_INIT, v6 = BUF_INIT;
    list_family(c, n, AF_INET, &v4);
    list_family(c, n, AF_INET6, &v6);
    CLEANUP_FREE char *only4 = buf_steal_str(&v4);
    CLEANUP_FREE char *only6 = buf_steal_str(&v6);
    err_set_kind(err, "FAMILY_MISMATCH", 0,
                 "%s: FAMILY_MISMATCH: there is no address family that all members "
                 "have: IPv4 alone: %s; IPv6: %s: give all of them one family, or both",
                 source, only4, only6);
}
