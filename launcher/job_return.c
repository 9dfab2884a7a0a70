// Members that were lost, and come back: at their old address or at another one.
//
// The launcher alone decides who is dialed. It keeps the ATTACH body current and tells each
// change to all vertices (REATTACH): the parent of the vertex dials it, everybody else knows
// the address in case that it has to pass the body on. A vertex that is lost takes its
// subtree along; when it is back it dials its children by itself.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/hostname.h"
#include "launcher/job_internal.h"
#include "wire/graces.h"

// Is it of use that the member comes back? A job that ends with its first failure needs only
// those without ranks, for the worlds that ranks may still spawn.
static bool is_wanted(const struct job *j, uint32_t vertex)
{
    bool spare = !job_seat(j, vertex)->hosts && job_attempt_lives(j);
    bool due = j->state == JOB_CLAIM || job_muster_gathers(j);
    return spare || due ||
           (j->opts->policy.on_failure == POLICY_RESTART && j->state != JOB_DISCOVER &&
            j->state <= JOB_STOP);
}

// At the address that the source has for it now whoever answers is it.
static void set_address(struct job *j, uint32_t member)
{
    const char *now = j->roll->members[member].address;
    struct group_member *m = &j->group.v[member];
    uint32_t vertex = group_vertex_of(&j->group, member);
    Muster__Member *told = j->attach->members[vertex - 1];
    snprintf(m->address, sizeof m->address, "%s", now);
    if (now[0] != '\0')
        group_happens(m, GROUP_EV_ADDRESS);
    m->refused = 0; // somebody else is there
    free(told->name);
    told->name = xstrdup(j->roll->members[member].name);
    free(told->address);
    told->address = xstrdup(now);
    told->hostname[0] = '\0';
    if (j->via == NULL) // else it is sshd's
        told->port = j->roll->members[member].port;
}

static void send_order(struct job *j, uint32_t vertex, bool other)
{
    Muster__Reattach r = MUSTER__REATTACH__INIT;
    const Muster__Member *m = j->attach->members[vertex - 1];
    r.other = other;
    r.name = m->name;
    r.user = m->user;
    r.vertex = vertex;
    r.address = m->address;
    r.port = m->port;
    r.hostname = m->hostname;
    r.generation = ++j->attach->generation;
    if (other)
        group_say(&j->group, vertex, r.generation);
    job_send(j, FRAME_REATTACH, TREE_ALL, &r.base);
}

static void order(struct job *j, uint32_t vertex)
{
    send_order(j, vertex, false);
    if (tree_parent(&j->tree, vertex) == 0)
        branch_redial(j->branch, vertex);
}

void job_return_exchange(struct job *j, uint32_t vertex)
{
    send_order(j, vertex, true);
    if (tree_parent(&j->tree, vertex) == 0)
        branch_exchange(j->branch, vertex);
}

void job_return_want(struct job *j, uint32_t vertex)
{
    const struct group_member *m = group_at(&j->group, vertex);
    if (m->state != GROUP_LOST || !is_wanted(j, vertex))
        return;
    if (j->local)
        job_connect_local(j);
    else
        order(j, vertex);
}

void job_return_missing(struct job *j, uint32_t vertex, bool final)
{
    if (final)
        job_return_want(j, vertex);
    else
        job_roll_recheck(j, vertex);
    job_exchange_check(j);
}

// sshd's agents know no graces: they end with their connection.
static uint64_t outlive_ms(const struct job *j, unsigned below)
{
    bool stay = j->via == NULL && !j->local;
    struct graces g = {.dead_ms = j->attach->heartbeat_ms * LINK_DEAD_BEATS,
                       .link_ms = stay ? j->attach->link_grace_ms : 0,
                       .orphan_ms = stay ? j->attach->orphan_grace_ms : 0,
                       .stop_ms = stay ? j->opts->grace_ms : 0};
    return graces_outlive_ms(&g, below);
}

uint64_t job_return_outlive_ms(const struct job *j)
{
    return outlive_ms(j, tree_depth(&j->tree, j->group.n) - 1);
}

// Its stream ended and its name has another address: a pod was deleted. Not after silence: Jobs
// replace a pod that still ends, and so does who deletes one by force, while a node that is cut off
// runs it. A member known by its address alone, for which another one came, says nothing.
static bool is_deleted(const struct job *j, uint32_t vertex)
{
    uint32_t member = group_member_of(&j->group, vertex);
    bool is_address = hostname_is_of_address(j->roll->members[member].name);
    const struct job_seat *seat = job_seat(j, vertex);
    return j->via == NULL && seat->moved && seat->hung_up && !is_address;
}

// Can the agent that was lost not run any more, now that another one has come? At its address
// it can not (but sshd's agents are not alone there).
static bool has_ended(const struct job *j, uint32_t vertex)
{
    bool same_place = j->via == NULL && !job_seat(j, vertex)->moved;
    return same_place || is_deleted(j, vertex);
}

void job_return_fence(struct job *j, uint32_t vertex, uint32_t top, uint64_t heard_ms)
{
    unsigned below = tree_depth(&j->tree, vertex) - tree_depth(&j->tree, top);
    uint64_t until = heard_ms + outlive_ms(j, below);
    log_debug(j->conf.log, "ranks of member %s may run for %lld ms",
              group_at(&j->group, vertex)->member->name,
              (long long)(until - loop_now_ms()));
    job_seat(j, vertex)->fence_ms = is_deleted(j, vertex) ? 0 : until;
    job_seat(j, vertex)->back = false;
}

uint64_t job_return_fences(const struct job *j)
{
    uint64_t latest = job_claim_fence(j);
    for (uint32_t i = 0; i < j->group.n; i++) {
        const struct job_seat *s = &j->at->seats[i];
        // Who gets no ranks in the attempt that is prepared says no READY.
        bool says = s->back && (job_muster_gathers(j) || s->hosts);
        if (!says && s->fence_ms > latest)
            latest = s->fence_ms;
    }
    return latest;
}

void job_member_moved(struct job *j, uint32_t member)
{
    if (j->branch == NULL)
        return;
    uint32_t vertex = group_vertex_of(&j->group, member);
    set_address(j, member);
    j->at->seats[member].moved = true;
    if (is_deleted(j, vertex)) { // a spare may take its place at once
        j->at->seats[member].fence_ms = 0;
        job_muster_check(j);
    }
    // A healthy link is not given up for what a source says.
    if (j->state == JOB_CONNECT || is_wanted(j, vertex))
        order(j, vertex);
}

// What its ranks do not need it for, its children's ranks and spawned worlds may.
void job_return_greet(struct job *j, uint32_t vertex, bool same)
{
    struct job_seat *seat = job_seat(j, vertex);
    seat->replaced = seat->replaced && same;
    seat->leaves = seat->replaced;
    seat->back = same;
    job_record_changed(j);
    if (!same && has_ended(j, vertex))
        seat->fence_ms = 0;
    if (seat->fence_ms <= loop_now_ms())
        seat->moved = false; // the next loss is of the agent that is here
    job_muster_check(j);
    if (!job_attempt_lives(j) || j->at->prepare == NULL)
        return;
    job_roll_push(j); // its agent may be a new one
    job_send(j, FRAME_PREPARE, vertex, &j->at->prepare->base);
    job_spawn_resend(j, vertex);
}
