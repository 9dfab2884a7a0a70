// libFuzzer target for what a launcher makes of its predecessor's record: who sat where, and which
// restarts it had. The input is the record as an agent sends it.
#include <string.h>

#include "common/mem.h"
#include "demand.h"
#include "launcher/policy.h"
#include "launcher/spares.h"
#include "wire/claim.h"
#include "wire/msg.h"

enum { MEMBERS = 4, POSITIONS = 3, MAX_RESTARTS = 2, NOW_MS = 1000 };

static void check_distinct(const uint32_t *seats, size_t n, bool all)
{
    bool taken[MEMBERS] = {false};
    for (size_t i = 0; i < n; i++) {
        if (seats[i] == UINT32_MAX && !all)
            continue;
        demand(seats[i] < MEMBERS, "there is no such member");
        demand(!taken[seats[i]], "a member has two positions");
        taken[seats[i]] = true;
    }
}

static void inherit_seats(const Muster__Progress *p)
{
    static const struct claim_member members[MEMBERS] = {
        {"train-0", (const uint8_t *)"0123456789abcdef"},
        {"train-1", NULL},
        {"train-2", (const uint8_t *)"fedcba9876543210"},
        {"train-3", NULL},
    };
    static const struct spares_member there[MEMBERS] = {{.there = true, .slots = 2},
                                                        {.slots = 2},
                                                        {.there = true, .slots = 1},
                                                        {.slots = 2}};
    static const uint32_t needs[POSITIONS] = {2, 2, 1};
    uint32_t seats[POSITIONS] = {0, 1, 2};
    CLEANUP_FREE uint32_t *found = xcalloc(p->n_positions + 1, sizeof *found);
    claim_seats_find(p->positions, (uint32_t)p->n_positions, members, MEMBERS, found);
    check_distinct(found, p->n_positions, false);
    if (p->n_positions != POSITIONS)
        return;
    spares_inherit(there, MEMBERS, seats, found, needs, POSITIONS);
    check_distinct(seats, POSITIONS, true);
    for (size_t i = 0; i < POSITIONS; i++)
        demand(there[seats[i]].slots >= needs[i], "a position has too few slots");
}

// Whatever it had, it has no more restarts than this launcher allows, and each costs one.
static void inherit_budget(const Muster__Budget *b)
{
    const struct policy_conf conf = {.on_failure = POLICY_RESTART,
                                     .max_restarts = MAX_RESTARTS,
                                     .window_ms = 60000,
                                     .healthy_ms = 10000,
                                     .same_failures = 3};
    const struct policy_past past = {.ago_ms = b->restarts_ms,
                                     .n = (uint32_t)b->n_restarts_ms,
                                     .quick = b->quick,
                                     .same = b->same,
                                     .rank = (long)b->rank,
                                     .code = b->code};
    const struct policy_failure f = {.now_ms = NOW_MS, .rank = -1, .code = 125};
    struct policy *p = policy_create(&conf);
    struct policy_past now;
    policy_restore(p, NOW_MS, &past);
    for (int i = 0; i <= MAX_RESTARTS; i++) {
        ERR_AUTO why = ERR_INIT;
        uint32_t pause = 0;
        bool again = policy_judge(p, &f, &pause, &why);
        demand(again || why.text != NULL, "it ends, and does not say why");
        demand(pause <= POLICY_PAUSE_MAX_MS, "a pause without end");
        demand(!again || i < MAX_RESTARTS, "more restarts than are allowed");
        policy_save(p, NOW_MS, &now);
        demand(now.n <= MAX_RESTARTS, "it remembers too many");
        free(now.ago_ms);
    }
    policy_destroy(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct frame f = {.kind = FRAME_RECORD, .body = data, .len = size};
    Muster__Record *m = msg_unpack(&f, &muster__record__descriptor, NULL);
    if (m != NULL && m->progress != NULL) {
        inherit_seats(m->progress);
        if (m->progress->account != NULL && m->progress->account->budget != NULL)
            inherit_budget(m->progress->account->budget);
    }
    msg_free(m);
    return 0;
}
