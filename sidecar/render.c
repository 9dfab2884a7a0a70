// One function a dialect.
#include "sidecar/render.h"

#include <netinet/in.h>
#include <string.h>

struct render_dialect {
    const char *name;
    void (*line)(const struct member *m, const char *host, struct buf *out);
};

static void openmpi_line(const struct member *m, const char *host, struct buf *out)
{
    buf_append_str(out, host);
    if (m->slots >= 0)
        buf_printf(out, " slots=%d", m->slots);
    if (m->max_slots >= 0)
        buf_printf(out, " max_slots=%d", m->max_slots);
    buf_append_str(out, "\n");
}

static const struct render_dialect dialects[] = {{"openmpi", openmpi_line}};
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

bool render(const struct render_dialect *d, const struct members *m, bool by_name,
            struct buf *out)
{
    for (size_t i = 0; i < m->n && !by_name; i++)
        if (m->v[i].addr.ss_family == 0)
            return false;
    for (size_t i = 0; i < m->n; i++) {
        char at[INET6_ADDRSTRLEN];
        members_address(&m->v[i], at, sizeof at);
        d->line(&m->v[i], by_name ? m->v[i].name : at, out);
    }
    return true;
}
