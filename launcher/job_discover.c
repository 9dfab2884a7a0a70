// Discover: from a source to a group that is whole.
#include <sys/stat.h>

#include <event2/event.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/watch.h"
#include "hostfile/follow.h"
#include "hostfile/source.h"
#include "launcher/job_internal.h"

enum {
    LOOK_MS = 5000
}; // at a hostfile, beside inotify; at names, or as their TTL says

// A Service may show more members than the job was told to take: the first are taken. A role
// has some of these.
static void cut_to_members(const struct job *j, struct members *all)
{
    CLEANUP_FREE bool *keep = xcalloc(all->n, sizeof *keep);
    const struct roles_opts *part = &j->opts->roles;
    for (size_t i = 0; i < all->n; i++)
        keep[i] =
            (j->opts->members == 0 || i < j->opts->members) &&
            (!part->is_part || (i >= part->from && (part->to == 0 || i < part->to)));
    members_keep(all, keep);
}

// How many the group has at least.
static uint32_t least_members(const struct job *j)
{
    const struct roles_opts *part = &j->opts->roles;
    uint32_t members = j->opts->members;
    if (!part->is_part)
        return members;
    return part->to > 0           ? part->to - part->from
           : members > part->from ? members - part->from
                                  : 1;
}

// Where the source gives all slots, what cannot be mapped is told before anybody is dialed.
static bool enough_slots(struct job *j, struct err *err)
{
    CLEANUP_FREE struct map_member *m = xcalloc(j->group.n, sizeof *m);
    struct map map = {0};
    for (uint32_t i = 0; i < j->group.n; i++) {
        if (j->group.v[i].member->slots < 0)
            return true; // the agents will tell
        m[i].name = j->group.v[i].member->name;
        m[i].slots = (uint32_t)j->group.v[i].member->slots;
    }
    if (job_spares_map(j, m, &map, err) == 0) {
        map_free(&map);
        return true;
    }
    return false;
}

static bool enough_members(const struct job *j, struct err *err)
{
    CLEANUP_FREE char *source = source_describe(&j->opts->source);
    if (j->group.n >= least_members(j))
        return true;
    if (j->opts->roles.is_part) {
        err_set(err,
                "it needs %u members from the %u. on, and %s has %u of them; the roles "
                "before it take the others",
                least_members(j), j->opts->roles.from + 1, source, j->group.n);
        return false;
    }
    err_set(err, "--members %u: there are %u in %s, and no more will come",
            j->opts->members, j->group.n, source);
    return false;
}

// What a file's reader took with a doubt is told once; what DNS has to say of a Service
// changes, and stands in the progress line.
static void tell_warnings(struct job *j)
{
    const struct strv *w = &j->group.members.warnings;
    for (size_t i = 0; i < w->n && !j->warned && !source_can_grow(&j->opts->source);
         i++)
        log_warn(j->conf.log, "%s", w->v[i]);
    j->warned = true;
}

static bool is_whole(const struct job *j)
{
    return j->group.n > 0 && group_found(&j->group) == j->group.n &&
           j->group.n >= least_members(j);
}

// All names are known, but not all addresses. Those who are there may tell of a job that goes
// on without the others.
static void on_patience(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    if (j->state == JOB_DISCOVER && group_found(&j->group) > 0 &&
        j->group.n >= least_members(j) && !source_can_grow(&j->opts->source))
        job_event(j, JOB_EV_FOUND);
}

static void be_patient(struct job *j)
{
    if (job_claim_patience_ms(j) == 0)
        return;
    if (j->patience != NULL) {
        if (!evtimer_pending(j->patience, NULL)) // it is over
            on_patience(-1, 0, j);
        return;
    }
    j->patience = loop_timer(j->conf.base, on_patience, j);
    loop_timer_arm(j->patience, job_claim_patience_ms(j));
}

static void on_update(void *arg, const struct members *members)
{
    struct job *j = arg;
    MEMBERS_AUTO all = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    members_copy(&all, members);
    if (j->state != JOB_DISCOVER) {
        if (j->opts->roles.is_part)
            cut_to_members(j, &all); // the others' are not to take the place of these
        job_roll_update(j, &all);
        return;
    }
    cut_to_members(j, &all);
    group_update(&j->group, &all);
    events_write(j->conf.events, "members",
                 jsonpack("{s:i, s:i, s:s?}", "known", (int)j->group.n, "found",
                          (int)group_found(&j->group), "sha256",
                          j->follow != NULL ? follow_digest(j->follow) : NULL));
    tell_warnings(j);
    if (!source_can_grow(&j->opts->source) &&
        (!enough_members(j, &err) || !enough_slots(j, &err))) {
        job_fail(j, VERDICT_ORDER, VERDICT_OWN_FAILURE, "%s", err_text(&err));
        return;
    }
    if (is_whole(j))
        job_event(j, JOB_EV_FOUND);
    else
        be_patient(j);
}

static void on_source_failed(void *arg, const struct err *err)
{
    struct job *j = arg;
    if (j->state == JOB_DISCOVER)
        job_fail(j, VERDICT_ORDER, VERDICT_OWN_FAILURE, "%s", err_text(err));
    else
        log_warn(j->conf.log, "%s; the members stay as they were found", err_text(err));
}

// A pipe is read once.
static bool can_be_read_again(const struct source_spec *spec)
{
    struct stat st;
    return spec->kind == SOURCE_HOSTFILE && stat(spec->text, &st) == 0 &&
           S_ISREG(st.st_mode);
}

// A hostfile that is replaced meanwhile is read again, whole, and discovery is begun again
// with what it says then.
static int follow_file(struct job *j, const struct source_ops *ops, struct err *err)
{
    j->watch = watch_create(j->conf.base, NULL); // without one it is polled
    struct follow_conf conf = {.base = j->conf.base,
                               .watch = j->watch,
                               .log = j->conf.log,
                               .spec = &j->opts->source,
                               .interval_ms = LOOK_MS,
                               .strict = true,
                               .ops = *ops,
                               .arg = j};
    j->follow = follow_start(&conf, err);
    return j->follow != NULL ? 0 : -1;
}

int job_discover_start(struct job *j, struct err *err)
{
    static const struct source_ops ops = {on_update, on_source_failed};
    if (can_be_read_again(&j->opts->source))
        return follow_file(j, &ops, err);
    struct source_spec spec = j->opts->source;
    spec.poll_ms = LOOK_MS;
    j->source = source_start(j->conf.base, &spec, &ops, j, j->conf.log, err);
    return j->source != NULL ? 0 : -1;
}
