// One member's address over time.
#include "hostfile/belief.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/addrset.h"

static bool same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    return addrset_compare(a, b) == 0;
}

static bool is_past(const struct belief *b, const struct sockaddr_storage *addr)
{
    for (size_t i = 0; i < b->npast; i++)
        if (same(&b->past[i], addr))
            return true;
    return false;
}

static void forget(struct belief *b, const struct sockaddr_storage *addr)
{
    size_t n = 0;
    for (size_t i = 0; i < b->npast; i++)
        if (!same(&b->past[i], addr))
            b->past[n++] = b->past[i];
    b->npast = (unsigned char)n;
}

static void remember(struct belief *b, const struct sockaddr_storage *addr)
{
    if (b->past == NULL)
        b->past = xcalloc(BELIEF_PAST_MAX, sizeof *b->past);
    forget(b, addr);
    size_t keep = b->npast < BELIEF_PAST_MAX ? b->npast : BELIEF_PAST_MAX - 1;
    memmove(b->past + 1, b->past, keep * sizeof *b->past);
    b->past[0] = *addr;
    b->npast = (unsigned char)(keep + 1);
}

static void hold(struct belief *b, const struct sockaddr_storage *addr)
{
    struct sockaddr_storage now = *addr; // it may lie in the past
    if (b->held.ss_family != 0)
        remember(b, &b->held);
    forget(b, &now);
    b->held = now;
}

// Who stands beside the held address is known from now on, and no replacement.
static void remember_others(struct belief *b, const struct sockaddr_storage *addr,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!same(&addr[i], &b->held) && !is_past(b, &addr[i]))
            remember(b, &addr[i]);
}

static bool lists(const struct sockaddr_storage *addr, size_t n,
                  const struct sockaddr_storage *one)
{
    for (size_t i = 0; i < n; i++)
        if (same(&addr[i], one))
            return true;
    return false;
}

// The first that it never had, or NULL. Of more than can be remembered none is new.
static const struct sockaddr_storage *
find_new(const struct belief *b, const struct sockaddr_storage *addr, size_t n)
{
    bool there = lists(addr, n, &b->held);
    for (size_t i = 0; i < n && (n <= BELIEF_PAST_MAX || !there || b->avoid); i++)
        if (!same(&addr[i], &b->held) && (!is_past(b, &addr[i]) || (there && b->avoid)))
            return &addr[i];
    return NULL;
}

bool belief_take(struct belief *b, const struct sockaddr_storage *addr, size_t n)
{
    if (addr == NULL || n == 0)
        return false;
    const struct sockaddr_storage *found = find_new(b, addr, n);
    b->misses = 0;
    if (b->sought > 0)
        b->sought--;
    if (found == NULL && b->held.ss_family != 0) {
        b->returns = lists(addr, n, &b->held) ? 0 : (unsigned char)(b->returns + 1);
        if (b->returns < BELIEF_DOUBTS)
            return false;
    }
    hold(b, found != NULL ? found : &addr[0]);
    b->returns = 0;
    b->sought = 0;
    b->avoid = false;
    remember_others(b, addr, n);
    return true;
}

bool belief_miss(struct belief *b)
{
    b->returns = 0;
    if (b->held.ss_family == 0 || ++b->misses < BELIEF_DOUBTS)
        return false;
    remember(b, &b->held);
    b->held = (struct sockaddr_storage){0};
    b->misses = 0;
    return true;
}

void belief_avoid(struct belief *b)
{
    b->avoid = true;
    b->sought = BELIEF_SOUGHT;
}

bool belief_doubts(const struct belief *b)
{
    return b->misses > 0 || b->returns > 0 || b->sought > 0;
}

void belief_free(struct belief *b)
{
    free(b->past);
    *b = (struct belief){0};
}
