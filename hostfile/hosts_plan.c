// Planning the writes.
#include "hostfile/hosts_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hosts_block.h"

#define uthash_fatal(msg) abort()
#include <uthash.h>

// A wanted line that has no slot yet.
struct open_pair {
    UT_hash_handle hh;
    const struct hosts_pair *pair;
    char key[]; // family and names
};

struct planner {
    const char *text;
    size_t len;
    const struct hosts_want *want;
    struct hosts_block block;
    struct open_pair *open; // in the order of `want`
    const struct hosts_offsets *resting;
    struct hosts_lines free; // slots that can be filled
    struct hosts_lines old;  // slots that are to be retired
    struct hosts_plan *out;
};

// ---- writes -----------------------------------------------------------------------

static void add_write(struct hosts_plan *p, size_t off, const void *bytes, size_t len)
{
    if (p->n == p->cap) {
        p->cap = p->cap > 0 ? p->cap * 2 : 16;
        p->v = xrealloc(p->v, p->cap, sizeof *p->v);
    }
    p->v[p->n++] =
        (struct hosts_write){.off = off, .len = len, .at = buf_len(&p->bytes)};
    buf_append(&p->bytes, bytes, len);
}

// Page by page.
static void add_pages(struct hosts_plan *p, size_t off, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t one = HOSTS_PAGE - off % HOSTS_PAGE;
        one = one < len ? one : len;
        add_write(p, off, bytes, one);
        off += one;
        bytes += one;
        len -= one;
    }
}

static int by_offset(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static bool is_resting(const struct planner *p, size_t off)
{
    return p->resting->n > 0 && bsearch(&off, p->resting->v, p->resting->n,
                                        sizeof *p->resting->v, by_offset) != NULL;
}

static void retire(struct planner *p, const struct hosts_line *slot)
{
    add_write(p->out, slot->off, "#", 1);
    hosts_offsets_add(&p->out->retired, slot->off);
}

// A comment until its last write.
static void fill_slot(struct planner *p, const struct hosts_line *slot,
                      const struct hosts_pair *pair)
{
    BUF_AUTO line = BUF_INIT;
    hosts_line_write(&line, pair->address, pair->names, slot->len);
    const char *bytes = (const char *)buf_data(&line);
    add_write(p->out, slot->off + 1, bytes + 1, slot->len - 1);
    add_write(p->out, slot->off, bytes, 1);
}

// A hole that begins in the middle of somebody's line becomes a comment behind it.
static void blank(struct planner *p, const struct hosts_line *line)
{
    BUF_AUTO fill = BUF_INIT;
    hosts_line_fill(&fill, line->len);
    add_pages(p->out, line->off, (const char *)buf_data(&fill), line->len);
}

// ---- who has a slot already -------------------------------------------------------

static void list_wanted(struct planner *p)
{
    for (size_t i = 0; i < p->want->n; i++) {
        const struct hosts_pair *pair = &p->want->v[i];
        size_t len = strlen(pair->names);
        struct open_pair *o = xmalloc(sizeof *o + len + 2), *twin = NULL;
        o->pair = pair;
        o->key[0] = pair->v6 ? '6' : '4';
        memcpy(o->key + 1, pair->names, len + 1);
        HASH_FIND(hh, p->open, o->key, len + 1, twin);
        if (twin != NULL)
            free(o);
        else
            HASH_ADD_KEYPTR(hh, p->open, o->key, len + 1, o);
    }
}

// Is the slot as somebody wants it? They need no other one then.
static bool take_wanted(struct planner *p, const struct hosts_line *slot)
{
    struct open_pair *o = NULL;
    BUF_AUTO key = BUF_INIT;
    const char *address = p->text + slot->off;
    buf_append_str(&key, slot->v6 ? "6" : "4");
    buf_append(&key, address + HOSTS_ADDRESS_WIDTH + 1, slot->names_len);
    HASH_FIND(hh, p->open, buf_data(&key), buf_len(&key), o);
    if (o == NULL || strlen(o->pair->address) != slot->address_len ||
        memcmp(o->pair->address, address, slot->address_len) != 0)
        return false;
    HASH_DEL(p->open, o);
    free(o);
    return true;
}

static void sort_slots(struct planner *p)
{
    for (size_t i = 0; i < p->block.slots.n; i++) {
        const struct hosts_line *slot = &p->block.slots.v[i];
        if (slot->kind != HOSTS_SLOT && !is_resting(p, slot->off))
            hosts_lines_add(&p->free, slot);
        else if (slot->kind == HOSTS_SLOT && !take_wanted(p, slot))
            hosts_lines_add(&p->old, slot);
    }
}

// Those that fit go into free slots, in order.
static void fill_free(struct planner *p)
{
    struct open_pair *o, *next;
    size_t used = 0;
    HASH_ITER (hh, p->open, o, next) {
        size_t width = hosts_line_width(strlen(o->pair->names)), i = used;
        while (i < p->free.n && p->free.v[i].len < width)
            i++;
        if (i == p->free.n)
            continue;
        struct hosts_line slot = p->free.v[i];
        p->free.v[i] = p->free.v[used]; // those in front were too short
        used++;
        fill_slot(p, &slot, o->pair);
        HASH_DEL(p->open, o);
        free(o);
    }
    if (used == 0)
        return;
    p->free.n -= used;
    memmove(p->free.v, p->free.v + used, p->free.n * sizeof *p->free.v);
}

// ---- the end of the file ----------------------------------------------------------

static void append_line(struct buf *out, size_t base, const struct hosts_pair *pair)
{
    size_t at = base + buf_len(out), width = hosts_line_width(strlen(pair->names));
    if (hosts_line_crosses(at, width))
        hosts_line_fill(out, HOSTS_PAGE - at % HOSTS_PAGE);
    hosts_line_write(out, pair->address, pair->names, width);
}

static void append_marker(struct buf *out, size_t base, const char *text)
{
    size_t at = base + buf_len(out);
    if (hosts_line_crosses(at, strlen(text) + 1))
        hosts_line_fill(out, HOSTS_PAGE - at % HOSTS_PAGE);
    buf_printf(out, "%s\n", text);
}

static void grow(struct planner *p)
{
    BUF_AUTO tail = BUF_INIT;
    struct open_pair *o, *next;
    if (p->block.open_line)
        buf_append_str(&tail, "\n");
    HASH_ITER (hh, p->open, o, next)
        append_line(&tail, p->len, o->pair);
    append_marker(&tail, p->len, HOSTS_END);
    add_pages(p->out, p->len, (const char *)buf_data(&tail), buf_len(&tail));
    if (p->block.end.len > 0)
        blank(p, &p->block.end);
}

static void append_block(struct planner *p)
{
    BUF_AUTO tail = BUF_INIT;
    if (p->block.open_line)
        buf_append_str(&tail, "\n");
    append_marker(&tail, p->len, HOSTS_BEGIN);
    for (size_t i = 0; i < p->want->n; i++)
        append_line(&tail, p->len, &p->want->v[i]);
    append_marker(&tail, p->len, HOSTS_END);
    add_pages(p->out, p->len, (const char *)buf_data(&tail), buf_len(&tail));
}

// ---- what goes --------------------------------------------------------------------

// Lines that mean nothing go first, so that nothing is appended to them.
static void blank_garbage(struct planner *p)
{
    for (size_t i = 0; i < p->block.rubbish.n; i++) {
        const struct hosts_line *l = &p->block.rubbish.v[i];
        if (l->kind == HOSTS_HOLE || l->kind == HOSTS_FOREIGN || l->kind == HOSTS_TORN)
            blank(p, l);
    }
}

// The rest of another block: its marks go last, it would not be known without them.
static void clear_rubbish(struct planner *p)
{
    bool slots = false;
    for (size_t i = 0; i < p->block.rubbish.n; i++) {
        const struct hosts_line *l = &p->block.rubbish.v[i];
        slots = slots || l->kind == HOSTS_SLOT || is_resting(p, l->off);
        if (l->kind == HOSTS_SLOT)
            retire(p, l);
    }
    for (size_t i = 0; i < p->block.rubbish.n && !slots; i++) {
        enum hosts_kind kind = p->block.rubbish.v[i].kind;
        if (kind == HOSTS_RETIRED || kind == HOSTS_BEGINS || kind == HOSTS_ENDS)
            blank(p, &p->block.rubbish.v[i]);
    }
}

static void update_block(struct planner *p)
{
    list_wanted(p);
    sort_slots(p);
    fill_free(p);
    bool closed = p->block.end.len > 0 && !(p->block.last && p->block.open_line);
    if (p->block.last && (p->open != NULL || !closed))
        grow(p);
    else if (p->open != NULL || !closed)
        append_block(p);
    for (size_t i = 0; i < p->old.n; i++)
        retire(p, &p->old.v[i]);
    for (size_t i = 0; i < p->free.n; i++)
        if (p->free.v[i].kind == HOSTS_RETIRED)
            blank(p, &p->free.v[i]);
}

void hosts_plan(const char *text, size_t len, size_t cut, const struct hosts_want *want,
                const struct hosts_offsets *resting, struct hosts_plan *out)
{
    struct planner p = {
        .text = text, .len = len, .want = want, .resting = resting, .out = out};
    struct open_pair *o, *next;
    *out = (struct hosts_plan){0};
    hosts_block_find(text, len, cut, &p.block);
    blank_garbage(&p);
    if (p.block.begin.len > 0)
        update_block(&p);
    else
        append_block(&p);
    clear_rubbish(&p);
    HASH_ITER (hh, p.open, o, next) {
        HASH_DEL(p.open, o);
        free(o);
    }
    free(p.free.v);
    free(p.old.v);
    hosts_block_free(&p.block);
}

void hosts_offsets_add(struct hosts_offsets *o, size_t off)
{
    if (o->n == o->cap) {
        o->cap = o->cap > 0 ? o->cap * 2 : 16;
        o->v = xrealloc(o->v, o->cap, sizeof *o->v);
    }
    o->v[o->n++] = off;
}

const char *hosts_plan_bytes(const struct hosts_plan *p, size_t i)
{
    return (const char *)p->bytes.mem + p->bytes.start + p->v[i].at;
}

void hosts_plan_free(struct hosts_plan *p)
{
    free(p->v);
    free(p->retired.v);
    buf_free(&p->bytes);
    *p = (struct hosts_plan){0};
}

void hosts_plan_apply(const struct hosts_plan *p, size_t n, struct buf *file)
{
    for (size_t i = 0; i < n; i++) {
        size_t end = p->v[i].off + p->v[i].len;
        while (buf_len(file) < end)
            buf_append(file, "", 1);
        memcpy(buf_data(file) + p->v[i].off, hosts_plan_bytes(p, i), p->v[i].len);
    }
}
