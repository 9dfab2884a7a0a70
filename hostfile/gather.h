// What the readers of all dialects share: lines of hosts gathered into members by rules.
//
// A dialect is mostly a set of rules: which forms of a word and which keys it knows, and
// what a host that is listed again means. What the rules do not know is refused with a
// hint, also where the dialect's own tool would pass over it without a word.
#ifndef MUSTER_HOSTFILE_GATHER_H
#define MUSTER_HOSTFILE_GATHER_H

#include "common/err.h"
#include "hostfile/members.h"
#include "hostfile/place.h"
#include "hostfile/textlines.h"

enum { GATHER_MEMBERS_MAX = 4000000 };

enum gather_forms {
    GATHER_USER = 1,       // user@name
    GATHER_COLON = 2,      // name:4
    GATHER_COMMA = 4,      // a,b
    GATHER_RANGE = 8,      // node[01-16]
    GATHER_CARET = 16,     // ^name leaves a host out
    GATHER_WORDS = 32,     // a line holds any number of words, and no keys
    GATHER_COUNTED = 64,   // each host needs a count
    GATHER_RELATIVE = 128, // +n1, +e:2: hosts of another list (a filter)
    // Seen only, in gather_seen():
    GATHER_SLOTS = 256, // slots=4 or another key
    GATHER_BARE = 512,  // a host without a count
    GATHER_AGAIN = 1024 // a host that was listed before
};

enum gather_repeat {
    GATHER_COUNT_BARE, // bare n times: n slots; with a count: HF_DUP_COUNT (Open MPI)
    GATHER_REFUSE,     // HF_DUP_COUNT (DeepSpeed)
    GATHER_ADD_UP,     // slots add up (a list on the command line)
    GATHER_ADJACENT,   // next to each other: slots add up; else a member more (Hydra)
    GATHER_KEEP,       // a member more (Horovod, pdsh)
};

struct gather_rules {
    const char *tool; // "Open MPI", for texts
    unsigned forms;   // enum gather_forms
    unsigned keys;    // enum linekeys_mask
    enum gather_repeat repeat;
    int bare;            // slots of a host without a count, -1: not given
    const char *instead; // what to do about a form that is not known
};

struct gather;

// A word of the text that names a host.
struct gather_word {
    const char *s; // slice of the text: the host with its brackets, no user, no count
    size_t len;
    struct place at; // of s
    bool range;      // the host is one of several that it stands for
};

// The words that name one host.
struct gather_words {
    const char *name; // borrowed
    struct gather_word *v;
    size_t n, cap;
};

// `file` and `rules` are borrowed.
struct gather *gather_create(const char *file, const struct gather_rules *rules);
void gather_destroy(struct gather *g); // NULL-safe
// Where warnings of textlines go.
struct strv *gather_warnings(struct gather *g);
// Collects the words that name words->name, from now on.
void gather_watch(struct gather *g, struct gather_words *words);
void gather_words_free(struct gather_words *words);
// One line. Errors: HF_SYNTAX, HF_BAD_NAME, HF_BAD_COUNT, HF_DUP_COUNT, HF_CONFLICT,
// HF_UNKNOWN_KEY, HF_BAD_PORT, HF_RELATIVE_IN_ALLOC, HF_RANGE_TOO_BIG, HF_TOO_MANY.
int gather_line(struct gather *g, const struct textline *line, struct err *err);
// A comma list of hosts without keys; `at` is the place of its first byte.
int gather_list(struct gather *g, const char *list, size_t len, const struct place *at,
                struct err *err);
// Forms that were met so far: an or of enum gather_forms.
unsigned gather_seen(const struct gather *g);
// Moves the members to *out. Without any: HF_EMPTY. `self` as in localhost_replace().
int gather_finish(struct gather *g, const char *self, struct members *out,
                  struct err *err);

#endif
