// How a job is, as one JSON object: for `muster status` and the page /status.
//
//   job, version, state, since (s in the state), uptime (s), attempt, restarts, on_failure,
//   ranks {total, started, ended}, waiting {for, seconds} or null, cause (what ended the
//   attempt, while it stops) or null, reason (what ended the one before) or null,
//   history [the last ones' ends], source {text, last_error or null},
//   members [{member, position or null, vertex (of the tree of links), name, address, state,
//   incarnation or null, ranks, running, ended, agents, why or null, inspection}], left_out
//   (members over the bound)
// Fields are only ever added.
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/jsontext.h"
#include "common/loop.h"
#include "common/mem.h"
#include "config.h"
#include "hostfile/follow.h"
#include "hostfile/source.h"
#include "launcher/job_internal.h"

enum { MEMBERS_SHOWN = 10000, HISTORY_SHOWN = 10, SHORT_BYTES = 4 };

// Ranks of one member.
struct tally {
    uint32_t ranks, running, ended;
};

static struct tally *count_ranks(const struct job *j, struct tally *all)
{
    struct tally *by = xcalloc(j->group.n, sizeof *by);
    for (uint32_t r = 0; j->at != NULL && r < j->at->nranks; r++) {
        const struct job_rank *rank = &j->at->ranks[r];
        struct tally *of[] = {&by[rank->member], all};
        for (int i = 0; i < 2; i++) {
            of[i]->ranks++;
            of[i]->running += rank->started && !rank->exited ? 1 : 0;
            of[i]->ended += rank->exited ? 1 : 0;
        }
    }
    return by;
}

static json_t *seconds(uint64_t ms)
{
    return json_real((double)ms / 1e3);
}

// The first bytes, as far as people tell them apart.
static json_t *short_incarnation(const struct job *j, uint32_t member)
{
    char hex[2 * SHORT_BYTES + 1];
    if (j->roll == NULL || !j->roll->members[member].present)
        return json_null();
    for (int i = 0; i < SHORT_BYTES; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x",
                 j->roll->members[member].incarnation[i]);
    return jsonpack_text(hex);
}

static const char *member_state(const struct job *j, uint32_t member)
{
    const struct group_member *m = &j->group.v[member];
    if (m->state == GROUP_ATTACHED && j->at != NULL && j->at->seats[member].leaves)
        return "leaves";
    return group_state_name(m->state);
}

static json_t *member(const struct job *j, uint32_t i, const struct tally *t)
{
    const struct group_member *m = &j->group.v[i];
    long position = j->roll != NULL ? roll_position_of(j->roll, i) : -1;
    bool well = strcmp(member_state(j, i), "attached") == 0;
    return jsonpack(
        "{s:i, s:o, s:i, s:s, s:s, s:s, s:o, s:i, s:i, s:i, s:i, s:s?, s:s}", "member",
        (int)i, "position", position >= 0 ? json_integer(position) : json_null(),
        "vertex", (int)group_vertex_of(&j->group, i), "name", m->member->name,
        "address", m->address, "state", member_state(j, i), "incarnation",
        short_incarnation(j, i), "ranks", (int)t->ranks, "running", (int)t->running,
        "ended", (int)t->ended, "agents", (int)m->agents, "why", well ? NULL : m->why,
        "inspection", job_inspect_state(j, i));
}

static json_t *members(const struct job *j, const struct tally *by)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < j->group.n && i < MEMBERS_SHOWN; i++)
        json_array_append_new(list, member(j, i, &by[i]));
    return list;
}

static json_t *source(const struct job *j)
{
    struct source_status s;
    CLEANUP_FREE char *what = source_describe(&j->opts->source);
    job_roll_source(j, &s);
    return jsonpack("{s:s, s:s?}", "text", what, "last_error",
                    s.last_error[0] != '\0' ? s.last_error : NULL);
}

static json_t *waiting(const struct job *j)
{
    CLEANUP_FREE char *what = job_wait_text(j);
    if (what == NULL)
        return json_null();
    return jsonpack("{s:s, s:o}", "for", what, "seconds",
                    seconds(loop_now_ms() - j->state_ms));
}

static json_t *history(const struct job *j)
{
    json_t *list = json_array();
    size_t from = j->history.n > HISTORY_SHOWN ? j->history.n - HISTORY_SHOWN : 0;
    for (size_t i = from; i < j->history.n; i++)
        json_array_append_new(list, jsonpack_text(j->history.v[i]));
    return list;
}

void job_status(const struct job *j, struct buf *out)
{
    struct tally all = {0};
    CLEANUP_FREE struct tally *by = count_ranks(j, &all);
    uint64_t now = loop_now_ms();
    uint32_t n = j->group.n, attempt = j->at != NULL ? j->at->number : 0;
    json_t *o = jsonpack(
        "{s:s, s:s, s:s, s:o, s:o, s:i, s:i, s:s, s:{s:i, s:i, s:i}, s:o, s:s?, s:s?, "
        "s:o, s:o, s:o, s:i}",
        "job", j->key, "version", MUSTER_VERSION, "state", job_state_name(j->state),
        "since", seconds(now - j->state_ms), "uptime", seconds(now - j->begun_ms),
        "attempt", (int)attempt, "restarts", attempt > 0 ? (int)attempt - 1 : 0,
        "on_failure",
        j->opts->policy.on_failure == POLICY_RESTART ? "restart" : "abort", "ranks",
        "total", (int)all.ranks, "started", (int)(all.running + all.ended), "ended",
        (int)all.ended, "waiting", waiting(j), "cause", j->verdict.text, "reason",
        j->reason, "history", history(j), "source", source(j), "members",
        members(j, by), "left_out", n > MEMBERS_SHOWN ? (int)(n - MEMBERS_SHOWN) : 0);
    CLEANUP_FREE char *json = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(o);
    buf_printf(out, "%s\n", json != NULL ? json : "{}");
}
