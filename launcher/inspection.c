// The table of a member's inspection, and the rule.
#include "launcher/inspection.h"

#include <stddef.h>
#include <string.h>

#include "common/strv.h"

static const struct {
    enum inspection_state from;
    enum inspection_event event;
    enum inspection_state to;
} table[] = {
    {INSPECTION_UNKNOWN, INSPECTION_EV_ASKED, INSPECTION_ASKED},
    {INSPECTION_ASKED, INSPECTION_EV_PASSED, INSPECTION_FIT},
    {INSPECTION_ASKED, INSPECTION_EV_FAILED, INSPECTION_UNFIT},
    {INSPECTION_ASKED, INSPECTION_EV_LOST, INSPECTION_UNKNOWN},
    {INSPECTION_ASKED, INSPECTION_EV_RENEWED, INSPECTION_UNKNOWN},
    {INSPECTION_UNKNOWN, INSPECTION_EV_FAILED, INSPECTION_UNFIT},
    {INSPECTION_FIT, INSPECTION_EV_FAILED, INSPECTION_UNFIT},
    {INSPECTION_FIT, INSPECTION_EV_RENEWED, INSPECTION_UNKNOWN},
    {INSPECTION_FIT, INSPECTION_EV_PREPARED, INSPECTION_UNKNOWN},
    {INSPECTION_UNFIT, INSPECTION_EV_RENEWED, INSPECTION_UNKNOWN},
};

enum inspection_state inspection_next(enum inspection_state s, enum inspection_event ev)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == s && table[i].event == ev)
            return table[i].to;
    return s;
}

const char *inspection_state_name(enum inspection_state s)
{
    static const char *const names[INSPECTION_STATES] = {"unknown", "asked", "fit",
                                                         "unfit"};
    return names[s];
}

const char *inspection_event_name(enum inspection_event ev)
{
    static const char *const names[INSPECTION_EVENTS] = {
        "asked", "passed", "failed", "lost", "renewed", "prepared"};
    return names[ev];
}

bool inspection_is_due(unsigned when, bool first, const struct inspection_member *m)
{
    bool all = (when & INSPECTION_BEFORE) != 0 && (first || !m->seen);
    bool again = (when & INSPECTION_ON_FAILURE) != 0 && !first;
    bool fresh = (when & INSPECTION_REPLACEMENT) != 0 && m->renewed;
    return m->there && m->state == INSPECTION_UNKNOWN && (all || again || fresh);
}

static unsigned word(const char *text)
{
    return strcmp(text, "before") == 0        ? INSPECTION_BEFORE
           : strcmp(text, "on-failure") == 0  ? INSPECTION_ON_FAILURE
           : strcmp(text, "replacement") == 0 ? INSPECTION_REPLACEMENT
                                              : 0;
}

int inspection_parse(const char *text, unsigned *when, struct err *err)
{
    STRV_AUTO words = STRV_INIT;
    unsigned set = 0;
    strv_add_split(&words, text, ',');
    for (size_t i = 0; i < words.n; i++) {
        if (word(words.v[i]) == 0) {
            err_set(err, "'%s' is none of before, on-failure, replacement", words.v[i]);
            return -1;
        }
        set |= word(words.v[i]);
    }
    if (set == 0) {
        err_set(err, "say when: before, on-failure, replacement, or several of them "
                     "with commas");
        return -1;
    }
    *when = set;
    return 0;
}
