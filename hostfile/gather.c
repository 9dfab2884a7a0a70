// Gathering members from lines, by a dialect's rules.
#include "hostfile/gather.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/hostword.h"
#include "hostfile/linekeys.h"
#include "hostfile/localhost.h"
#include "hostfile/ranges.h"

struct gather {
    const char *file;
    const struct gather_rules *rules;
    struct members members;
    int *bare; // for each member: how often it was listed without a count
    size_t bare_cap;
    struct members excluded; // "^name" lines
    unsigned seen;
    struct place mixed;         // first bare host, when counts are written name:N
    struct gather_words *words; // borrowed, NULL: nobody asks
};

// One host of a line, with the line's keys.
struct entry {
    struct place at; // of the word
    const struct hostword *word;
    const struct linekeys *keys;
    int count; // the slots of the line, -1: bare
};

struct gather *gather_create(const char *file, const struct gather_rules *rules)
{
    struct gather *g = xcalloc(1, sizeof *g);
    g->file = file;
    g->rules = rules;
    return g;
}

void gather_destroy(struct gather *g)
{
    if (g == NULL)
        return;
    members_free(&g->members);
    members_free(&g->excluded);
    free(g->bare);
    free(g);
}

void gather_watch(struct gather *g, struct gather_words *words)
{
    g->words = words;
}

void gather_words_free(struct gather_words *words)
{
    free(words->v);
    *words = (struct gather_words){0};
}

struct strv *gather_warnings(struct gather *g)
{
    return &g->members.warnings;
}

unsigned gather_seen(const struct gather *g)
{
    return g->seen;
}

static void warn(struct gather *g, const struct place *at, const char *text)
{
    strv_add_steal(&g->members.warnings, place_warning(at, 0, "%s", text));
}

// ---- one host -----------------------------------------------------------------

static int take_user(struct member *m, const struct entry *e, struct err *err)
{
    const char *user = e->keys->user != NULL ? e->keys->user : e->word->user;
    size_t len = e->keys->user != NULL ? e->keys->user_len : e->word->user_len;
    if (user == NULL)
        return 0;
    if (m->user == NULL)
        m->user = xstrndup(user, len);
    if (strlen(m->user) == len && memcmp(m->user, user, len) == 0)
        return 0;
    if (m->line == 0)
        return place_fail(&e->at, 0, "HF_CONFLICT", err, "%s is listed with two users",
                          m->name);
    return place_fail(&e->at, 0, "HF_CONFLICT", err,
                      "%s has user %s on line %u, but %.*s here", m->name, m->user,
                      m->line, place_shown(len), user);
}

static int take_port(struct member *m, const struct entry *e, struct err *err)
{
    if (e->keys->port < 0)
        return 0;
    if (m->port < 0)
        m->port = e->keys->port;
    if (m->port == e->keys->port)
        return 0;
    return place_fail(&e->at, 0, "HF_CONFLICT", err,
                      "%s has port %d on line %u, but %d here", m->name, m->port,
                      m->line, e->keys->port);
}

static bool is_last(const struct members *all, const char *name, size_t len)
{
    const char *last = all->n > 0 ? all->v[all->n - 1].name : NULL;
    return last != NULL && strncasecmp(last, name, len) == 0 && last[len] == '\0';
}

// The member that the name is more of, or a new one.
static struct member *take_member(struct gather *g, const char *name, size_t len,
                                  bool *added)
{
    struct members *all = &g->members;
    switch (g->rules->repeat) {
    case GATHER_COUNT_BARE:
    case GATHER_ADD_UP:
    case GATHER_REFUSE: return members_take(all, name, len, added);
    case GATHER_ADJACENT: *added = !is_last(all, name, len); break;
    case GATHER_KEEP: *added = true; break;
    }
    return *added ? members_add(all, name, len) : &all->v[all->n - 1];
}

static void set_up(struct gather *g, struct member *m, size_t len,
                   const struct entry *e)
{
    if (g->members.n > g->bare_cap) {
        g->bare_cap = g->members.cap;
        g->bare = xrealloc(g->bare, g->bare_cap, sizeof *g->bare);
    }
    g->bare[g->members.n - 1] = 0;
    hostname_literal(m->name, len, &m->addr);
    m->line = e->at.line;
}

static int refuse_repeat(struct gather *g, const struct member *m,
                         const struct entry *e, struct err *err)
{
    if (g->rules->repeat == GATHER_REFUSE)
        return place_fail(&e->at, 0, "HF_DUP_COUNT", err,
                          "%s stands on line %u already: %s takes each host once",
                          m->name, m->line, g->rules->tool);
    return place_fail(&e->at, 0, "HF_DUP_COUNT", err,
                      "%s stands on line %u already: give its slots once, on one line "
                      "(dialect hydra adds them up)",
                      m->name, m->line);
}

static int add_slots(struct gather *g, struct member *m, bool again,
                     const struct entry *e, struct err *err)
{
    int *bare = &g->bare[m - g->members.v];
    bool adds =
        g->rules->repeat == GATHER_ADJACENT || g->rules->repeat == GATHER_ADD_UP;
    if (again && !adds &&
        (e->count >= 0 || *bare == 0 || g->rules->repeat == GATHER_REFUSE))
        return refuse_repeat(g, m, e, err);
    *bare += e->count < 0 ? 1 : 0;
    int count = e->count >= 0 ? e->count : g->rules->bare;
    if (!again)
        m->slots = count;
    else if (!adds)
        m->slots = *bare;
    else
        m->slots = (m->slots < 0 ? 1 : m->slots) + (count < 0 ? 1 : count);
    if (m->slots <= HOSTWORD_SLOTS_MAX)
        return 0;
    return place_fail(&e->at, 0, "HF_BAD_COUNT", err,
                      "%s has more than %d slots in all", m->name, HOSTWORD_SLOTS_MAX);
}

// `word`: the host as the text has it; `name`: what it stands for.
static void note_word(struct gather *g, const char *name, size_t len,
                      const struct entry *e)
{
    struct gather_words *w = g->words;
    const struct hostword *host = e->word;
    if (w == NULL || strncasecmp(w->name, name, len) != 0 || w->name[len] != '\0')
        return;
    if (w->n == w->cap) {
        w->cap = w->cap > 0 ? w->cap * 2 : 4;
        w->v = xrealloc(w->v, w->cap, sizeof *w->v);
    }
    size_t bracket = host->bracketed ? 1 : 0;
    struct gather_word *one = &w->v[w->n++];
    *one = (struct gather_word){.s = host->host - bracket,
                                .len = host->host_len + 2 * bracket,
                                .at = e->at,
                                .range = name != host->host};
    one->at.column += host->user != NULL ? host->user_len + 1 : 0;
}

static int take_host(struct gather *g, const char *name, size_t len,
                     const struct entry *e, struct err *err)
{
    bool absolute = len > 1 && name[len - 1] == '.';
    len -= absolute ? 1 : 0;
    bool added = false;
    struct member *m = take_member(g, name, len, &added);
    if (g->members.n > GATHER_MEMBERS_MAX)
        return place_fail(&e->at, 0, "HF_TOO_MANY", err, "more than %d hosts",
                          GATHER_MEMBERS_MAX);
    if (added)
        set_up(g, m, len, e);
    note_word(g, name, len, e);
    m->absolute = m->absolute || absolute;
    g->seen |= added ? 0 : GATHER_AGAIN;
    if (add_slots(g, m, !added, e, err) < 0)
        return -1;
    m->max_slots = e->keys->max_slots;
    return take_user(m, e, err) < 0 ? -1 : take_port(m, e, err);
}

// ---- one word -----------------------------------------------------------------

static int refuse_form(const struct gather *g, const struct place *at, size_t offset,
                       const char *kind, const char *what, struct err *err)
{
    return place_fail(at, offset, kind, err, "%s means nothing to %s: %s", what,
                      g->rules->tool, g->rules->instead);
}

static int check_forms(struct gather *g, const char *word, const struct hostword *w,
                       const struct place *at, struct err *err)
{
    unsigned forms = g->rules->forms, seen = 0;
    seen |= w->user != NULL ? GATHER_USER : 0;
    seen |= w->count >= 0 ? GATHER_COLON : 0;
    seen |=
        !w->literal6 && memchr(w->host, '[', w->host_len) != NULL ? GATHER_RANGE : 0;
    g->seen |= seen;
    if ((seen & ~forms) == 0)
        return 0;
    if ((seen & ~forms & GATHER_USER) != 0)
        return refuse_form(g, at, 0, "HF_SYNTAX", "USER@", err);
    size_t offset = (size_t)(w->host - word);
    if ((seen & ~forms & GATHER_RANGE) != 0)
        return refuse_form(g, at, offset, "HF_SYNTAX", "a range in brackets", err);
    CLEANUP_FREE char *what = xasprintf(":%d", w->count);
    return refuse_form(g, at, offset + w->host_len, "HF_SYNTAX", what, err);
}

static int settle_count(struct gather *g, struct entry *e, struct err *err)
{
    const struct linekeys *k = e->keys;
    if (e->word->count >= 0 && k->slots >= 0)
        return place_fail(&e->at, 0, "HF_DUP_COUNT", err,
                          "the line gives a count twice: as :%d and as slots=%d",
                          e->word->count, k->slots);
    e->count = e->word->count >= 0 ? e->word->count : k->slots;
    if (e->count >= 0 && k->max_slots >= 0 && e->count > k->max_slots)
        return place_fail(&e->at, 0, "HF_BAD_COUNT", err,
                          "%d slots are more than max_slots=%d", e->count,
                          k->max_slots);
    if (e->count < 0)
        e->count = k->max_slots;
    if (e->count < 0 && (g->rules->forms & GATHER_COUNTED) != 0)
        return refuse_form(g, &e->at, 0, "HF_SYNTAX", "a host without a count", err);
    if (e->count < 0 && (g->seen & GATHER_BARE) == 0)
        g->mixed = e->at;
    g->seen |= e->count < 0 ? GATHER_BARE : 0;
    if (e->word->user != NULL && k->user != NULL)
        return place_fail(&e->at, 0, "HF_SYNTAX", err,
                          "the line names a user twice: with '@' and with user=");
    return 0;
}

// "+n3", "+e": counts from another list.
static bool is_relative(const struct gather *g, const struct hostword *w)
{
    return (g->rules->forms & GATHER_RELATIVE) != 0 && w->host_len > 1 &&
           w->host[0] == '+' &&
           ((w->host[1] == 'n' &&
             hostword_number(w->host + 2, w->host_len - 2, GATHER_MEMBERS_MAX) >= 0) ||
            (w->host[1] == 'e' && w->host_len == 2));
}

// The hosts that a word stands for.
static int take_names(struct gather *g, const char *word, const struct entry *e,
                      struct err *err)
{
    const struct hostword *w = e->word;
    STRV_AUTO names = STRV_INIT;
    if (w->literal6 || memchr(w->host, '[', w->host_len) == NULL) {
        struct place at = e->at;
        at.column += (size_t)(w->host - word);
        members_expect(&g->members, w->host, w->host_len);
        if (!is_relative(g, w) && hostname_check(w->host, w->host_len, &at, err) < 0)
            return -1;
        return take_host(g, w->host, w->host_len, e, err);
    }
    if (hostword_names(w, word, &e->at, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (take_host(g, names.v[i], strlen(names.v[i]), e, err) < 0)
            return -1;
    return 0;
}

static int take_word(struct gather *g, const char *word, size_t len,
                     const struct place *at, const struct linekeys *keys,
                     struct err *err)
{
    struct hostword w;
    struct entry e = {.at = *at, .word = &w, .keys = keys};
    if (hostword_parse(word, len, at, &w, err) < 0 ||
        (!is_relative(g, &w) && check_forms(g, word, &w, at, err) < 0) ||
        settle_count(g, &e, err) < 0)
        return -1;
    if (w.ambiguous && e.count < 0)
        warn(g, at,
             "the whole word is an IPv6 address; with a count it is [ADDRESS]:N");
    return take_names(g, word, &e, err);
}

static int take_list(struct gather *g, const char *list, size_t len,
                     const struct place *at, const struct linekeys *keys,
                     struct err *err)
{
    bool one = (g->rules->forms & GATHER_COMMA) == 0;
    for (size_t i = 0; i <= len; i++) {
        struct place here = *at;
        here.column += i;
        size_t item = ranges_item(list + i, len - i);
        if (item < len - i && one)
            return refuse_form(g, &here, item, "HF_BAD_NAME", "a list with ','", err);
        g->seen |= item < len - i ? GATHER_COMMA : 0;
        if (item == 0)
            return place_fail(&here, 0, "HF_SYNTAX", err,
                              "a host name is missing beside ','");
        if (take_word(g, list + i, item, &here, keys, err) < 0)
            return -1;
        i += item;
    }
    return 0;
}

// ---- hosts left out -------------------------------------------------------------

static int exclude(struct gather *g, const char *word, size_t len,
                   const struct place *at, struct err *err)
{
    struct hostword w;
    STRV_AUTO names = STRV_INIT;
    if (hostword_parse(word, len, at, &w, err) < 0)
        return -1;
    if (w.count >= 0 || w.user != NULL)
        return place_fail(at, 0, "HF_SYNTAX", err,
                          "'^' leaves a host out: only its name may follow");
    if (hostword_names(&w, word, at, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        size_t n = strlen(names.v[i]);
        n -= n > 1 && names.v[i][n - 1] == '.' ? 1 : 0;
        members_add(&g->excluded, names.v[i], n)->line = at->line;
    }
    return 0;
}

static int take_exclusion(struct gather *g, const struct textline *l, size_t word,
                          struct err *err)
{
    if ((g->rules->forms & GATHER_CARET) == 0)
        return refuse_form(g, &l->at, 0, "HF_SYNTAX", "'^' (a host left out)", err);
    if (word < l->len)
        return place_fail(&l->at, 0, "HF_SYNTAX", err,
                          "'^' leaves hosts out: no key may follow the names");
    g->seen |= GATHER_CARET;
    for (size_t i = 1; i <= word; i++) {
        struct place here = l->at;
        here.column += i;
        size_t item = ranges_item(l->s + i, word - i);
        if (item == 0)
            return place_fail(&here, 0, "HF_SYNTAX", err,
                              "a host name is missing behind '%c'", l->s[i - 1]);
        if (exclude(g, l->s + i, item, &here, err) < 0)
            return -1;
        i += item;
    }
    return 0;
}

static void apply_exclusions(struct gather *g)
{
    struct members *all = &g->members;
    if (g->excluded.n == 0)
        return;
    CLEANUP_FREE bool *keep = xmalloc(all->n + 1);
    memset(keep, true, all->n + 1);
    for (size_t i = 0; i < g->excluded.n; i++) {
        const struct member *x = &g->excluded.v[i];
        long found = members_find(all, x->name, strlen(x->name));
        if (found >= 0) {
            keep[found] = false;
            continue;
        }
        struct place at = {.file = g->file, .line = x->line, .column = 1};
        CLEANUP_FREE char *text = xasprintf("^%s leaves nothing out", x->name);
        warn(g, &at, text);
    }
    members_keep(all, keep);
}

// ---- lines ----------------------------------------------------------------------

int gather_list(struct gather *g, const char *list, size_t len, const struct place *at,
                struct err *err)
{
    static const struct linekeys none = {.slots = -1, .max_slots = -1, .port = -1};
    return take_list(g, list, len, at, &none, err);
}

static int take_words(struct gather *g, const struct textline *l, struct err *err)
{
    for (size_t i = 0; i < l->len; i = textlines_skip(l->s, l->len, i)) {
        size_t word = textlines_word(l->s + i, l->len - i);
        struct place at = l->at;
        at.column += i;
        if (memchr(l->s + i, '=', word) != NULL)
            return refuse_form(g, &at, 0, "HF_SYNTAX", "KEY=VALUE", err);
        if (gather_list(g, l->s + i, word, &at, err) < 0)
            return -1;
        i += word;
    }
    return 0;
}

int gather_line(struct gather *g, const struct textline *l, struct err *err)
{
    size_t word = textlines_word(l->s, l->len);
    struct linekeys keys;
    struct place behind = l->at;
    if (l->s[0] == '^')
        return take_exclusion(g, l, word, err);
    if ((g->rules->forms & GATHER_WORDS) != 0)
        return take_words(g, l, err);
    if (l->s[0] == '=' || (word < l->len && memchr(l->s, '=', word) != NULL))
        return hostname_check(l->s, word, &l->at, err);
    behind.column += word;
    if (linekeys_parse(l->s + word, l->len - word, &behind, g->rules->keys, &keys,
                       err) < 0)
        return -1;
    g->seen |= word < l->len ? GATHER_SLOTS : 0;
    if (keys.binding)
        warn(g, &l->at, "binding= is not carried over: ranks are not bound by it");
    return take_list(g, l->s, word, &l->at, &keys, err);
}

// Bare hosts beside name:N and no key: one slot in Hydra's eyes, not given in others'.
static void tell_of_mixture(struct gather *g)
{
    unsigned both = GATHER_BARE | GATHER_COLON;
    if (g->rules->repeat != GATHER_COUNT_BARE ||
        (g->seen & (both | GATHER_SLOTS)) != both)
        return;
    warn(g, &g->mixed,
         "no count here, though others have one (name:N): taken as not given; MPICH "
         "takes 1 (dialect hydra)");
}

int gather_finish(struct gather *g, const char *self, struct members *out,
                  struct err *err)
{
    apply_exclusions(g);
    tell_of_mixture(g);
    if (g->members.n == 0) {
        err_set_kind(err, "HF_EMPTY", 0,
                     "%s: HF_EMPTY: the file names no host%s: write one a line, such "
                     "as \"node-0 slots=8\"",
                     g->file,
                     g->excluded.n > 0 ? " that is not left out with '^'" : "");
        return -1;
    }
    if (localhost_replace(&g->members, self, g->file, err) < 0)
        return -1;
    members_move(out, &g->members);
    return 0;
}
