// Names or addresses, then the dialect's own writer.
#include "sidecar/render.h"

#include <netinet/in.h>
#include <string.h>

// The same members, named by their addresses. False when one has none.
static bool by_address(const struct members *m, struct members *out)
{
    char at[INET6_ADDRSTRLEN];
    for (size_t i = 0; i < m->n; i++) {
        members_address(&m->v[i], at, sizeof at);
        if (at[0] == '\0')
            return false;
        struct member *one = members_add(out, at, strlen(at));
        one->slots = m->v[i].slots;
        one->max_slots = m->v[i].max_slots;
    }
    return true;
}

int render(const struct dialect *d, const struct members *m, bool by_name,
           struct buf *out, struct strv *warnings, struct err *err)
{
    MEMBERS_AUTO renamed = MEMBERS_INIT;
    if (!by_name && !by_address(m, &renamed))
        return 0;
    return dialect_write(d, by_name ? m : &renamed, out, warnings, err) < 0 ? -1 : 1;
}
