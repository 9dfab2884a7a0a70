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
    bool due = j->state == JOB_CLAIM || j->state == JOB_MUSTER;
    return spare || due ||
           (j->opts->policy.on_failure == POLICY_RESTART && j->state != JOB_DISCOVER &&
            j->state <= JOB_STOP);
}

// At the address that the source has for it now whoever answers is it.
static void set_address(struct job *j, uint32_t member)
{
    const char *now = j->roll->members[member].address;
    struct group_member *m = &j->group.v[member];
    Muster__Member *told = j->attach->members[member];
    snprintf(m->address, sizeof m->address, "%s", now);
    if (m->state == GROUP_MISSING && now[0] != '\0')
        m->state = GROUP_FOUND;
    free(told->address);
    told->address = xstrdup(now);
    told->hostname[0] = '\0';
    if (j->via == NULL) // else it is sshd's
        told->port = j->roll->members[member].port;
}

static void order(struct job *j, uint32_t vertex)
{
    Muster__Reattach r = MUSTER__REATTACH__INIT;
    const Muster__Member *m = j->attach->members[vertex - 1];
    r.vertex = vertex;
    r.address = m->address;
    r.port = m->port;
    r.hostname = m->hostname;
    r.generation = ++j->attach->generation;
    job_send(j, FRAME_REATTACH, TREE_ALL, &r.base);
    if (tree_parent(&j->tree, vertex) == 0)
        branch_redial(j->branch, vertex);
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

void job_return_fence(struct job *j, uint32_t vertex, uint32_t top, uint64_t heard_ms)
{
    unsigned below = tree_depth(&j->tree, vertex) - tree_depth(&j->tree, top);
    uint64_t until = heard_ms + outlive_ms(j, below);
    log_debug(j->conf.log, "ranks of member %s may run for %lld ms",
              group_at(&j->group, vertex)->member->name,
              (long long)(until - loop_now_ms()));
    job_seat(j, vertex)->fence_ms = until;
    job_seat(j, vertex)->back = false;
}

uint64_t job_return_fences(const struct job *j)
{
    uint64_t latest = job_claim_fence(j);
    for (uint32_t i = 0; i < j->group.n; i++) {
        const struct job_seat *s = &j->at->seats[i];
        // Who gets no ranks in the attempt that is prepared says no READY.
        bool says = s->back && (j->state == JOB_MUSTER || s->hosts);
        if (!says && s->fence_ms > latest)
            latest = s->fence_ms;
    }
    return latest;
}

void job_member_moved(struct job *j, uint32_t member)
{
    if (j->branch == NULL)
        return;
    set_address(j, member);
    job_seat(j, member + 1)->moved = true;
    // A healthy link is not given up for what a source says.
    if (j->state == JOB_CONNECT || is_wanted(j, member + 1))
        order(j, member + 1);
}

// Can the agent that was lost not run any more, now that another one has come? At its address
// it can not (but sshd's agents are not alone there). Nor where its stream ended and its name has
// another address: a pod was deleted. Not after silence: Jobs replace a pod that still ends, and
// so does who deletes one by force, while a node that is cut off runs it. An address that a file
// puts in the place of another says nothing.
static bool has_ended(const struct job *j, uint32_t vertex)
{
    bool is_address = hostname_is_literal(j->roll->members[vertex - 1].name);
    const struct job_seat *seat = job_seat(j, vertex);
    return j->via == NULL && (!seat->moved || (seat->hung_up && !is_address));
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
