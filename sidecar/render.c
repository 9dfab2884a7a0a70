// One function a dialect.
#include "sidecar/render.h"

#include <netinet/in.h>
#include <string.h>

struct render_dialect {
    const char *name;
    void (*write)(const struct members *m, struct buf *out);
};

static void write_openmpi(const struct members *m, struct buf *out)
{
    for (size_t i = 0; i < m->n; i++) {
        buf_append_str(out, m->v[i].name);
        if (m->v[i].slots >= 0)
            buf_printf(out, " slots=%d", m->v[i].slots);
        if (m->v[i].max_slots >= 0)
            buf_printf(out, " max_slots=%d", m->v[i].max_slots);
        buf_append_str(out, "\n");
    }
}

static const struct render_dialect dialects[] = {{"openmpi", write_openmpi}};
enum { DIALECTS = sizeof dialects / sizeof *dialects };

const struct render_dialect *render_find(const char *name, size_t len)
{
    for (size_t i = 0; i < DIALECTS; i++)
        if (strlen(dialects[i].name) == len && memcmp(dialects[i].name, name, len) == 0)
            return &dialects[i];
    return NULL;
}

char *render_names(void)
{
    BUF_AUTO out = BUF_INIT;
    for (size_t i = 0; i < DIALECTS; i++)
        buf_printf(&out, "%s%s", i > 0 ? ", " : "", dialects[i].name);
    return buf_steal_str(&out);
}

// The same members, named by their addresses. False when one has none.
static bool by_address(const struct members *m, struct members *out)
{
    char at[INET6_ADDRSTRLEN];
    members_copy(out, m);
    for (size_t i = 0; i < m->n; i++) {
        members_address(&m->v[i], at, sizeof at);
        if (at[0] == '\0')
            return false;
        members_rename(out, i, at);
    }
    return true;
}

bool render(const struct render_dialect *d, const struct members *m, bool by_name,
            struct buf *out)
{
    MEMBERS_AUTO renamed = MEMBERS_INIT;
    if (!by_name && !by_address(m, &renamed))
        return false;
    d->write(by_name ? m : &renamed, out);
    return true;
}
