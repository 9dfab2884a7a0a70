// The roll while the job runs: the source goes on, and what has moved is pushed.
//
//   source --addresses--> roll (hostfile/roll.h) --new generation--> ROLL to all agents
// The first push goes before the first PREPARE. A hostfile is followed as a file; what asks
// for names goes on asking. Members keep their index, whatever a source lists or leaves
// out, and nothing is ever taken off the roll.
#include <netinet/in.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/watch.h"
#include "hostfile/follow.h"
#include "hostfile/hostname.h"
#include "hostfile/source.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"
#include "wire/roll_msg.h"

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
    if (!is_of_pods(j->roll))
        return;
    Muster__Roll *m = roll_msg_make(j->roll);
    j->roll_pushed = true;
    job_send(j, FRAME_ROLL, TREE_ALL, &m->base);
    msg_free(m);
}

// ---- what the source says -----------------------------------------------------

void job_member_moved(struct job *j, uint32_t member)
{
    log_debug(j->conf.log, "member %s is at %s now", j->roll->members[member].name,
              j->roll->members[member].address);
}

static void tell_move(struct job *j, uint32_t member, const char *old)
{
    const struct roll_member *m = &j->roll->members[member];
    log_warn(j->conf.log, "member %s has moved from %s to %s", m->name, old,
             m->address);
    events_write(j->conf.events, "roll",
                 json_pack("{s:I, s:s, s:s, s:s}", "generation",
                           (json_int_t)j->roll->generation, "member", m->name, "old",
                           old, "new", m->address));
}

static void tell_refusal(struct job *j, const struct roll_move *move)
{
    struct member at = {.addr = move->addr};
    char address[INET6_ADDRSTRLEN];
    members_address(&at, address, sizeof address);
    log_debug(j->conf.log, "member %s cannot be at %s, where member %s is: not taken",
              j->roll->members[move->member].name, address,
              j->roll->members[move->held_by].name);
}

// Members are told apart by name here; who is an address itself cannot move that way.
static size_t find_moves(const struct job *j, const struct members *now,
                         struct roll_move *moves)
{
    CLEANUP_FREE bool *seen = xcalloc(j->roll->nmembers, sizeof *seen);
    size_t n = 0;
    for (size_t i = 0; i < now->n; i++) {
        const struct member *m = &now->v[i];
        long at = members_find(&j->group.members, m->name, strlen(m->name));
        if (at < 0 || seen[at] || m->addr.ss_family == 0)
            continue;
        seen[at] = true;
        moves[n++] = (struct roll_move){.member = (uint32_t)at, .addr = m->addr};
    }
    return n;
}

void job_roll_update(struct job *j, const struct members *now)
{
    if (j->roll == NULL)
        return;
    CLEANUP_FREE struct roll_move *moves = xcalloc(j->roll->nmembers, sizeof *moves);
    CLEANUP_FREE char(*old)[46] = xcalloc(j->roll->nmembers, sizeof *old);
    size_t n = find_moves(j, now, moves);
    for (size_t i = 0; i < n; i++)
        memcpy(old[i], j->roll->members[moves[i].member].address, sizeof *old);
    size_t moved = roll_move(j->roll, moves, n);
    if (moved > 0 && j->roll_pushed)
        job_roll_push(j);
    for (size_t i = 0; i < n; i++) {
        if (moves[i].held_by >= 0)
            tell_refusal(j, &moves[i]);
        if (!moves[i].moved)
            continue;
        tell_move(j, moves[i].member, old[i]);
        job_member_moved(j, moves[i].member);
    }
}

// ---- following ----------------------------------------------------------------

void job_roll_follow(struct job *j)
{
    switch (j->opts->source.kind) {
    case SOURCE_LOCAL: job_roll_end(j); break;
    case SOURCE_HOSTFILE:
        source_destroy(STEAL(j->source)); // of a pipe
        if (j->follow != NULL)
            follow_hold(j->follow);
        break;
    case SOURCE_DNS:
    case SOURCE_HOSTS:
    case SOURCE_PODS: break; // they have a pace of their own
    }
}

void job_roll_end(struct job *j)
{
    follow_stop(STEAL(j->follow));
    watch_destroy(STEAL(j->watch));
    source_destroy(STEAL(j->source));
}
