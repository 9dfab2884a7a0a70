// Reading DNS replies.
#define CARES_NO_DEPRECATED
#include "hostfile/dns_parse.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/dns_soa.h"

enum {
    RECORD_MIN = 14, // least bytes of an A record: no more records than len/this
    HEADER = 12,
    TC = 0x02, // in the third byte
};

static enum dns_status status_of(int status)
{
    switch (status) {
    case ARES_SUCCESS: return DNS_OK;
    case ARES_ENOTFOUND: return DNS_NXDOMAIN;
    case ARES_ENODATA: return DNS_NODATA;
    case ARES_ESERVFAIL: return DNS_SERVFAIL;
    case ARES_ENOTIMP:
    case ARES_EREFUSED: return DNS_REFUSED;
    case ARES_ECONNREFUSED: return DNS_UNREACHABLE;
    case ARES_ETIMEOUT: return DNS_TIMEOUT;
    default: return DNS_MALFORMED;
    }
}

bool dns_status_is_failure(enum dns_status status)
{
    return status >= DNS_SERVFAIL;
}

const char *dns_status_word(enum dns_status status)
{
    static const char *const words[] = {
        [DNS_OK] = "ok",
        [DNS_NXDOMAIN] = "NXDOMAIN",
        [DNS_NODATA] = "no address",
        [DNS_SERVFAIL] = "SERVFAIL",
        [DNS_REFUSED] = "refused",
        [DNS_UNREACHABLE] = "refused",
        [DNS_TIMEOUT] = "timeout",
        [DNS_MALFORMED] = "malformed answer",
    };
    return words[status];
}

static int by_address(const void *x, const void *y)
{
    if (((const struct sockaddr_storage *)x)->ss_family == AF_INET6)
        return memcmp(&((const struct sockaddr_in6 *)x)->sin6_addr,
                      &((const struct sockaddr_in6 *)y)->sin6_addr, 16);
    return memcmp(&((const struct sockaddr_in *)x)->sin_addr,
                  &((const struct sockaddr_in *)y)->sin_addr, 4);
}

static void add_address(struct dns_answer *out, int family, const void *bytes, int ttl)
{
    struct sockaddr_storage *a = &out->addr[out->naddr++];
    a->ss_family = (sa_family_t)family;
    if (family == AF_INET)
        memcpy(&((struct sockaddr_in *)(void *)a)->sin_addr, bytes, 4);
    else
        memcpy(&((struct sockaddr_in6 *)(void *)a)->sin6_addr, bytes, 16);
    if (out->naddr == 1 || (uint32_t)ttl < out->ttl)
        out->ttl = (uint32_t)ttl;
}

static int parse_a(unsigned char *reply, int len, struct dns_answer *out)
{
    int n = len / RECORD_MIN + 1;
    CLEANUP_FREE struct ares_addrttl *found = xcalloc((size_t)n, sizeof *found);
    int rc = ares_parse_a_reply(reply, len, NULL, found, &n);
    out->addr = xcalloc((size_t)n + 1, sizeof *out->addr);
    for (int i = 0; rc == ARES_SUCCESS && i < n; i++)
        add_address(out, AF_INET, &found[i].ipaddr, found[i].ttl);
    return rc;
}

static int parse_aaaa(unsigned char *reply, int len, struct dns_answer *out)
{
    int n = len / RECORD_MIN + 1;
    CLEANUP_FREE struct ares_addr6ttl *found = xcalloc((size_t)n, sizeof *found);
    int rc = ares_parse_aaaa_reply(reply, len, NULL, found, &n);
    out->addr = xcalloc((size_t)n + 1, sizeof *out->addr);
    for (int i = 0; rc == ARES_SUCCESS && i < n; i++)
        add_address(out, AF_INET6, &found[i].ip6addr, found[i].ttl);
    return rc;
}

static int parse_ptr(unsigned char *reply, int len, struct dns_answer *out)
{
    struct hostent *host = NULL;
    int rc = ares_parse_ptr_reply(reply, len, NULL, 0, AF_INET, &host);
    if (rc != ARES_SUCCESS)
        return rc;
    for (char **name = host->h_aliases; *name != NULL; name++)
        strv_add(&out->names, *name);
    if (out->names.n == 0)
        strv_add(&out->names, host->h_name);
    ares_free_hostent(host);
    return rc;
}

bool dns_parse_is_cut(const unsigned char *reply, int len)
{
    return reply != NULL && len >= HEADER && (reply[2] & TC) != 0;
}

void dns_parse(int status, enum dns_type type, unsigned char *reply, int len,
               struct dns_answer *out)
{
    if (dns_parse_is_cut(reply, len))
        status = ARES_EBADRESP;
    if (status == ARES_SUCCESS) {
        status = type == DNS_A      ? parse_a(reply, len, out)
                 : type == DNS_AAAA ? parse_aaaa(reply, len, out)
                                    : parse_ptr(reply, len, out);
        if (status == ARES_SUCCESS && out->naddr == 0 && out->names.n == 0)
            status = ARES_ENODATA;
        if (out->naddr > 0)
            qsort(out->addr, out->naddr, sizeof *out->addr, by_address);
    }
    out->status = status_of(status);
    if (out->status == DNS_NXDOMAIN || out->status == DNS_NODATA)
        out->ttl = dns_soa_ttl(reply, len > 0 ? (size_t)len : 0);
}

void dns_answer_free(struct dns_answer *answer)
{
    free(answer->addr);
    strv_free(&answer->names);
    *answer = (struct dns_answer){.server = ""};
}
