// Member lists.
#include "hostfile/members.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

struct member *members_add(struct members *m, const char *name, size_t len)
{
    if (m->n == m->cap) {
        m->cap = m->cap > 0 ? m->cap * 2 : 16;
        m->v = xrealloc(m->v, m->cap, sizeof *m->v);
    }
    struct member *one = &m->v[m->n++];
    *one = (struct member){.slots = -1, .max_slots = -1, .port = -1};
    one->name = xstrndup(name, len);
    return one;
}

long members_find(const struct members *m, const char *name, size_t len)
{
    for (size_t i = 0; i < m->n; i++)
        if (strncasecmp(m->v[i].name, name, len) == 0 && m->v[i].name[len] == '\0')
            return (long)i;
    return -1;
}

void members_copy(struct members *to, const struct members *from)
{
    members_free(to);
    for (size_t i = 0; i < from->n; i++) {
        const struct member *f = &from->v[i];
        struct member *t = members_add(to, f->name, strlen(f->name));
        char *name = t->name;
        *t = *f;
        t->name = name;
        t->user = f->user != NULL ? xstrdup(f->user) : NULL;
        t->why = f->why != NULL ? xstrdup(f->why) : NULL;
    }
    strv_add_all(&to->warnings, from->warnings.v, from->warnings.n);
}

void members_free(struct members *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->v[i].name);
        free(m->v[i].user);
        free(m->v[i].why);
    }
    free(m->v);
    strv_free(&m->warnings);
    *m = (struct members)MEMBERS_INIT;
}

void members_address(const struct member *m, char *out, size_t size)
{
    out[0] = '\0';
    if (m->addr.ss_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)&m->addr;
        inet_ntop(AF_INET, &a->sin_addr, out, (socklen_t)size);
    } else if (m->addr.ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const void *)&m->addr;
        inet_ntop(AF_INET6, &a->sin6_addr, out, (socklen_t)size);
    }
}

socklen_t members_sockaddr(const struct member *m, struct sockaddr_storage *out)
{
    uint16_t port = htons((uint16_t)(m->port > 0 ? m->port : MEMBERS_DEFAULT_PORT));
    *out = m->addr;
    if (m->addr.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)(void *)out)->sin6_port = port;
        return sizeof(struct sockaddr_in6);
    }
    ((struct sockaddr_in *)(void *)out)->sin_port = port;
    return sizeof(struct sockaddr_in);
}
