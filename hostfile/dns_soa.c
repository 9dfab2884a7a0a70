// Walking over a reply to the SOA record of its authority section.
#include "hostfile/dns_soa.h"

#include <arpa/nameser.h>
#include <stdbool.h>

enum {
    HEADER_SIZE = 12,
    QUESTION_TAIL = 4, // type and class
    RECORD_TAIL = 10,  // type, class, TTL and length
    SOA_TAIL = 20,     // five numbers behind two names; the last one is MINIMUM
    POINTER = 0xC0,    // a compressed name ends with two bytes
};

struct cursor {
    const unsigned char *at;
    size_t left;
};

static bool skip(struct cursor *c, size_t n)
{
    if (n > c->left)
        return false;
    c->at += n;
    c->left -= n;
    return true;
}

static uint32_t number(const unsigned char *p, size_t bytes)
{
    uint32_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v = v << 8U | p[i];
    return v;
}

static bool skip_name(struct cursor *c)
{
    while (c->left > 0) {
        unsigned char n = c->at[0];
        if ((n & POINTER) == POINTER)
            return skip(c, 2);
        if (!skip(c, (size_t)n + 1))
            return false;
        if (n == 0)
            return true;
    }
    return false;
}

// Moves behind the record; *tail is its fixed part.
static bool skip_record(struct cursor *c, const unsigned char **tail)
{
    if (!skip_name(c) || c->left < RECORD_TAIL)
        return false;
    *tail = c->at;
    return skip(c, RECORD_TAIL) && skip(c, number(*tail + 8, 2));
}

uint32_t dns_soa_ttl(const unsigned char *reply, size_t len)
{
    struct cursor c = {reply, len};
    const unsigned char *tail;
    if (reply == NULL || !skip(&c, HEADER_SIZE))
        return 0;
    uint32_t questions = number(reply + 4, 2), answers = number(reply + 6, 2);
    uint32_t authorities = number(reply + 8, 2);
    for (uint32_t i = 0; i < questions; i++)
        if (!skip_name(&c) || !skip(&c, QUESTION_TAIL))
            return 0;
    for (uint32_t i = 0; i < answers + authorities; i++) {
        if (!skip_record(&c, &tail))
            return 0;
        if (i < answers || number(tail, 2) != ns_t_soa ||
            number(tail + 8, 2) < SOA_TAIL)
            continue;
        uint32_t ttl = number(tail + 4, 4), minimum = number(c.at - 4, 4);
        return ttl < minimum ? ttl : minimum;
    }
    return 0;
}
