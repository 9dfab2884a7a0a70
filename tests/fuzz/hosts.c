// libFuzzer target for the editor of /etc/hosts: WANT, "=", WANT, "=", FILE; a WANT is lines of
// ADDRESS NAME...
//
// The file, whatever it holds, is brought to the first state, then to the second. Readers of
// every moment between find every member that stays and no line that is half; lines of others
// keep their bytes; what was stopped halfway comes to the same end.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"
#include "hostfile/etchosts.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_block.h"
#include "hostfile/hosts_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROUNDS = 8, WANT_MAX = 64 };

static void demand(bool holds, const char *what, const struct buf *file)
{
    if (holds)
        return;
    fprintf(stderr, "%s:\n%.*s\n", what, (int)buf_len(file), (char *)buf_data(file));
    abort();
}

// ---- the input --------------------------------------------------------------------

static bool is_twin(const struct hosts_want *w, const struct hosts_pair *pair)
{
    for (const struct hosts_pair *p = w->v; p < pair; p++)
        if (p->v6 == pair->v6 && strcmp(p->names, pair->names) == 0)
            return true;
    return false;
}

// What no editor would be asked for is passed over.
static void take_line(char *line, struct hosts_want *w)
{
    STRV_AUTO words = STRV_INIT;
    struct sockaddr_storage addr;
    strv_add_split(&words, line, ' ');
    size_t before = w->n;
    if (words.n < 2 || w->n >= WANT_MAX ||
        !hostname_literal(words.v[0], strlen(words.v[0]), &addr))
        return;
    hosts_want_add(w, &addr, (const char *const *)words.v + 1, words.n - 1, NULL);
    while (w->n > before && is_twin(w, &w->v[w->n - 1]))
        free(w->v[--w->n].names);
}

// Takes lines up to "=" off the input.
static void take_want(const char **at, const char *end, struct hosts_want *w)
{
    while (*at < end) {
        const char *newline = memchr(*at, '\n', (size_t)(end - *at));
        size_t len = (size_t)((newline != NULL ? newline : end) - *at);
        CLEANUP_FREE char *line = xstrndup(*at, len);
        *at += len + (newline != NULL ? 1 : 0);
        if (strcmp(line, "=") == 0)
            return;
        take_line(line, w);
    }
}

// ---- what readers see -------------------------------------------------------------

// "ADDRESS NAME NAME" of each line that counts, without what is a comment.
static void read_lines(const struct buf *file, struct strv *out)
{
    const char *text = (const char *)buf_data(file);
    for (size_t off = 0, len; off < buf_len(file); off += len + 1) {
        const char *newline = memchr(text + off, '\n', buf_len(file) - off);
        len = newline != NULL ? (size_t)(newline - text) - off : buf_len(file) - off;
        CLEANUP_FREE char *line = xstrndup(text + off, len);
        STRV_AUTO words = STRV_INIT;
        BUF_AUTO joined = BUF_INIT;
        line[strcspn(line, "#")] = '\0';
        strv_add_split(&words, line, ' ');
        for (size_t i = 0; i < words.n; i++)
            buf_printf(&joined, "%s%s", i > 0 ? " " : "", words.v[i]);
        if (words.n > 0)
            strv_add_steal(out, buf_steal_str(&joined));
    }
}

static bool holds(const struct strv *lines, const char *line)
{
    for (size_t i = 0; i < lines->n; i++)
        if (strcmp(lines->v[i], line) == 0)
            return true;
    return false;
}

static bool has(const struct strv *lines, const struct hosts_pair *p)
{
    CLEANUP_FREE char *line = xasprintf("%s %s", p->address, p->names);
    return holds(lines, line);
}

static const struct hosts_pair *find(const struct hosts_want *w,
                                     const struct hosts_pair *p)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].v6 == p->v6 && strcmp(w->v[i].names, p->names) == 0)
            return &w->v[i];
    return NULL;
}

static void check_wanted(const struct buf *file, const struct hosts_want *w)
{
    STRV_AUTO lines = STRV_INIT;
    read_lines(file, &lines);
    for (size_t i = 0; i < w->n; i++)
        demand(has(&lines, &w->v[i]), "a member is not there", file);
}

// A moment between two states: `before` are the lines of the first.
static void check_moment(const struct buf *file, const struct strv *before,
                         const struct hosts_want *from, const struct hosts_want *to)
{
    STRV_AUTO lines = STRV_INIT;
    read_lines(file, &lines);
    for (size_t i = 0; i < from->n; i++) {
        const struct hosts_pair *now = find(to, &from->v[i]);
        demand(now == NULL || has(&lines, now) || has(&lines, &from->v[i]),
               "a member that stays is not there", file);
    }
    for (size_t i = 0; i < lines.n; i++) {
        bool known = holds(before, lines.v[i]);
        for (size_t k = 0; k < to->n && !known; k++) {
            CLEANUP_FREE char *line =
                xasprintf("%s %s", to->v[k].address, to->v[k].names);
            known = strcmp(line, lines.v[i]) == 0;
        }
        demand(known, "a line is neither of before nor of after", file);
    }
}

// ---- what the editor does ---------------------------------------------------------

static void plan_for(const struct buf *file, const struct hosts_want *w,
                     struct hosts_plan *out)
{
    static const struct hosts_offsets none;
    hosts_plan((const char *)buf_data(file), buf_len(file), HOSTS_UNCUT, w, &none, out);
}

// Until nothing is to be done any more.
static void bring(struct buf *file, const struct hosts_want *w)
{
    size_t n = 1;
    for (int i = 0; i < ROUNDS && n > 0; i++) {
        struct hosts_plan plan;
        plan_for(file, w, &plan);
        size_t size = buf_len(file);
        hosts_plan_apply(&plan, plan.n, file);
        demand(buf_len(file) >= size, "the file got shorter", file);
        n = plan.n;
        hosts_plan_free(&plan);
    }
    demand(n == 0, "it never comes to rest", file);
    check_wanted(file, w);
}

// All bytes in front of the first line that could be ours.
static size_t certainly_others(const char *text, size_t len)
{
    size_t off = 0;
    while (off < len) {
        struct hosts_line line = hosts_line_read(text, len, off);
        size_t next = off + line.len;
        if (line.kind != HOSTS_FOREIGN || (next < len && text[next] == '\0'))
            break;
        off = next;
    }
    return off;
}

// Is there a line that NULs have cut, and that would be one of ours without them? Whose it is
// nobody can tell.
static bool has_cut_slot(const char *text, size_t len)
{
    for (size_t off = 0; off < len;) {
        struct hosts_line line = hosts_line_read(text, len, off);
        CLEANUP_FREE char *cut = xasprintf("%.*s\n", (int)line.len, text + off);
        bool whole = line.kind == HOSTS_HOLE || text[off + line.len - 1] == '\n';
        if (!whole && hosts_line_read(cut, strlen(cut), 0).kind != HOSTS_FOREIGN)
            return true;
        off += line.len;
    }
    return false;
}

// From every moment of the change; one of them is where the editor was killed.
static void change(struct buf *file, const struct hosts_want *from,
                   const struct hosts_want *to, size_t killed_at)
{
    STRV_AUTO before = STRV_INIT;
    struct hosts_plan plan;
    read_lines(file, &before);
    plan_for(file, to, &plan);
    for (size_t n = 0; n <= plan.n; n++) {
        BUF_AUTO now = BUF_INIT;
        buf_append(&now, buf_data(file), buf_len(file));
        hosts_plan_apply(&plan, n, &now);
        check_moment(&now, &before, from, to);
        if (n == killed_at % (plan.n + 1))
            bring(&now, to);
    }
    hosts_plan_free(&plan);
    bring(file, to);
}

// What counts in them: what was blanked is a comment, at the end of a line that a hole had cut
// as well.
static char *others_of(const char *text, size_t len)
{
    BUF_AUTO all = BUF_INIT, out = BUF_INIT;
    STRV_AUTO lines = STRV_INIT;
    CLEANUP_FREE char *others = hosts_block_others(text, len);
    buf_append_str(&all, others);
    read_lines(&all, &lines);
    for (size_t i = 0; i < lines.n; i++)
        buf_printf(&out, "%s\n", lines.v[i]);
    return buf_steal_str(&out);
}

static void check_others(const struct buf *file, const char *text, size_t len,
                         const char *others)
{
    size_t n = certainly_others(text, len);
    demand(buf_len(file) >= n && (n == 0 || memcmp(buf_data(file), text, n) == 0),
           "lines of others have changed", file);
    CLEANUP_FREE char *now = others_of((const char *)buf_data(file), buf_len(file));
    demand(strcmp(now, others) == 0 || has_cut_slot(text, len),
           "lines of others are not the same", file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    HOSTS_WANT_AUTO first = HOSTS_WANT_INIT, second = HOSTS_WANT_INIT;
    BUF_AUTO file = BUF_INIT;
    const char *at = (const char *)data, *end = at + size;
    take_want(&at, end, &first);
    take_want(&at, end, &second);
    size_t len = (size_t)(end - at);
    buf_append(&file, at, len);
    CLEANUP_FREE char *others = others_of(at, len);
    etchosts_destroy(etchosts_parse(at, len));

    bring(&file, &first);
    check_others(&file, at, len, others);
    change(&file, &first, &second, size);
    check_others(&file, at, len, others);
    return 0;
}
