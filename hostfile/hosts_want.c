// Building the lines that the managed block is to hold.
#include "hostfile/hosts_want.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_line.h"

static int check_address(const struct sockaddr_storage *addr, const char *text,
                         struct err *err)
{
    if (hostname_is_peer(addr))
        return 0;
    err_set_kind(err, "HOSTS_BAD_ADDRESS", 0,
                 "HOSTS_BAD_ADDRESS: %s is no address that other pods can use", text);
    return -1;
}

static int check_name(const char *name, struct err *err)
{
    struct sockaddr_storage addr;
    struct place at = {.file = name, .column = 1};
    ERR_AUTO why = ERR_INIT;
    size_t len = strlen(name);
    bool literal = hostname_literal(name, len, &addr);
    if (!literal && !hostname_is_localhost(name) && len <= HOSTS_NAMES_MAX &&
        place_check_bytes(&at, name, len, &why) == 0 &&
        hostname_check(name, len, &at, &why) == 0)
        return 0;
    err_set_kind(err, "HOSTS_BAD_NAME", 0,
                 "HOSTS_BAD_NAME: '%.*s' is no name for /etc/hosts: %s",
                 place_shown(len), name,
                 literal                     ? "it is an address"
                 : err_text(&why)[0] != '\0' ? err_text(&why)
                                             : "it is kept by the system");
    return -1;
}

static void add_line(struct hosts_want *w, const char *address, bool v6, char *names)
{
    if (w->n == w->cap) {
        w->cap = w->cap > 0 ? w->cap * 2 : 16;
        w->v = xrealloc(w->v, w->cap, sizeof *w->v);
    }
    struct hosts_pair *p = &w->v[w->n++];
    *p = (struct hosts_pair){.v6 = v6, .names = names};
    snprintf(p->address, sizeof p->address, "%s", address);
}

static bool is_repeat(const char *const *names, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcasecmp(names[k], names[i]) == 0)
            return true;
    return false;
}

static void add_lines(struct hosts_want *w, const char *address, bool v6,
                      const char *const *names, size_t n)
{
    BUF_AUTO line = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        if (is_repeat(names, i))
            continue;
        if (buf_len(&line) > 0 &&
            buf_len(&line) + 1 + strlen(names[i]) > HOSTS_NAMES_MAX)
            add_line(w, address, v6, buf_steal_str(&line));
        if (buf_len(&line) > 0)
            buf_append_str(&line, " ");
        buf_append_str(&line, names[i]);
    }
    if (buf_len(&line) > 0)
        add_line(w, address, v6, buf_steal_str(&line));
}

int hosts_want_add(struct hosts_want *w, const struct sockaddr_storage *addr,
                   const char *const *names, size_t n, struct err *err)
{
    char text[INET6_ADDRSTRLEN];
    bool v6 = addr->ss_family == AF_INET6;
    const void *bytes =
        v6 ? (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr
           : (const void *)&((const struct sockaddr_in *)addr)->sin_addr;
    inet_ntop(addr->ss_family, bytes, text, sizeof text);
    if (check_address(addr, text, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (check_name(names[i], err) < 0)
            return -1;
    add_lines(w, text, v6, names, n);
    return 0;
}

void hosts_want_move(struct hosts_want *to, struct hosts_want *from)
{
    hosts_want_free(to);
    *to = *from;
    *from = (struct hosts_want){0};
}

void hosts_want_free(struct hosts_want *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->v[i].names);
    free(w->v);
    *w = (struct hosts_want){0};
}
