// Changing one word of a hostfile.
#include "hostfile/rewrite.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/filter.h"
#include "hostfile/gather.h"
#include "hostfile/hostname.h"
#include "hostfile/mark.h"
#include "hostfile/near.h"

enum { NEAR_SHOWN = 4, NEAR_EDITS = 2, NEAR_LOOKED_AT = 100000 };

// ---- the address ------------------------------------------------------------------

int rewrite_check_address(const char *address, struct err *err)
{
    struct sockaddr_storage addr;
    struct place at = {.file = "--address", .column = 1};
    size_t len = strlen(address);
    const char *why = NULL;
    if (!hostname_literal(address, len, &addr))
        why = "it is no IPv4 or IPv6 address (names are not looked up here)";
    else if (hostname_is_loopback(&addr))
        why = "a loopback address leads every pod to itself";
    else if (hostname_check(address, len, &at, NULL) < 0)
        why = "it is not the address of one host";
    if (why == NULL)
        return 0;
    return place_fail(&at, 0, "HF_BAD_ADDRESS", err, "'%.*s': %s", place_shown(len),
                      address, why);
}

static int refuse_twin(const struct members *m, size_t i,
                       const struct sockaddr_storage *addr, const char *address,
                       const char *file, struct err *err)
{
    for (size_t k = 0; k < m->n; k++) {
        const struct member *other = &m->v[k];
        struct place at = {.file = file, .line = other->line, .column = 1};
        if (strcasecmp(other->name, m->v[i].name) == 0 || other->addr.ss_family == 0 ||
            addrset_compare(&other->addr, addr) != 0)
            continue;
        return place_fail(&at, 0, "HF_DUP_ADDRESS", err,
                          "%s is the address of another member already: nothing was "
                          "changed",
                          address);
    }
    return 0;
}

// ---- the member -------------------------------------------------------------------

static long find_by_address(const struct members *m, const char *member)
{
    struct sockaddr_storage addr;
    if (!hostname_literal(member, strlen(member), &addr))
        return -1;
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].addr.ss_family != 0 && addrset_compare(&m->v[i].addr, &addr) == 0)
            return (long)i;
    return -1;
}

static void tell_near(const struct members *m, const char *member, struct err *err)
{
    BUF_AUTO near = BUF_INIT;
    size_t shown = 0, len = strlen(member);
    for (size_t i = 0; i < m->n && i < NEAR_LOOKED_AT && shown < NEAR_SHOWN; i++) {
        const char *name = m->v[i].name;
        bool again = members_find(m, name, strlen(name)) != (long)i;
        if (!again &&
            near_distance(member, len, name, strlen(name), NEAR_EDITS) <= NEAR_EDITS)
            buf_printf(&near, "%s%s", shown++ > 0 ? ", " : "", name);
    }
    if (shown == 0)
        return;
    CLEANUP_FREE char *names = buf_steal_str(&near);
    CLEANUP_FREE char *before = xstrdup(err_text(err));
    err_set_kind(err, err->kind, err->code, "%s; near to it: %s", before, names);
}

static long find_member(const struct members *m, const char *file, const char *member,
                        struct err *err)
{
    struct place at = {.file = "MEMBER", .column = 1};
    long i = find_by_address(m, member);
    if (i < 0)
        i = filter_find(m, member, strlen(member), &at, err);
    if (i < 0 && strcmp(err->kind, "HF_NO_SUCH_HOST") == 0)
        tell_near(m, member, err);
    if (i < 0)
        err_prefix(err, "%s", file);
    return i;
}

// ---- the words --------------------------------------------------------------------

// What stands in the word's place: an IPv6 address keeps its brackets, and needs them
// where a count follows.
static void put_address(const struct gather_word *w, const char *end,
                        const char *address, struct buf *out)
{
    bool six = strchr(address, ':') != NULL;
    bool counted = w->s + w->len < end && w->s[w->len] == ':';
    bool brackets = six && (w->s[0] == '[' || counted);
    buf_printf(out, "%s%s%s", brackets ? "[" : "", address, brackets ? "]" : "");
}

static int put_text(const struct gather_words *words, const char *text, size_t len,
                    const char *address, struct buf *out, struct err *err)
{
    const char *from = text, *end = text + len;
    for (size_t k = 0; k < words->n; k++) {
        const struct gather_word *w = &words->v[k];
        if (w->range)
            return place_fail(&w->at, 0, "HF_CANNOT_WRITE", err,
                              "%s is one of %.*s: write the names out before one of "
                              "them can be changed (muster hostfile --to plain)",
                              words->name, place_shown(w->len), w->s);
        buf_append(out, from, (size_t)(w->s - from));
        put_address(w, end, address, out);
        from = w->s + w->len;
    }
    buf_append(out, from, (size_t)(end - from));
    return 0;
}

// ---- reading back -----------------------------------------------------------------

// The list as it has to be afterwards.
static void expect(struct members *want, const struct members *m, const char *name,
                   const char *address)
{
    members_copy(want, m);
    strv_free(&want->warnings);
    for (size_t i = 0; i < want->n; i++) {
        struct member *one = &want->v[i];
        if (strcasecmp(one->name, name) != 0)
            continue;
        hostname_literal(address, strlen(address), &one->addr);
        one->absolute = false;
    }
    members_rename(want, name, address);
}

// Would the dialect's own tool read a member of this name and address right?
static int check_tool(const struct dialect *as, const struct member *m, struct err *err)
{
    MEMBERS_AUTO one = MEMBERS_INIT;
    BUF_AUTO out = BUF_INIT;
    STRV_AUTO warnings = STRV_INIT;
    const struct dialect *writer = dialect_find(dialect_name(as), "", true, NULL);
    struct member *copy = members_add(&one, m->name, strlen(m->name));
    copy->addr = m->addr;
    copy->slots = m->slots;
    return writer == NULL ? 0 : dialect_write(writer, &one, &out, &warnings, err);
}

static int read_back(const struct dialect *d, const struct members *m, long i,
                     const char *file, const char *address, const struct rewrite *r,
                     struct err *err)
{
    MEMBERS_AUTO want = MEMBERS_INIT;
    MEMBERS_AUTO now = MEMBERS_INIT;
    const struct dialect *as;
    expect(&want, m, r->name, address);
    if (dialect_read(d, (const char *)buf_data(&r->text), buf_len(&r->text), file, NULL,
                     &now, &as, err) < 0)
        return -1;
    strv_free(&now.warnings);
    if (members_equal(&want, &now))
        return check_tool(as, &m->v[i], NULL) < 0 ? 0 : check_tool(as, &now.v[i], err);
    err_set_kind(err, "HF_CANNOT_WRITE", 0,
                 "%s: HF_CANNOT_WRITE: with %s in place of %s it would not read as the "
                 "same list with one member changed: change it by hand",
                 file, address, r->name);
    return -1;
}

// ---- all of it --------------------------------------------------------------------

static int change(const struct dialect *d, const char *text, size_t len,
                  const char *file, const struct members *m, long i,
                  const char *address, struct rewrite *out, struct err *err)
{
    struct gather_words words = {.name = out->name};
    int rc = dialect_words(d, text, len, file, &words, err);
    if (rc == 0)
        rc = put_text(&words, text, len, address, &out->text, err);
    out->places = words.n;
    gather_words_free(&words);
    out->changed = true;
    return rc < 0 ? -1 : read_back(d, m, i, file, address, out, err);
}

static int refuse_own(const char *text, size_t len, const char *file, struct err *err)
{
    if (!mark_is_there(text, len))
        return 0;
    err_set_kind(err, "HF_OWN_OUTPUT", 0,
                 "%s: HF_OWN_OUTPUT: muster-sidecar keeps this file and would write "
                 "over the change: change the one that it is made from",
                 file);
    return -1;
}

int rewrite_member(const struct dialect *d, const char *text, size_t len,
                   const char *file, const char *member, const char *address,
                   struct rewrite *out, struct err *err)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    struct sockaddr_storage addr;
    *out = (struct rewrite){0};
    if (rewrite_check_address(address, err) < 0 ||
        refuse_own(text, len, file, err) < 0 ||
        dialect_read(d, text, len, file, NULL, &m, NULL, err) < 0)
        return -1;
    long i = find_member(&m, file, member, err);
    if (i < 0)
        return -1;
    out->name = xstrdup(m.v[i].name);
    hostname_literal(address, strlen(address), &addr);
    if (m.v[i].addr.ss_family != 0 && addrset_compare(&m.v[i].addr, &addr) == 0)
        return 0;
    int rc = refuse_twin(&m, (size_t)i, &addr, address, file, err);
    if (rc == 0)
        rc = change(d, text, len, file, &m, i, address, out, err);
    if (rc < 0)
        rewrite_free(out);
    return rc;
}

void rewrite_free(struct rewrite *r)
{
    free(r->name);
    buf_free(&r->text);
    *r = (struct rewrite){0};
}
