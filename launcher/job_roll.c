// The roll while the job runs: the source goes on, and what has changed is pushed.
//
//   source's list -> succeed.h: who follows whom -> roll, new generation -> ROLL to agents
// The first push goes before the first PREPARE. A hostfile is followed as a file; what asks
// for names goes on asking. Members keep their index, and nothing is ever taken off.
//
// An agent that answers is a better witness than a source: where a member is attached,
// another address for it (a stale answer, or a pod that is being replaced) waits until the
// connection is lost. If that comes back, the member was at its old address after all.
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/watch.h"
#include "hostfile/follow.h"
#include "hostfile/hostname.h"
#include "hostfile/source.h"
#include "hostfile/succeed.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"
#include "wire/roll_msg.h"

// By member.
struct seen {
    bool broken;     // its connection is lost, and may come back
    char before[46]; // broken, and moved since: where it was; else ""
    char doubt[46];  // an address that was not taken, and told
};

struct job_upkeep {
    struct members newest; // as the source said last
    struct seen *seen;
    bool pushed; // agents have a roll, and get each new one
};

// ---- pushing ------------------------------------------------------------------

// Members that are all on this machine need no names and no hostfiles.
static bool is_of_pods(const struct roll *r)
{
    struct sockaddr_storage addr;
    for (uint32_t i = 0; i < r->nmembers; i++)
        if (hostname_literal(r->members[i].address, strlen(r->members[i].address),
                             &addr) &&
            !hostname_is_loopback(&addr))
            return true;
    return false;
}

void job_roll_push(struct job *j)
{
    if (j->upkeep == NULL || !is_of_pods(j->roll))
        return;
    Muster__Roll *m = roll_msg_make(j->roll);
    j->upkeep->pushed = true;
    job_send(j, FRAME_ROLL, TREE_ALL, &m->base);
    msg_free(m);
}

int job_roll_seat(struct job *j, struct err *err)
{
    CLEANUP_FREE uint32_t *members = xcalloc(j->map.npositions, sizeof *members);
    CLEANUP_FREE uint32_t *slots = xcalloc(j->map.npositions, sizeof *slots);
    for (uint32_t i = 0; i < j->map.npositions; i++) {
        int given = j->roll->members[j->map.positions[i].member].slots;
        members[i] = j->map.positions[i].member;
        slots[i] = given > 0 ? (uint32_t)given : j->map.positions[i].count;
    }
    return roll_seat(j->roll, members, slots, j->map.npositions, err);
}

// ---- what has changed ---------------------------------------------------------

static bool is_live(const struct job *j, uint32_t member)
{
    return j->group.v[member].state == GROUP_ATTACHED &&
           !j->upkeep->seen[member].broken;
}

// A Service listed it when the job looked who its members are, and it may have been a pod that was
// about to go.
static bool is_open(const struct job *j, uint32_t member)
{
    return j->state == JOB_CONNECT && source_can_grow(&j->opts->source) &&
           j->group.v[member].state == GROUP_FOUND;
}

static struct succeed_member *known_members(const struct job *j)
{
    struct succeed_member *v = xcalloc(j->roll->nmembers, sizeof *v);
    for (uint32_t i = 0; i < j->roll->nmembers; i++) {
        const struct roll_member *m = &j->roll->members[i];
        v[i] = (struct succeed_member){.name = m->name,
                                       .address = m->address,
                                       .port = m->port,
                                       .live = is_live(j, i),
                                       .open = is_open(j, i)};
    }
    return v;
}

// Told once for each address.
static void doubt(struct job *j, const struct succeed_change *c)
{
    struct seen *seen = &j->upkeep->seen[c->member];
    const struct roll_member *m = &j->roll->members[c->member];
    if (strcmp(seen->doubt, c->address) == 0)
        return;
    snprintf(seen->doubt, sizeof seen->doubt, "%s", c->address);
    log_debug(j->conf.log,
              "member %s is said to be at %s, but its agent answers at %s: not taken",
              m->name, c->address, m->address);
}

static void tell(struct job *j, uint32_t member, const char *cause,
                 const char *old_name, const char *old)
{
    const struct roll_member *m = &j->roll->members[member];
    if (strcmp(old, m->address) != 0)
        log_warn(j->conf.log, "member %s has moved from %s to %s", m->name,
                 old[0] != '\0' ? old : "nowhere",
                 m->address[0] != '\0' ? m->address : "nowhere");
    events_write(j->conf.events, "roll",
                 jsonpack("{s:I, s:s, s:s, s:s, s:s, s:s}", "generation",
                          (json_int_t)j->roll->generation, "member", m->name, "cause",
                          cause, "was", old_name, "old", old, "new", m->address));
}

static void move(struct job *j, const struct roll_move *to, const char *cause)
{
    struct roll_member *m = &j->roll->members[to->member];
    struct seen *seen = &j->upkeep->seen[to->member];
    char old[sizeof m->address];
    CLEANUP_FREE char *name = xstrdup(m->name);
    memcpy(old, m->address, sizeof old);
    seen->doubt[0] = '\0';
    if (!roll_move(j->roll, to, 1))
        return;
    if (seen->broken && seen->before[0] == '\0')
        memcpy(seen->before, old, sizeof old);
    if (strcmp(name, m->name) != 0)
        members_rename(&j->group.members, name, m->name);
    tell(j, to->member, cause, name, old);
}

static void plan_again(struct job *j)
{
    struct job_upkeep *u = j->upkeep;
    SUCCEED_AUTO plan;
    CLEANUP_FREE struct succeed_member *v = known_members(j);
    CLEANUP_FREE bool *moved = xcalloc(j->roll->nmembers, sizeof *moved);
    uint64_t generation = j->roll->generation;
    succeed_plan(v, j->roll->nmembers, &u->newest, &plan);
    for (size_t i = 0; i < plan.warnings.n; i++)
        log_debug(j->conf.log, "%s", plan.warnings.v[i]);
    for (size_t i = 0; i < plan.nchanges; i++) {
        const struct succeed_change *c = &plan.changes[i];
        struct roll_move to = {.member = (uint32_t)c->member,
                               .name = c->name,
                               .address = c->address,
                               .port = c->port};
        if (c->live && strcmp(c->address, v[c->member].address) != 0) {
            doubt(j, c);
            continue;
        }
        moved[c->member] = true;
        move(j, &to, succeed_cause_name(c->cause));
    }
    if (j->roll->generation == generation)
        return;
    if (u->pushed)
        job_roll_push(j);
    for (uint32_t i = 0; i < j->roll->nmembers; i++)
        if (moved[i])
            job_member_moved(j, i);
}

void job_roll_update(struct job *j, const struct members *now)
{
    if (j->upkeep == NULL || j->roll == NULL)
        return;
    members_copy(&j->upkeep->newest, now);
    plan_again(j);
}

// ---- what connections say -----------------------------------------------------

void job_roll_broken(struct job *j, uint32_t vertex)
{
    if (j->upkeep == NULL)
        return;
    j->upkeep->seen[group_member_of(&j->group, vertex)].broken = true;
    plan_again(j);
    job_roll_recheck(j, vertex);
}

bool job_roll_is_broken(const struct job *j, uint32_t member)
{
    return j->upkeep != NULL && j->upkeep->seen[member].broken;
}

void job_roll_resumed(struct job *j, uint32_t vertex)
{
    if (j->upkeep == NULL)
        return;
    uint32_t member = group_member_of(&j->group, vertex);
    struct seen *seen = &j->upkeep->seen[member];
    seen->broken = false;
    if (seen->before[0] == '\0')
        return;
    struct roll_move back = {.member = member,
                             .name = j->roll->members[member].name,
                             .address = seen->before};
    move(j, &back, "resumed");
    seen->before[0] = '\0';
    if (j->upkeep->pushed)
        job_roll_push(j);
    job_member_moved(j, member);
}

void job_roll_lost(struct job *j)
{
    if (j->upkeep == NULL)
        return;
    for (uint32_t i = 0; i < j->roll->nmembers; i++)
        if (j->group.v[i].state == GROUP_LOST)
            j->upkeep->seen[i] = (struct seen){0};
    plan_again(j);
    for (uint32_t i = 0; i < j->roll->nmembers; i++)
        if (j->group.v[i].state == GROUP_LOST)
            job_roll_recheck(j, group_vertex_of(&j->group, i));
}

// ---- following ----------------------------------------------------------------

void job_roll_recheck(struct job *j, uint32_t vertex)
{
    const char *lost = group_at(&j->group, vertex)->member->name;
    if (j->follow != NULL)
        follow_recheck(j->follow, lost);
    else if (j->source != NULL)
        source_recheck(j->source, lost);
}

void job_roll_source(const struct job *j, struct source_status *out)
{
    *out = (struct source_status){0};
    if (j->follow != NULL)
        follow_status(j->follow, out);
    else if (j->source != NULL)
        source_status(j->source, out);
}

void job_roll_start(struct job *j)
{
    if (j->opts->source.kind == SOURCE_LOCAL) {
        source_destroy(STEAL(j->source));
        return;
    }
    struct job_upkeep *u = j->upkeep = xcalloc(1, sizeof *u);
    u->seen = xcalloc(j->group.n, sizeof *u->seen);
    if (j->opts->source.kind == SOURCE_HOSTFILE)
        source_destroy(STEAL(j->source)); // of a pipe, which is read once
    if (j->follow != NULL)
        follow_hold(j->follow);
}

void job_roll_end(struct job *j)
{
    struct job_upkeep *u = STEAL(j->upkeep);
    follow_stop(STEAL(j->follow));
    watch_destroy(STEAL(j->watch));
    source_destroy(STEAL(j->source));
    if (u == NULL)
        return;
    members_free(&u->newest);
    free(u->seen);
    free(u);
}
