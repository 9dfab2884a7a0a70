// The inside of the source of fixed names (source_impl.h), for hostfile/source_list*.c only.
#ifndef MUSTER_HOSTFILE_SOURCE_LIST_IMPL_H
#define MUSTER_HOSTFILE_SOURCE_LIST_IMPL_H

#include "hostfile/belief.h"
#include "hostfile/kin.h"
#include "hostfile/source_impl.h"

// A member that is a name.
struct item {
    struct source_list *list;
    size_t i;            // of the member
    struct house *house; // whose Service it hangs on, NULL: none
    struct belief belief;
    char *why;      // it has no address
    unsigned round; // in which DNS confirmed its address
    bool ask;       // in the next round
    bool asking;    // in this one
    bool stands;    // its address was reported
    bool doubtful;  // another member has it, or it is of another family: not reported
};

// A Service behind several names.
struct house {
    struct source_list *list;
    struct kin *kin;
    char *why;      // its newest failure
    bool quiet;     // it was not asked in this round: each name is
    unsigned turns; // rounds while all is well
};

struct source_list {
    struct source_env *env;
    struct resolver *resolver;
    enum names_kind kind;
    enum resolver_family family;
    struct members members; // as they are reported
    struct item *items;     // of the members that are names
    size_t nitems;
    size_t *item_of; // of each member: index in items, or ..._NO_ITEM
    struct house *houses;
    size_t nhouses;
    struct event *timer;
    struct source_pace pace;
    uint64_t due;      // of the timer, 0: not armed
    uint64_t poll_due; // of names that have an address
    unsigned round;
    unsigned unclear; // rounds in a row with twins, or with two families
    size_t pending;   // questions of this round without an answer, and one while asking
    char *trouble;    // of this round: the first answer without an address
    bool whole;       // every member had an address once, each its own
    bool calm;        // nothing was missing or in doubt at the end of the newest round
    bool failed;      // nothing more comes
};

#define SOURCE_LIST_NO_ITEM SIZE_MAX

// A round's questions (source_list.c).
void source_list_ask(struct item *item);
void source_list_count(struct source_list *l, const struct resolver_result *r);
void source_list_end_question(struct source_list *l);
// NULL: the member is a literal.
struct item *source_list_item(const struct source_list *l, size_t member);
// *to is owned; text may be NULL.
void source_list_set_text(char **to, const char *text);

// The Services behind the names (source_list_houses.c). `poll`: known names are asked, too,
// where they have nothing to do with their Service.
void source_list_make_houses(struct source_list *l);
void source_list_ask_houses(struct source_list *l, bool poll);
void source_list_settle_houses(struct source_list *l);
void source_list_free_houses(struct source_list *l);

// Who has which address, and whether that can be (source_list_claims.c). False after
// failed() was called, which may have destroyed us.
bool source_list_check_claims(struct source_list *l);

#endif
