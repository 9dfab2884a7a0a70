// One table of names; a scanner that both check and fill use.
#include "wire/placeholders.h"

#include <stdbool.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

enum name { NODE_RANK, NNODES, LEADER_ADDR, LOCAL_ADDR, PORT, RANK, WORLD, NAMES };

static const char *const names[NAMES] = {
    [NODE_RANK] = "node_rank",   [NNODES] = "nnodes", [LEADER_ADDR] = "leader_addr",
    [LOCAL_ADDR] = "local_addr", [PORT] = "port",     [RANK] = "rank",
    [WORLD] = "world",
};

static uint32_t first_rank(const Muster__Position *p)
{
    return p->n_ranks > 0 ? p->ranks[0] : 0;
}

struct placeholders placeholders_of(const Muster__Prepare *p, const Muster__Go *go,
                                    size_t self)
{
    struct placeholders out = {.node_rank = (uint32_t)self,
                               .nnodes = (uint32_t)p->n_positions,
                               .rank = first_rank(p->positions[self]),
                               .leader_addr = go->master_address,
                               .local_addr = p->positions[self]->address,
                               .port = go->master_port};
    for (size_t i = 0; i < p->n_positions; i++)
        out.world += (uint32_t)p->positions[i]->n_ranks;
    return out;
}

// ---- scanning ---------------------------------------------------------------

// Bytes of the name between braces that begins at `text`, which is one; 0: it is none.
static size_t name_len(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char all[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    if (strspn(text + 1, letters) == 0)
        return 0;
    size_t n = strspn(text + 1, all);
    return text[1 + n] == '}' ? n : 0;
}

static enum name find_name(const char *name, size_t len)
{
    enum name i = 0;
    while (i < NAMES && (strlen(names[i]) != len || strncmp(names[i], name, len) != 0))
        i++;
    return i;
}

static char *all_names(void)
{
    BUF_AUTO text = BUF_INIT;
    for (int i = 0; i < NAMES; i++)
        buf_printf(&text, "%s{%s}", i > 0 ? " " : "", names[i]);
    return buf_steal_str(&text);
}

int placeholders_check(const char *text, struct err *err)
{
    for (const char *at = strchr(text, '{'); at != NULL; at = strchr(at, '{')) {
        size_t len = name_len(at);
        if (len > 0 && find_name(at + 1, len) == NAMES) {
            CLEANUP_FREE char *known = all_names();
            err_set(err,
                    "column %td: there is no placeholder {%.*s}; there are %s; for the "
                    "text itself write {{%.*s}",
                    at - text + 1, (int)len, at + 1, known, (int)len, at + 1);
            return -1;
        }
        at += len > 0 ? len + 2 : at[1] == '{' ? 2 : 1;
    }
    return 0;
}

// ---- filling ----------------------------------------------------------------

static void put(const struct placeholders *p, enum name name, struct buf *out)
{
    switch (name) {
    case NODE_RANK: buf_printf(out, "%u", p->node_rank); break;
    case NNODES: buf_printf(out, "%u", p->nnodes); break;
    case LEADER_ADDR: buf_printf(out, "%s", p->leader_addr); break;
    case LOCAL_ADDR: buf_printf(out, "%s", p->local_addr); break;
    case PORT: buf_printf(out, "%u", p->port); break;
    case RANK: buf_printf(out, "%u", p->rank); break;
    case WORLD: buf_printf(out, "%u", p->world); break;
    case NAMES: break;
    }
}

static char *fill_one(const struct placeholders *p, const char *text)
{
    BUF_AUTO out = BUF_INIT;
    while (*text != '\0') {
        size_t plain = strcspn(text, "{");
        buf_append(&out, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        size_t len = name_len(text);
        enum name name = len > 0 ? find_name(text + 1, len) : NAMES;
        if (name < NAMES)
            put(p, name, &out);
        else
            buf_append(&out, "{", 1);
        text += name < NAMES ? len + 2 : text[1] == '{' ? 2 : 1;
    }
    return buf_steal_str(&out);
}

void placeholders_fill(const struct placeholders *p, char *const *texts, size_t n,
                       struct strv *out)
{
    for (size_t i = 0; i < n; i++)
        strv_add_steal(out, fill_one(p, texts[i]));
}

char *placeholders_escape(const char *text)
{
    BUF_AUTO out = BUF_INIT;
    for (; *text != '\0'; text++)
        buf_append(&out, *text == '{' ? "{{" : text, *text == '{' ? 2 : 1);
    return buf_steal_str(&out);
}
