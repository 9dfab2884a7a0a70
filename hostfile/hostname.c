// Names and literals of hosts.
#include "hostfile/hostname.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "common/mem.h"

enum { NAME_MAX_LEN = 253, LABEL_MAX = 63 };

bool hostname_literal(const char *s, size_t len, struct sockaddr_storage *out)
{
    char text[INET6_ADDRSTRLEN];
    if (len == 0 || len >= sizeof text ||
        !(isdigit((unsigned char)s[0]) || memchr(s, ':', len) != NULL))
        return false;
    memcpy(text, s, len);
    text[len] = '\0';
    memset(out, 0, sizeof *out);
    struct sockaddr_in *v4 = (void *)out;
    struct sockaddr_in6 *v6 = (void *)out;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        out->ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        out->ss_family = AF_INET6;
    else
        return false;
    return true;
}

// An IPv4-mapped address (::ffff:127.0.0.1) leads where the IPv4 address does.
static bool ipv4_of(const struct sockaddr_storage *addr, uint32_t *out)
{
    const struct sockaddr_in *a4 = (const void *)addr;
    const struct sockaddr_in6 *a6 = (const void *)addr;
    bool mapped = addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a6->sin6_addr);
    if (addr->ss_family == AF_INET)
        *out = ntohl(a4->sin_addr.s_addr);
    else if (mapped)
        *out = ntohl(a6->sin6_addr.s6_addr32[3]);
    return addr->ss_family == AF_INET || mapped;
}

bool hostname_is_loopback(const struct sockaddr_storage *addr)
{
    const struct sockaddr_in6 *a = (const void *)addr;
    uint32_t v4;
    if (ipv4_of(addr, &v4))
        return v4 >> 24 == 127;
    return addr->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->sin6_addr);
}

// Of one host: neither "any", nor broadcast, nor multicast.
static bool is_unicast(const struct sockaddr_storage *addr)
{
    uint32_t v4;
    if (ipv4_of(addr, &v4))
        return v4 >> 24 != 0 && v4 >> 28 != 0xE && v4 != 0xFFFFFFFF;
    const struct in6_addr *a =
        &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;
    return !IN6_IS_ADDR_UNSPECIFIED(a) && !IN6_IS_ADDR_MULTICAST(a);
}

bool hostname_is_peer(const struct sockaddr_storage *addr)
{
    const struct sockaddr_in6 *a6 = (const void *)addr;
    if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&a6->sin6_addr))
        return false;
    return is_unicast(addr) && !hostname_is_loopback(addr);
}

bool hostname_is_localhost(const char *s)
{
    return strcasecmp(s, "localhost") == 0 || strcasecmp(s, "localhost.") == 0 ||
           strcasecmp(s, "localhost.localdomain") == 0;
}

bool hostname_is_literal(const char *name)
{
    struct sockaddr_storage unused;
    return hostname_literal(name, strlen(name), &unused);
}

static bool is_spelled(const char *name, char sign)
{
    char text[INET6_ADDRSTRLEN];
    size_t len = strcspn(name, ".");
    if (len >= sizeof text)
        return false;
    memcpy(text, name, len);
    text[len] = '\0';
    for (char *c = text; *c != '\0'; c++)
        if (*c == '-')
            *c = sign;
    return hostname_is_literal(text);
}

bool hostname_is_of_address(const char *name)
{
    return hostname_is_literal(name) || is_spelled(name, '.') || is_spelled(name, ':');
}

bool hostname_heads(const char *host, const char *name)
{
    size_t len = strlen(host);
    return len > 0 && strncmp(name, host, len) == 0 &&
           (name[len] == '.' || name[len] == '\0') && !hostname_is_literal(name);
}

char *hostname_own(void)
{
    struct utsname u;
    return xstrdup(uname(&u) == 0 && u.nodename[0] != '\0' ? u.nodename : "localhost");
}

// A label that inet_aton(3) would take as a number: decimal, octal or hexadecimal.
static bool is_number(const char *s, size_t len)
{
    bool hex = len > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    for (size_t i = hex ? 2 : 0; i < len; i++)
        if (hex ? !isxdigit((unsigned char)s[i]) : !isdigit((unsigned char)s[i]))
            return false;
    return len > 0;
}

static bool is_name_byte(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c >= '-' && c <= '9' && c != '/') || c == '_';
}

static int refuse_byte(const char *s, size_t len, size_t i, const struct place *at,
                       struct err *err)
{
    char c = s[i];
    if (c == '"' || c == '\'' || c == '`')
        return place_fail(
            at, i, "HF_SYNTAX", err,
            "a quote (%c) in '%.*s': write names and counts without quotes", c,
            place_shown(len), s);
    if (c == '=')
        return place_fail(at, 0, "HF_SYNTAX", err,
                          "'%.*s' stands where a host name must: a line is NAME "
                          "[slots=N]",
                          place_shown(len), s);
    if (c == '^')
        return place_fail(
            at, i, "HF_SYNTAX", err,
            "'^' inside a list: put what is left out on a line of its own");
    return place_fail(at, i, "HF_BAD_NAME", err,
                      "'%c' in the name '%.*s': names hold letters, digits, '-', '_' "
                      "and '.'",
                      c, place_shown(len), s);
}

// One label s[from, to).
static int check_label(const char *s, size_t len, size_t from, size_t to,
                       const struct place *at, struct err *err)
{
    const char *bad = NULL;
    if (to == from)
        bad = "has an empty part";
    else if (to - from > LABEL_MAX)
        bad = "has a part of more than 63 bytes";
    else if (s[from] == '-' || s[to - 1] == '-')
        bad = "has a part that begins or ends with '-'";
    if (bad == NULL)
        return 0;
    return place_fail(at, from, "HF_BAD_NAME", err, "the name '%.*s' %s",
                      place_shown(len), s, bad);
}

static int check_name(const char *s, size_t len, const struct place *at,
                      struct err *err)
{
    bool numbers = true;
    size_t from = 0, end = len > 1 && s[len - 1] == '.' ? len - 1 : len;
    if (end > NAME_MAX_LEN)
        return place_fail(at, 0, "HF_BAD_NAME", err,
                          "the name '%.*s' is longer than %d bytes", place_shown(len),
                          s, NAME_MAX_LEN);
    for (size_t i = 0; i < len; i++)
        if (!is_name_byte(s[i]))
            return refuse_byte(s, len, i, at, err);
    while (from <= end) {
        const char *dot = memchr(s + from, '.', end - from);
        size_t i = dot != NULL ? (size_t)(dot - s) : end;
        if (check_label(s, len, from, i, at, err) < 0)
            return -1;
        numbers = numbers && is_number(s + from, i - from);
        from = i + 1;
    }
    if (!numbers)
        return 0;
    return place_fail(at, 0, "HF_BAD_NAME", err,
                      "'%.*s' is all numbers but no address: an IPv4 address has four "
                      "decimal numbers 0-255 without leading zeros",
                      place_shown(len), s);
}

int hostname_check(const char *s, size_t len, const struct place *at, struct err *err)
{
    struct sockaddr_storage addr;
    if (hostname_literal(s, len, &addr)) {
        if (is_unicast(&addr))
            return 0;
        return place_fail(at, 0, "HF_BAD_NAME", err,
                          "%.*s is not the address of one host", place_shown(len), s);
    }
    if (len > 0 && s[0] == '+')
        return place_fail(at, 0, "HF_RELATIVE_IN_ALLOC", err,
                          "'%.*s' counts from a list of hosts, but this is the list: "
                          "write the host's name",
                          place_shown(len), s);
    return check_name(s, len, at, err);
}

int hostname_check_user(const char *s, size_t len, const struct place *at,
                        size_t offset, struct err *err)
{
    size_t i = 0;
    while (i < len && (is_name_byte(s[i]) || s[i] == '+') && (i > 0 || s[i] != '-'))
        i++;
    if (i == len && len > 0)
        return 0;
    return place_fail(at, offset, "HF_BAD_NAME", err,
                      "'%.*s' is no name of a user: letters, digits, '.', '_', '-' and "
                      "'+', not '-' first",
                      place_shown(len), s);
}
