// The Open MPI hostfile dialect, line by line.
#include "hostfile/openmpi.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/hostword.h"
#include "hostfile/linekeys.h"
#include "hostfile/localhost.h"
#include "hostfile/place.h"
#include "hostfile/ranges.h"

struct reader {
    const char *file;
    struct members members;
    int *bare; // for each member: how often it was listed without a count
    size_t bare_cap;
    struct members excluded; // "^name" lines
    struct err *err;
};

// One host of a line, with the line's keys.
struct entry {
    struct place at; // of the word
    const struct hostword *word;
    const struct linekeys *keys;
    int count; // the slots of the line, -1: bare
};

static void warn(struct reader *r, const struct place *at, const char *text)
{
    strv_add_steal(&r->members.warnings, place_warning(at, 0, "%s", text));
}

// ---- one host -----------------------------------------------------------------

static int take_user(struct reader *r, struct member *m, const struct entry *e)
{
    const char *user = e->keys->user != NULL ? e->keys->user : e->word->user;
    size_t len = e->keys->user != NULL ? e->keys->user_len : e->word->user_len;
    if (user == NULL)
        return 0;
    if (m->user == NULL)
        m->user = xstrndup(user, len);
    if (strlen(m->user) == len && memcmp(m->user, user, len) == 0)
        return 0;
    return place_fail(&e->at, 0, "HF_CONFLICT", r->err,
                      "%s has user %s on line %u, but %.*s here", m->name, m->user,
                      m->line, place_shown(len), user);
}

static int take_port(struct reader *r, struct member *m, const struct entry *e)
{
    if (e->keys->port < 0)
        return 0;
    if (m->port < 0)
        m->port = e->keys->port;
    if (m->port == e->keys->port)
        return 0;
    return place_fail(&e->at, 0, "HF_CONFLICT", r->err,
                      "%s has port %d on line %u, but %d here", m->name, m->port,
                      m->line, e->keys->port);
}

static struct member *add(struct reader *r, const char *name, size_t len)
{
    struct member *m = members_add(&r->members, name, len);
    if (r->members.n > r->bare_cap) {
        r->bare_cap = r->members.cap;
        r->bare = xrealloc(r->bare, r->bare_cap, sizeof *r->bare);
    }
    r->bare[r->members.n - 1] = 0;
    hostname_literal(m->name, len, &m->addr);
    return m;
}

static int take_host(struct reader *r, const char *name, const struct entry *e)
{
    size_t len = strlen(name);
    bool absolute = len > 1 && name[len - 1] == '.';
    len -= absolute ? 1 : 0;
    long found = members_find(&r->members, name, len);
    if (found < 0 && r->members.n >= OPENMPI_MEMBERS_MAX)
        return place_fail(&e->at, 0, "HF_TOO_MANY", r->err, "more than %d hosts",
                          OPENMPI_MEMBERS_MAX);
    struct member *m = found >= 0 ? &r->members.v[found] : add(r, name, len);
    int *bare = &r->bare[m - r->members.v];
    if (found >= 0 && (e->count >= 0 || *bare == 0))
        return place_fail(&e->at, 0, "HF_DUP_COUNT", r->err,
                          "%s stands on line %u already: give its slots once, on one "
                          "line",
                          m->name, m->line);
    if (found < 0)
        m->line = e->at.line;
    m->absolute = m->absolute || absolute;
    *bare += e->count < 0 ? 1 : 0;
    m->slots = e->count >= 0 ? e->count : *bare > 1 ? *bare : -1;
    m->max_slots = e->keys->max_slots;
    return take_user(r, m, e) < 0 ? -1 : take_port(r, m, e);
}

// ---- one word -----------------------------------------------------------------

static int settle_count(struct reader *r, struct entry *e)
{
    const struct linekeys *k = e->keys;
    if (e->word->count >= 0 && k->slots >= 0)
        return place_fail(&e->at, 0, "HF_DUP_COUNT", r->err,
                          "the line gives a count twice: as :%d and as slots=%d",
                          e->word->count, k->slots);
    e->count = e->word->count >= 0 ? e->word->count : k->slots;
    if (e->count >= 0 && k->max_slots >= 0 && e->count > k->max_slots)
        return place_fail(&e->at, 0, "HF_BAD_COUNT", r->err,
                          "%d slots are more than max_slots=%d", e->count,
                          k->max_slots);
    if (e->count < 0)
        e->count = k->max_slots;
    if (e->word->user != NULL && k->user != NULL)
        return place_fail(&e->at, 0, "HF_SYNTAX", r->err,
                          "the line names a user twice: with '@' and with user=");
    return 0;
}

static int take_word(struct reader *r, const char *word, size_t len,
                     const struct place *at, const struct linekeys *keys)
{
    struct hostword w;
    struct entry e = {.at = *at, .word = &w, .keys = keys};
    if (hostword_parse(word, len, at, &w, r->err) < 0 || settle_count(r, &e) < 0)
        return -1;
    if (w.ambiguous && e.count < 0)
        warn(r, at,
             "the whole word is an IPv6 address; with a count it is [ADDRESS]:N");
    STRV_AUTO names = STRV_INIT;
    if (hostword_names(&w, word, at, &names, r->err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (take_host(r, names.v[i], &e) < 0)
            return -1;
    return 0;
}

static int take_list(struct reader *r, const char *list, size_t len,
                     const struct place *at, const struct linekeys *keys)
{
    for (size_t i = 0; i <= len; i++) {
        struct place here = *at;
        here.column += i;
        size_t item = ranges_item(list + i, len - i);
        if (item == 0)
            return place_fail(&here, 0, "HF_SYNTAX", r->err,
                              "a host name is missing beside ','");
        if (take_word(r, list + i, item, &here, keys) < 0)
            return -1;
        i += item;
    }
    return 0;
}

// ---- lines left out -------------------------------------------------------------

static int exclude(struct reader *r, const char *word, size_t len,
                   const struct place *at)
{
    struct hostword w;
    STRV_AUTO names = STRV_INIT;
    if (hostword_parse(word, len, at, &w, r->err) < 0)
        return -1;
    if (w.count >= 0 || w.user != NULL)
        return place_fail(at, 0, "HF_SYNTAX", r->err,
                          "'^' leaves a host out: only its name may follow");
    if (hostword_names(&w, word, at, &names, r->err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        size_t n = strlen(names.v[i]);
        n -= n > 1 && names.v[i][n - 1] == '.' ? 1 : 0;
        members_add(&r->excluded, names.v[i], n)->line = at->line;
    }
    return 0;
}

static int take_exclusion(struct reader *r, const char *list, size_t len,
                          const struct place *at, bool has_keys)
{
    if (has_keys)
        return place_fail(at, 0, "HF_SYNTAX", r->err,
                          "'^' leaves hosts out: no key may follow the names");
    for (size_t i = 1; i <= len; i++) {
        struct place here = *at;
        here.column += i;
        size_t item = ranges_item(list + i, len - i);
        if (item == 0)
            return place_fail(&here, 0, "HF_SYNTAX", r->err,
                              "a host name is missing behind '%c'", list[i - 1]);
        if (exclude(r, list + i, item, &here) < 0)
            return -1;
        i += item;
    }
    return 0;
}

static void apply_exclusions(struct reader *r)
{
    struct members *all = &r->members;
    CLEANUP_FREE bool *keep = xmalloc(all->n + 1);
    memset(keep, true, all->n + 1);
    for (size_t i = 0; i < r->excluded.n; i++) {
        const struct member *x = &r->excluded.v[i];
        long found = members_find(all, x->name, strlen(x->name));
        if (found >= 0) {
            keep[found] = false;
            continue;
        }
        struct place at = {.file = r->file, .line = x->line, .column = 1};
        CLEANUP_FREE char *text = xasprintf("^%s leaves nothing out", x->name);
        warn(r, &at, text);
    }
    if (r->excluded.n > 0)
        members_keep(all, keep);
}

// ---- the file -------------------------------------------------------------------

static int take_line(struct reader *r, const char *line, size_t len, struct place at)
{
    const char *hash = memchr(line, '#', len);
    size_t used = hash != NULL ? (size_t)(hash - line) : len, i = 0, word;
    const char *nul = memchr(line + used, '\0', len - used);
    if (nul != NULL)
        used = len; // even in a comment: the file is damaged
    if (place_check_bytes(&at, line, used, r->err) < 0)
        return -1;
    while (i < used && (line[i] == ' ' || line[i] == '\t'))
        i++;
    for (word = i; word < used && line[word] != ' ' && line[word] != '\t';)
        word++;
    if (word == i)
        return 0;
    struct linekeys keys;
    struct place behind = at;
    at.column += i;
    behind.column += word;
    if (line[i] == '^') {
        size_t rest = word;
        while (rest < used && (line[rest] == ' ' || line[rest] == '\t'))
            rest++;
        return take_exclusion(r, line + i, word - i, &at, rest < used);
    }
    if (line[i] == '=' || (word < used && memchr(line + i, '=', word - i) != NULL))
        return hostname_check(line + i, word - i, &at, r->err);
    if (linekeys_parse(line + word, used - word, &behind, &keys, r->err) < 0)
        return -1;
    return take_list(r, line + i, word - i, &at, &keys);
}

static int take_text(struct reader *r, const char *text, size_t len)
{
    struct place at = {.file = r->file, .line = 1, .column = 1};
    bool crlf = false;
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        warn(r, &at, "a UTF-8 byte order mark was skipped");
        text += 3;
        len -= 3;
    }
    for (; len > 0; at.line++) {
        const char *end = memchr(text, '\n', len);
        size_t line = end != NULL ? (size_t)(end - text) : len;
        size_t body = line > 0 && text[line - 1] == '\r' ? line - 1 : line;
        if (body < line && !crlf)
            warn(r, &at, "the lines end as on Windows (CRLF)");
        crlf = crlf || body < line;
        if (take_line(r, text, body, at) < 0)
            return -1;
        line += end != NULL ? 1 : 0;
        text += line;
        len -= line;
    }
    return 0;
}

static int read_all(struct reader *r, const char *text, size_t len, const char *self)
{
    if (take_text(r, text, len) < 0)
        return -1;
    apply_exclusions(r);
    if (r->members.n > 0)
        return localhost_replace(&r->members, self, r->file, r->err);
    err_set_kind(r->err, "HF_EMPTY", 0,
                 "%s: HF_EMPTY: the file names no host%s: write one a line, such as "
                 "\"node-0 slots=8\"",
                 r->file, r->excluded.n > 0 ? " that is not left out with '^'" : "");
    return -1;
}

int openmpi_read(const char *text, size_t len, const char *file, const char *self,
                 struct members *out, struct err *err)
{
    struct reader r = {.file = file, .err = err};
    int rc = read_all(&r, text, len, self);
    if (rc == 0)
        members_move(out, &r.members);
    members_free(&r.members);
    members_free(&r.excluded);
    free(r.bare);
    return rc;
}
