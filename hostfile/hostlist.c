// Host lists of the command line.
#include "hostfile/hostlist.h"

#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/hostword.h"
#include "hostfile/localhost.h"
#include "hostfile/place.h"
#include "hostfile/ranges.h"

static int add_slots(struct member *m, int count, const struct place *at,
                     struct err *err)
{
    if (count < 0 || m->slots < 0) {
        m->slots = count >= 0 ? count : m->slots;
        return 0;
    }
    m->slots += count;
    if (m->slots <= HOSTWORD_SLOTS_MAX)
        return 0;
    return place_fail(at, 0, "HF_BAD_COUNT", err, "%s has more than %d slots in all",
                      m->name, HOSTWORD_SLOTS_MAX);
}

static int take_user(struct member *m, const struct hostword *w, const struct place *at,
                     struct err *err)
{
    if (w->user == NULL)
        return 0;
    if (m->user == NULL)
        m->user = xstrndup(w->user, w->user_len);
    if (strlen(m->user) == w->user_len && memcmp(m->user, w->user, w->user_len) == 0)
        return 0;
    return place_fail(at, 0, "HF_CONFLICT", err, "%s is listed with two users",
                      m->name);
}

static int take_host(struct members *to, const char *name, const struct hostword *w,
                     int bare, const struct place *at, struct err *err)
{
    size_t len = strlen(name);
    bool absolute = len > 1 && name[len - 1] == '.';
    len -= absolute ? 1 : 0;
    long found = members_find(to, name, len);
    struct member *m = found >= 0 ? to->v + found : members_add(to, name, len);
    if (found < 0)
        hostname_literal(m->name, len, &m->addr);
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what was found lies in to->v
    m->absolute = m->absolute || absolute;
    if (take_user(m, w, at, err) < 0)
        return -1;
    return add_slots(m, w->count >= 0 ? w->count : bare, at, err);
}

static int take_word(struct members *to, const char *word, size_t len, int bare,
                     const struct place *at, struct err *err)
{
    struct hostword w;
    STRV_AUTO names = STRV_INIT;
    if (hostword_parse(word, len, at, &w, err) < 0 ||
        hostword_names(&w, word, at, &names, err) < 0)
        return -1;
    if (w.ambiguous)
        strv_add_steal(&to->warnings,
                       place_warning(at, 0,
                                     "the whole word is an IPv6 address; with a "
                                     "count it is [ADDRESS]:N"));
    for (size_t i = 0; i < names.n; i++)
        if (take_host(to, names.v[i], &w, bare, at, err) < 0)
            return -1;
    return 0;
}

static int read_list(struct members *to, const char *text, int bare, struct place at,
                     struct err *err)
{
    size_t len = strlen(text);
    if (len == 0)
        return place_fail(&at, 0, "HF_EMPTY", err, "the list names no host");
    if (place_check_bytes(&at, text, len, err) < 0)
        return -1;
    for (size_t i = 0; i <= len; i++) {
        size_t item = ranges_item(text + i, len - i);
        at.column = i + 1;
        if (item == 0)
            return place_fail(&at, 0, "HF_SYNTAX", err,
                              "a host name is missing beside ','");
        if (take_word(to, text + i, item, bare, &at, err) < 0)
            return -1;
        i += item;
    }
    return 0;
}

int hostlist_read(const char *text, const char *option, int bare, const char *self,
                  struct members *out, struct err *err)
{
    MEMBERS_AUTO list = MEMBERS_INIT;
    struct place at = {.file = option, .column = 1};
    if (read_list(&list, text, bare, at, err) < 0 ||
        localhost_replace(&list, self, option, err) < 0)
        return -1;
    members_move(out, &list);
    return 0;
}
