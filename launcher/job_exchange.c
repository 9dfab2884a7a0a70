// Lost inner vertices get a member that is there (exchange.h), before the next attempt.
//
// No rank of this launcher runs in MUSTER, nor before its claim is made, so a member can change
// its vertex then as it does when it was lost and is back: the newer ATTACH wins, the
// session before gives way. Ranks of a launcher before are in a session of its own, which only
// a claim touches; who sat where is told by name and agent, and never by vertex.
// Without spares the lost member has to come back in any case, and nobody moves; but in
// CONNECT nobody knows yet who is one.
#include <stdlib.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/ownaddr.h"
#include "launcher/exchange.h"
#include "launcher/job_internal.h"

// There are members to exchange. (Before all are mapped nobody has a position.)
static bool has_choice(const struct job *j)
{
    return j->map.npositions < j->group.n && j->tree.fanout < j->group.n;
}

// It does not command yet.
static bool is_early(const struct job *j)
{
    return j->state == JOB_CONNECT || j->state == JOB_CLAIM;
}

static bool is_due(const struct job *j)
{
    return (j->state == JOB_MUSTER || (is_early(j) && job_claim_lacks(j))) &&
           has_choice(j);
}

// A member that is this machine may have no sshd (job_connect.c).
static bool is_here(const struct job *j, uint32_t member)
{
    return j->local_agent > 0 && j->via != NULL &&
           ownaddr_is_own(&j->group.v[member].member->addr);
}

// Who leaves (an operator's order, or its agent ends) shall have nobody below it. Who has no
// address cannot be dialed anywhere.
static enum exchange_state state_of(const struct job *j, uint32_t member)
{
    const struct group_member *m = &j->group.v[member];
    if (m->state != GROUP_ATTACHED)
        return m->hidden && m->address[0] != '\0' ? EXCHANGE_HIDDEN : EXCHANGE_LOST;
    return j->at->seats[member].leaves ? EXCHANGE_LOST : EXCHANGE_THERE;
}

// A link that is broken may be about to be lost. Ranks' last words are lost with the session
// that they come through. Nobody goes to a lost one's vertex twice for one attempt: where none
// can be reached from above, that ends.
static bool stays(const struct job *j, uint32_t member, enum exchange_state state,
                  bool words)
{
    const struct job_seat *seat = &j->at->seats[member];
    bool there = j->group.v[member].state == GROUP_ATTACHED;
    if (is_here(j, member) || (there && job_roll_is_broken(j, member)) ||
        (there && words && (seat->hosts || seat->leaves)) ||
        (there && is_early(j) && job_claim_pins(j, member)))
        return true;
    return state != EXCHANGE_LOST && (seat->leaves || seat->exchanged);
}

static bool has_words(const struct job *j)
{
    return j->output != NULL && loop_now_ms() < j->last_words_ms &&
           !output_is_ended(j->output);
}

static void list_places(const struct job *j, struct exchange_place *v)
{
    bool words = has_words(j);
    for (uint32_t i = 0; i < j->group.n; i++) {
        struct exchange_place *p = &v[group_vertex_of(&j->group, i) - 1];
        p->state = state_of(j, i);
        p->spare = true;
        p->stays = stays(j, i, p->state, words);
    }
    for (uint32_t i = 0; i < j->map.npositions; i++)
        v[group_vertex_of(&j->group, j->map.positions[i].member) - 1].spare = false;
}

static void tell(const struct job *j, const struct group_member *lost,
                 const struct group_member *m)
{
    CLEANUP_FREE char *from = group_member_text(lost);
    CLEANUP_FREE char *to = group_member_text(m);
    log_info(j->conf.log, "member %s takes the place of %s in the tree of links", to,
             from);
    events_write(
        j->conf.events, "exchange",
        jsonpack("{s:s, s:s}", "member", m->member->name, "lost", lost->member->name));
}

// Nothing is known against it: it is dialed where it is now, by who is there now.
static void let_go(struct job *j, uint32_t vertex, const char *why)
{
    struct group_member *m = group_at(&j->group, vertex);
    if (!group_happens(m, GROUP_EV_MOVED))
        return;
    group_set_why(m, why);
    m->hidden = true;
    job_claim_lost(j, vertex);
}

static void exchange(struct job *j, uint32_t lost, uint32_t leaf)
{
    struct group_member *gone = group_at(&j->group, lost);
    struct group_member *m = group_at(&j->group, leaf);
    Muster__Member **told = j->attach->members, *moves = told[leaf - 1];
    CLEANUP_FREE char *why = xasprintf(
        "it is reached anew, as %s takes the place of %s in the tree of links",
        m->member->name, gone->member->name);
    tell(j, gone, m);
    let_go(j, leaf, why);
    m->hidden = true;
    job_seat(j, leaf)->exchanged = true;
    for (uint32_t v = lost; v <= j->group.n; v++)
        if (tree_contains(&j->tree, lost, v))
            let_go(j, v, why);
    told[leaf - 1] = told[lost - 1];
    told[lost - 1] = moves;
    group_exchange(&j->group, lost, leaf);
    job_return_exchange(j, leaf);
    job_return_exchange(j, lost);
}

void job_exchange(struct job *j)
{
    uint32_t lost = 0, leaf = 0;
    if (!is_due(j))
        return;
    CLEANUP_FREE struct exchange_place *v = xcalloc(j->group.n, sizeof *v);
    for (list_places(j, v); is_due(j) && exchange_find(&j->tree, v, &lost, &leaf);
         list_places(j, v))
        exchange(j, lost, leaf);
    if (j->state == JOB_MUSTER && has_words(j))
        loop_timer_arm(j->muster_timer, j->last_words_ms - loop_now_ms());
}

// Each of them has had its turn, and may have been out of reach just then, as while the
// launcher's own network begins: that is forgotten.
static void begin_round(struct job *j, const struct exchange_place *v)
{
    for (uint32_t i = 1; i <= j->group.n; i++) {
        if (!exchange_is_cut_off(&j->tree, v, i))
            continue;
        group_at(&j->group, i)->hidden = true;
        job_seat(j, i)->exchanged = false;
    }
}

void job_exchange_seek(struct job *j)
{
    uint32_t lost, leaf;
    if (!is_due(j))
        return;
    CLEANUP_FREE struct exchange_place *v = xcalloc(j->group.n, sizeof *v);
    list_places(j, v);
    if (exchange_find(&j->tree, v, &lost, &leaf))
        exchange(j, lost, leaf);
    else
        begin_round(j, v);
}

bool job_exchange_waits(const struct job *j)
{
    uint32_t lost, leaf;
    if (!has_choice(j))
        return false;
    CLEANUP_FREE struct exchange_place *v = xcalloc(j->group.n, sizeof *v);
    list_places(j, v);
    return exchange_find(&j->tree, v, &lost, &leaf);
}

void job_exchange_check(struct job *j)
{
    if (j->state != JOB_CLAIM)
        job_muster_check(j);
    else if (!job_claim_is_blind(j)) // else that has its own time
        job_exchange(j);
}
