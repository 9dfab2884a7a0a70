// Finding the managed block, whatever has happened to it.
#include "hostfile/hosts_block.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

// Lines first..last of the file.
struct region {
    size_t first, last;
    bool begins;
};

// What stands right behind a hole, in its line, fell there as well.
static bool fell_into_hole(const char *text, const struct hosts_lines *before,
                           const struct hosts_line *line)
{
    return before->n > 0 && before->v[before->n - 1].kind == HOSTS_HOLE &&
           text[line->off - 1] != '\n' &&
           (line->kind == HOSTS_FOREIGN || line->kind == HOSTS_TORN);
}

static void split(const char *text, size_t len, size_t cut, struct hosts_lines *out)
{
    for (size_t off = 0; off < len;) {
        struct hosts_line line = hosts_line_read(text, len, off);
        if (cut > off && cut < off + line.len) {
            line.len = cut - off;
            line.kind = HOSTS_FOREIGN;
        } else if ((cut == off && cut != HOSTS_UNCUT) ||
                   fell_into_hole(text, out, &line)) {
            line.kind = HOSTS_HOLE;
        }
        hosts_lines_add(out, &line);
        off += line.len;
    }
}

// ---- regions ----------------------------------------------------------------------

static bool can_follow(enum hosts_kind kind)
{
    return kind == HOSTS_SLOT || kind == HOSTS_RETIRED || kind == HOSTS_BLANK ||
           kind == HOSTS_HOLE || kind == HOSTS_ENDS;
}

// From `i` on, the last slot or END among lines that look like ours; `none` when there is
// neither.
static size_t last_of_run(const struct hosts_lines *l, size_t i, size_t none)
{
    size_t last = none;
    for (; i < l->n && can_follow(l->v[i].kind); i++)
        if (l->v[i].kind != HOSTS_BLANK && l->v[i].kind != HOSTS_HOLE)
            last = i;
    return last;
}

// The END line that belongs to the BEGIN at `i`, `i` when there is none.
static size_t find_end(const struct hosts_lines *l, size_t i)
{
    for (size_t k = i + 1; k < l->n && l->v[k].kind != HOSTS_BEGINS; k++)
        if (l->v[k].kind == HOSTS_ENDS)
            return k;
    return i;
}

static struct region begun_at(const struct hosts_lines *l, size_t i)
{
    size_t end = find_end(l, i), last = last_of_run(l, end + 1, end);
    bool ended = end > i || l->v[last].kind == HOSTS_ENDS;
    if (!ended && last + 1 < l->n && l->v[last + 1].kind == HOSTS_TORN)
        last++;
    return (struct region){.first = i, .last = last, .begins = true};
}

// Lines of ours whose BEGIN was overwritten: they lead to an END.
static bool stray_at(const struct hosts_lines *l, size_t i, struct region *out)
{
    size_t last = i;
    if (!can_follow(l->v[i].kind) || l->v[i].kind == HOSTS_BLANK)
        return false;
    for (last = last_of_run(l, i, i); last > i && l->v[last].kind != HOSTS_ENDS;)
        last--;
    *out = (struct region){.first = i, .last = last};
    return l->v[last].kind == HOSTS_ENDS || l->v[i].kind == HOSTS_HOLE;
}

static bool next_region(const struct hosts_lines *l, size_t from, struct region *out)
{
    for (size_t i = from; i < l->n; i++) {
        if (l->v[i].kind == HOSTS_BEGINS) {
            *out = begun_at(l, i);
            return true;
        }
        if (stray_at(l, i, out))
            return true;
    }
    return false;
}

// ---- lines of regions -------------------------------------------------------------

static void discard(struct hosts_block *b, const struct hosts_lines *l, size_t first,
                    size_t last)
{
    for (size_t i = first; i <= last; i++)
        if (l->v[i].kind != HOSTS_BLANK)
            hosts_lines_add(&b->rubbish, &l->v[i]);
}

static void take_line(struct hosts_block *b, const struct hosts_line *line)
{
    bool crosses = hosts_line_crosses(line->off, line->len);
    if (line->kind == HOSTS_ENDS) {
        if (b->end.len > 0)
            hosts_lines_add(&b->rubbish, &b->end);
        b->end = *line;
    } else if ((line->kind == HOSTS_SLOT || line->kind == HOSTS_RETIRED) && !crosses) {
        hosts_lines_add(&b->slots, line);
    } else if (line->kind == HOSTS_BLANK) {
        if (!crosses && line->len >= hosts_line_width(1))
            hosts_lines_add(&b->slots, line);
    } else {
        hosts_lines_add(&b->rubbish, line);
    }
}

static void take(struct hosts_block *b, const struct hosts_lines *l,
                 const struct region *r)
{
    b->begin = l->v[r->first];
    b->last = r->last + 1 == l->n;
    for (size_t i = r->first + 1; i <= r->last; i++)
        take_line(b, &l->v[i]);
}

void hosts_block_find(const char *text, size_t len, size_t cut, struct hosts_block *out)
{
    struct hosts_lines l = {0};
    struct region r, main = {0};
    *out = (struct hosts_block){0};
    split(text, len, cut, &l);
    for (size_t i = 0; next_region(&l, i, &r); i = r.last + 1) {
        if (r.begins && main.begins)
            discard(out, &l, main.first, main.last);
        if (r.begins)
            main = r;
        else
            discard(out, &l, r.first, r.last);
    }
    if (main.begins)
        take(out, &l, &main);
    const struct hosts_line *end = l.n > 0 ? &l.v[l.n - 1] : NULL;
    bool ours = out->rubbish.n > 0 && end != NULL &&
                out->rubbish.v[out->rubbish.n - 1].off == end->off;
    out->open_line = end != NULL && text[len - 1] != '\n' && !ours;
    free(l.v);
}

void hosts_block_free(struct hosts_block *b)
{
    free(b->slots.v);
    free(b->rubbish.v);
    *b = (struct hosts_block){0};
}

static void end_line(struct buf *out)
{
    if (buf_len(out) > 0 && buf_data(out)[buf_len(out) - 1] != '\n')
        buf_append_str(out, "\n");
}

static void append_lines(struct buf *out, const char *text, const struct hosts_lines *l,
                         size_t first, size_t last)
{
    for (size_t i = first; i < last; i++)
        if (l->v[i].kind != HOSTS_HOLE)
            buf_append(out, text + l->v[i].off, l->v[i].len);
        else
            end_line(out);
    end_line(out);
}

char *hosts_block_others(const char *text, size_t len)
{
    BUF_AUTO out = BUF_INIT;
    struct hosts_lines l = {0};
    struct region r;
    size_t from = 0;
    split(text, len, HOSTS_UNCUT, &l);
    while (next_region(&l, from, &r)) {
        append_lines(&out, text, &l, from, r.first);
        from = r.last + 1;
    }
    append_lines(&out, text, &l, from, l.n);
    free(l.v);
    return buf_steal_str(&out);
}

size_t hosts_block_cut(const char *text, size_t len, const char *before,
                       size_t before_len)
{
    size_t begin = strlen(HOSTS_BEGIN), cut = len;
    if (len != before_len || len == 0)
        return HOSTS_UNCUT;
    while (cut > 0 && text[cut - 1] == before[cut - 1])
        cut--;
    const char *block = memmem(before, before_len, HOSTS_BEGIN, begin);
    if (cut == 0 || cut == len || block == NULL || cut <= (size_t)(block - before) ||
        before[cut - 1] == '\n')
        return HOSTS_UNCUT;
    return cut;
}
