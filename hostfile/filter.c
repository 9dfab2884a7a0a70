// Filters of members.
#include "hostfile/filter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/hostword.h"
#include "hostfile/place.h"

enum { CANDIDATES_SHOWN = 4 };

// What was chosen of a member.
struct pick {
    bool named, whole;
    bool *ids; // slot_ids that were named, `n` long; owned
    size_t n;
};

// ---- finding --------------------------------------------------------------------

static bool begins(const struct member *m, const char *name, size_t len)
{
    return m->addr.ss_family == 0 && strncasecmp(m->name, name, len) == 0 &&
           m->name[len] == '.';
}

static long find_short(const struct members *m, const char *name, size_t len,
                       const struct place *at, struct err *err)
{
    long found = -1;
    size_t n = 0;
    BUF_AUTO all = BUF_INIT;
    for (size_t i = 0; i < m->n; i++) {
        if (!begins(&m->v[i], name, len))
            continue;
        found = (long)i;
        if (n++ < CANDIDATES_SHOWN)
            buf_printf(&all, "%s%s", n > 1 ? ", " : "", m->v[i].name);
    }
    if (n == 1)
        return found;
    if (n == 0)
        return place_fail(at, 0, "HF_NO_SUCH_HOST", err,
                          "there is no host '%.*s' in the list", place_shown(len),
                          name);
    CLEANUP_FREE char *shown = buf_steal_str(&all);
    return place_fail(at, 0, "AMBIGUOUS_HOST", err,
                      "'%.*s' may be %s%s: write the whole name", place_shown(len),
                      name, shown, n > CANDIDATES_SHOWN ? ", ..." : "");
}

long filter_find(const struct members *m, const char *name, size_t len,
                 const struct place *at, struct err *err)
{
    if (len > 1 && name[0] == '+' && name[1] == 'n') {
        long k = hostword_number(name + 2, len - 2, 1L << 30);
        if (k >= 0 && (size_t)k < m->n)
            return k;
        return place_fail(at, 0, "HF_NO_SUCH_HOST", err,
                          "there is no host '%.*s': the list has +n0 to +n%zu",
                          place_shown(len), name, m->n - 1);
    }
    len -= len > 1 && name[len - 1] == '.' ? 1 : 0;
    long found = members_find(m, name, len);
    return found >= 0 ? found : find_short(m, name, len, at, err);
}

// ---- specs ----------------------------------------------------------------------

static int pick_slot(struct pick *p, const struct member *m, const char *s, size_t len,
                     const struct place *at, struct err *err)
{
    long id = hostword_number(s, len, HOSTWORD_SLOTS_MAX - 1);
    if (id < 0)
        return place_fail(at, 0, "HF_BAD_SLOT", err,
                          "'%.*s' is no number of a slot: write %s:0,1",
                          place_shown(len), s, m->name);
    if (m->slots >= 0 && id >= m->slots)
        return place_fail(at, 0, "HF_BAD_SLOT", err,
                          "there is no slot %ld on %s: it has %d, from 0", id, m->name,
                          m->slots);
    if ((size_t)id >= p->n) {
        p->ids = xrealloc(p->ids, (size_t)id + 1, sizeof *p->ids);
        memset(p->ids + p->n, 0, (size_t)id + 1 - p->n);
        p->n = (size_t)id + 1;
    }
    p->ids[id] = true;
    return 0;
}

static int pick_slots(struct pick *p, const struct member *m, const char *s, size_t len,
                      struct place at, struct err *err)
{
    for (size_t i = 0; i <= len;) {
        const char *comma = memchr(s + i, ',', len - i);
        size_t item = comma != NULL ? (size_t)(comma - s) - i : len - i;
        struct place here = at;
        here.column += i;
        if (pick_slot(p, m, s + i, item, &here, err) < 0)
            return -1;
        i += item + 1;
    }
    return 0;
}

// One NAME[:SLOT,...]; NAME may be an IPv6 address in brackets.
static int pick_one(const struct members *m, struct pick *picks, const char *s,
                    size_t len, struct place at, struct err *err)
{
    bool bracket = len > 0 && s[0] == '[';
    const char *close = bracket ? memchr(s, ']', len) : NULL;
    size_t skip = close != NULL ? (size_t)(close - s) + 1 : 0;
    const char *colon = memchr(s + skip, ':', len - skip);
    size_t name = colon != NULL ? (size_t)(colon - s) : len;
    if (name == 0)
        return place_fail(&at, 0, "HF_SYNTAX", err,
                          "a host name is missing: write NAME[:SLOT,...][@NAME...]");
    long i = close != NULL && skip == name ? filter_find(m, s + 1, name - 2, &at, err)
                                           : filter_find(m, s, name, &at, err);
    if (i < 0)
        return -1;
    picks[i].named = true;
    picks[i].whole = picks[i].whole || colon == NULL;
    at.column += name + 1;
    return colon == NULL
               ? 0
               : pick_slots(&picks[i], &m->v[i], colon + 1, len - name - 1, at, err);
}

static int pick_all(const struct members *m, struct pick *picks, const char *spec,
                    const char *option, struct err *err)
{
    struct place at = {.file = option, .column = 1};
    size_t len = strlen(spec);
    if (place_check_bytes(&at, spec, len, err) < 0)
        return -1;
    for (size_t i = 0; i <= len;) {
        const char *sign = memchr(spec + i, '@', len - i);
        size_t item = sign != NULL ? (size_t)(sign - spec) - i : len - i;
        at.column = i + 1;
        if (pick_one(m, picks, spec + i, item, at, err) < 0)
            return -1;
        i += item + 1;
    }
    return 0;
}

// ---- applying -------------------------------------------------------------------

static void set_ids(struct member *m, struct pick *p)
{
    BUF_AUTO ids = BUF_INIT;
    int n = 0;
    for (size_t k = 0; k < p->n; k++)
        if (p->ids[k])
            buf_printf(&ids, "%s%zu", n++ > 0 ? "," : "", k);
    free(m->slot_ids);
    m->slot_ids = buf_steal_str(&ids);
    m->slots = n;
}

static int refuse_none(const char *by, struct err *err)
{
    err_set_kind(err, "HF_EMPTY", 0, "%s: HF_EMPTY: no host is left", by);
    return -1;
}

// The slots of `m` that were not named; false when none is left.
static bool turn(struct pick *p, const struct member *m)
{
    bool any = false;
    bool *left = xcalloc((size_t)m->slots + 1, sizeof *left);
    for (size_t k = 0; k < (size_t)m->slots; k++) {
        left[k] = k >= p->n || !p->ids[k];
        any = any || left[k];
    }
    free(p->ids);
    p->ids = left;
    p->n = (size_t)m->slots;
    return any;
}

static int refuse_unknown(const struct members *m, const struct pick *picks,
                          const char *option, struct err *err)
{
    for (size_t i = 0; i < m->n; i++)
        if (picks[i].named && !picks[i].whole && m->v[i].slots < 0) {
            err_set_kind(err, "HF_BAD_SLOT", 0,
                         "%s: HF_BAD_SLOT: %s has no count: give --slots N, so that it "
                         "is known which slots are left",
                         option, m->v[i].name);
            return -1;
        }
    return 0;
}

static int apply(struct members *m, struct pick *picks, bool exclude,
                 const char *option, struct err *err)
{
    CLEANUP_FREE bool *keep = xcalloc(m->n + 1, sizeof *keep);
    size_t left = 0;
    if (exclude && refuse_unknown(m, picks, option, err) < 0)
        return -1;
    for (size_t i = 0; i < m->n; i++) {
        struct pick *p = &picks[i];
        bool part = p->named && !p->whole;
        keep[i] = exclude ? !p->named || (part && turn(p, &m->v[i])) : p->named;
        left += keep[i] ? 1 : 0;
    }
    if (left == 0)
        return refuse_none(option, err);
    for (size_t i = 0; i < m->n; i++)
        if (keep[i] && picks[i].named && !picks[i].whole)
            set_ids(&m->v[i], &picks[i]);
    members_keep(m, keep);
    return 0;
}

static int choose(struct members *m, const char *spec, bool exclude, struct err *err)
{
    const char *option = exclude ? "--exclude" : "--include";
    size_t n = m->n;
    struct pick *picks = xcalloc(n + 1, sizeof *picks);
    int rc = pick_all(m, picks, spec, option, err);
    if (rc == 0)
        rc = apply(m, picks, exclude, option, err);
    for (size_t i = 0; i < n; i++)
        free(picks[i].ids);
    free(picks);
    return rc;
}

int filter_include(struct members *m, const char *spec, struct err *err)
{
    return choose(m, spec, false, err);
}

int filter_exclude(struct members *m, const char *spec, struct err *err)
{
    return choose(m, spec, true, err);
}

// ---- a list as the filter -------------------------------------------------------

static bool is_empty_hosts(const struct member *f)
{
    return strcmp(f->name, "+e") == 0;
}

// Counts chosen for each member; -2: not chosen, -1: its own.
static int take_named(const struct members *m, const struct member *f, int *counts,
                      const char *file, struct err *err)
{
    struct place at = {.file = file, .line = f->line, .column = 1};
    long i = filter_find(m, f->name, strlen(f->name), &at, err);
    if (i < 0)
        return -1;
    if (counts[i] != -2)
        return place_fail(&at, 0, "HF_DUP_COUNT", err, "%s is chosen twice",
                          m->v[i].name);
    if (f->slots >= 0 && m->v[i].slots >= 0 && f->slots > m->v[i].slots)
        return place_fail(&at, 0, "HF_BAD_COUNT", err,
                          "%d slots of %s are chosen, which has %d", f->slots,
                          m->v[i].name, m->v[i].slots);
    counts[i] = f->slots;
    return 0;
}

static void take_rest(const struct members *m, const struct member *f, int *counts)
{
    size_t left = f->slots >= 0 ? (size_t)f->slots : m->n;
    for (size_t i = 0; i < m->n && left > 0; i++)
        if (counts[i] == -2) {
            counts[i] = -1;
            left--;
        }
}

int filter_by_list(struct members *m, const struct members *list, const char *file,
                   struct err *err)
{
    CLEANUP_FREE int *counts = xcalloc(m->n + 1, sizeof *counts);
    CLEANUP_FREE bool *keep = xcalloc(m->n + 1, sizeof *keep);
    for (size_t i = 0; i < m->n; i++)
        counts[i] = -2;
    for (size_t k = 0; k < list->n; k++)
        if (!is_empty_hosts(&list->v[k]) &&
            take_named(m, &list->v[k], counts, file, err) < 0)
            return -1;
    for (size_t k = 0; k < list->n; k++)
        if (is_empty_hosts(&list->v[k]))
            take_rest(m, &list->v[k], counts);
    size_t left = 0;
    for (size_t i = 0; i < m->n; i++) {
        keep[i] = counts[i] != -2;
        left += keep[i] ? 1 : 0;
    }
    if (left == 0)
        return refuse_none(file, err);
    for (size_t i = 0; i < m->n; i++)
        m->v[i].slots = counts[i] >= 0 ? counts[i] : m->v[i].slots;
    members_keep(m, keep);
    return 0;
}
