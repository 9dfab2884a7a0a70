// Keys of a hostfile's line.
#include "hostfile/linekeys.h"

#include <stdbool.h>
#include <string.h>

#include "hostfile/hostword.h"

enum field { SLOTS, MAX_SLOTS, PORT, USER, NONE };

static const struct {
    const char *key;
    enum field field;
} keys[] = {
    {"slots", SLOTS},         {"slot", SLOTS},          {"count", SLOTS},
    {"cpu", SLOTS},           {"cpus", SLOTS},          {"max_slots", MAX_SLOTS},
    {"max-slots", MAX_SLOTS}, {"slots_max", MAX_SLOTS}, {"slots-max", MAX_SLOTS},
    {"port", PORT},           {"user", USER},           {"username", USER},
    {"user-name", USER},      {"user_name", USER},
};
enum { NKEYS = sizeof keys / sizeof *keys, KEY_MAX = 16 };

struct word {
    const char *s;
    size_t len;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static enum field find_field(const struct word *key)
{
    for (size_t i = 0; i < NKEYS; i++)
        if (strlen(keys[i].key) == key->len &&
            memcmp(keys[i].key, key->s, key->len) == 0)
            return keys[i].field;
    return NONE;
}

// Edits that turn a into b (both short).
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[KEY_MAX + 1];
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + ((a[i - 1] | 32) == (b[j - 1] | 32) ? 0 : 1);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

static int unknown_key(const struct word *key, const struct place *at, size_t offset,
                       struct err *err)
{
    const char *near = NULL;
    size_t least = 3;
    for (size_t i = 0; i < NKEYS && key->len > 2 && key->len <= KEY_MAX; i++) {
        size_t d = distance(key->s, key->len, keys[i].key, strlen(keys[i].key));
        if (d < least) {
            least = d;
            near = keys[i].key;
        }
    }
    return place_fail(
        at, offset, "HF_UNKNOWN_KEY", err,
        "there is no key '%.*s'%s%s%s (known: slots, max_slots, port, user)",
        place_shown(key->len), key->s, near != NULL ? "; did you mean '" : "",
        near != NULL ? near : "", near != NULL ? "'?" : "");
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
    return 0;
}

static int set_field(struct linekeys *out, const struct word *key,
                     const struct word *value, const struct place *at, size_t offset,
                     struct err *err)
{
    switch (find_field(key)) {
    case SLOTS: return set_count(&out->slots, key, value, at, offset, err);
    case MAX_SLOTS: return set_count(&out->max_slots, key, value, at, offset, err);
    case PORT: return set_port(out, value, at, offset, err);
    case USER: return set_user(out, value, at, offset, err);
    case NONE: break;
    }
    return unknown_key(key, at, offset, err);
}

static size_t skip_blanks(const char *s, size_t len, size_t i)
{
    while (i < len && is_blank(s[i]))
        i++;
    return i;
}

static int no_equals(const struct word *word, const struct place *at, size_t offset,
                     struct err *err)
{
    if (find_field(word) == NONE)
        return place_fail(at, offset, "HF_SYNTAX", err,
                          "'%.*s' is no KEY=VALUE: a line holds one host, or a list "
                          "with commas, then keys such as slots=4",
                          place_shown(word->len), word->s);
    return place_fail(at, offset,
                      find_field(word) <= MAX_SLOTS ? "HF_BAD_COUNT" : "HF_SYNTAX", err,
                      "'%.*s' has no value: write %.*s=VALUE", place_shown(word->len),
                      word->s, place_shown(word->len), word->s);
}

int linekeys_parse(const char *text, size_t len, const struct place *at,
                   struct linekeys *out, struct err *err)
{
    *out = (struct linekeys){.slots = -1, .max_slots = -1, .port = -1};
    for (size_t i = skip_blanks(text, len, 0); i < len; i = skip_blanks(text, len, i)) {
        size_t start = i;
        while (i < len && text[i] != '=' && !is_blank(text[i]))
            i++;
        struct word key = {text + start, i - start};
        i = skip_blanks(text, len, i);
        if (i == len || text[i] != '=')
            return no_equals(&key, at, start, err);
        i = skip_blanks(text, len, i + 1);
        struct word value = {text + i, 0};
        while (i < len && !is_blank(text[i]))
            i++;
        value.len = (size_t)(text + i - value.s);
        if (set_field(out, &key, &value, at, start, err) < 0)
            return -1;
    }
    return 0;
}
