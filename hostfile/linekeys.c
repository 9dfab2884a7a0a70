// Keys of a hostfile's line.
#include "hostfile/linekeys.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hostfile/hostname.h"
#include "hostfile/hostword.h"
#include "hostfile/near.h"

static const struct {
    const char *key;
    unsigned field; // of enum linekeys_mask; LINEKEYS_LOOSE: not the plain spelling
} keys[] = {
    {"slots", LINEKEYS_SLOTS},
    {"max_slots", LINEKEYS_MAX_SLOTS},
    {"port", LINEKEYS_PORT},
    {"user", LINEKEYS_USER},
    {"binding", LINEKEYS_BINDING},
    {"slot", LINEKEYS_SLOTS | LINEKEYS_LOOSE},
    {"count", LINEKEYS_SLOTS | LINEKEYS_LOOSE},
    {"cpu", LINEKEYS_SLOTS | LINEKEYS_LOOSE},
    {"cpus", LINEKEYS_SLOTS | LINEKEYS_LOOSE},
    {"max-slots", LINEKEYS_MAX_SLOTS | LINEKEYS_LOOSE},
    {"slots_max", LINEKEYS_MAX_SLOTS | LINEKEYS_LOOSE},
    {"slots-max", LINEKEYS_MAX_SLOTS | LINEKEYS_LOOSE},
    {"username", LINEKEYS_USERNAME},
    {"user-name", LINEKEYS_USERNAME | LINEKEYS_LOOSE},
    {"user_name", LINEKEYS_USERNAME | LINEKEYS_LOOSE},
};
enum { NKEYS = sizeof keys / sizeof *keys, KEY_MAX = 16, KNOWN_SIZE = 64 };

struct word {
    const char *s;
    size_t len;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_known(size_t i, unsigned known)
{
    return (keys[i].field & ~known) == 0;
}

// 0: none of those that are known.
static unsigned find_field(const struct word *key, unsigned known)
{
    for (size_t i = 0; i < NKEYS; i++)
        if (is_known(i, known) && strncmp(keys[i].key, key->s, key->len) == 0 &&
            keys[i].key[key->len] == '\0')
            return keys[i].field & ~(unsigned)LINEKEYS_LOOSE;
    return 0;
}

static const char *nearest(const struct word *key, unsigned known)
{
    enum { MOST = 2 };
    const char *near = NULL;
    size_t least = MOST + 1;
    for (size_t i = 0; i < NKEYS && key->len > 2 && key->len <= KEY_MAX; i++) {
        if (!is_known(i, known))
            continue;
        size_t d =
            near_distance(key->s, key->len, keys[i].key, strlen(keys[i].key), MOST);
        if (d < least) {
            least = d;
            near = keys[i].key;
        }
    }
    return near;
}

// "slots, max_slots, port, user"
static void list_known(unsigned known, char out[KNOWN_SIZE])
{
    size_t n = 0;
    for (size_t i = 0; i < NKEYS; i++)
        if (is_known(i, known) && (keys[i].field & LINEKEYS_LOOSE) == 0)
            n += (size_t)snprintf(out + n, KNOWN_SIZE - n, "%s%s", n > 0 ? ", " : "",
                                  keys[i].key);
}

static int unknown_key(const struct word *key, const struct place *at, size_t offset,
                       unsigned known, struct err *err)
{
    const char *near = nearest(key, known);
    char all[KNOWN_SIZE] = "none";
    list_known(known, all);
    if (find_field(key, ~0U) != 0)
        return place_fail(at, offset, "HF_UNKNOWN_KEY", err,
                          "the key '%.*s' is another dialect's (known here: %s)",
                          place_shown(key->len), key->s, all);
    return place_fail(at, offset, "HF_UNKNOWN_KEY", err,
                      "there is no key '%.*s'%s%s%s (known: %s)", place_shown(key->len),
                      key->s, near != NULL ? "; did you mean '" : "",
                      near != NULL ? near : "", near != NULL ? "'?" : "", all);
}

static size_t skip_blanks(const char *s, size_t len, size_t i)
{
    while (i < len && is_blank(s[i]))
        i++;
    return i;
}

static int set_count(int *slot, const struct word *key, const struct word *value,
                     const struct place *at, size_t offset, struct err *err)
{
    char what[KEY_MAX + 1] = "";
    memcpy(what, key->s, key->len);
    if (*slot >= 0)
        return place_fail(at, offset, "HF_DUP_COUNT", err,
                          "%s is given twice on one line", what);
    return hostword_count(value->s, value->len, what, at, offset, slot, err);
}

static int set_port(struct linekeys *out, const struct word *value,
                    const struct place *at, size_t offset, struct err *err)
{
    if (out->port >= 0)
        return place_fail(at, offset, "HF_SYNTAX", err,
                          "port is given twice on one line");
    out->port = (int)hostword_number(value->s, value->len, 65535);
    if (out->port > 0)
        return 0;
    return place_fail(at, offset, "HF_BAD_PORT", err,
                      "port is '%.*s', not a number from 1 to 65535",
                      place_shown(value->len), value->s);
}

static int set_user(struct linekeys *out, const struct word *value,
                    const struct place *at, size_t offset, struct err *err)
{
    if (out->user != NULL)
        return place_fail(at, offset, "HF_SYNTAX", err,
                          "user is given twice on one line");
    if (value->len == 0)
        return place_fail(at, offset, "HF_SYNTAX", err, "user has no name behind '='");
    out->user = value->s;
    out->user_len = value->len;
    return hostname_check_user(value->s, value->len, at, offset, err);
}

static int set_field(struct linekeys *out, const struct word *key,
                     const struct word *value, const struct place *at, size_t offset,
                     unsigned known, struct err *err)
{
    switch (find_field(key, known)) {
    case LINEKEYS_SLOTS: return set_count(&out->slots, key, value, at, offset, err);
    case LINEKEYS_MAX_SLOTS:
        return set_count(&out->max_slots, key, value, at, offset, err);
    case LINEKEYS_PORT: return set_port(out, value, at, offset, err);
    case LINEKEYS_USER:
    case LINEKEYS_USERNAME: return set_user(out, value, at, offset, err);
    case LINEKEYS_BINDING: out->binding = true; return 0;
    default: return unknown_key(key, at, offset, known, err);
    }
}

static int no_equals(const struct word *word, const struct place *at, size_t offset,
                     unsigned known, struct err *err)
{
    unsigned field = find_field(word, known);
    if (field == 0)
        return place_fail(at, offset, "HF_SYNTAX", err,
                          "'%.*s' is no KEY=VALUE: a line holds one host, or a list "
                          "with commas, then keys such as slots=4",
                          place_shown(word->len), word->s);
    return place_fail(at, offset,
                      (field & (LINEKEYS_SLOTS | LINEKEYS_MAX_SLOTS)) != 0
                          ? "HF_BAD_COUNT"
                          : "HF_SYNTAX",
                      err, "'%.*s' has no value: write %.*s=VALUE",
                      place_shown(word->len), word->s, place_shown(word->len), word->s);
}

int linekeys_parse(const char *text, size_t len, const struct place *at, unsigned known,
                   struct linekeys *out, struct err *err)
{
    bool loose = (known & LINEKEYS_LOOSE) != 0;
    *out = (struct linekeys){.slots = -1, .max_slots = -1, .port = -1};
    for (size_t i = skip_blanks(text, len, 0); i < len; i = skip_blanks(text, len, i)) {
        size_t start = i;
        while (i < len && text[i] != '=' && !is_blank(text[i]))
            i++;
        struct word key = {text + start, i - start};
        i = loose ? skip_blanks(text, len, i) : i;
        if (i == len || text[i] != '=')
            return no_equals(&key, at, start, known, err);
        i = loose ? skip_blanks(text, len, i + 1) : i + 1;
        struct word value = {text + i, 0};
        while (i < len && !is_blank(text[i]))
            i++;
        value.len = (size_t)(text + i - value.s);
        if (set_field(out, &key, &value, at, start, known, err) < 0)
            return -1;
    }
    return 0;
}
