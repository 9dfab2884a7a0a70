// The launcher of one role: what it tells the launcher of all, and what it hears from there.
//
//   CONNECT, all attached: ROLES up (where this role is) --> wait for the first ROLES down
//   each change of state:  ROLES up                      <-- ROLES down: file, to all agents
//                                                        <-- FAILED down: start again, another
//                                                            role does (--restart-scope job)
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "launcher/roles.h"
#include "wire/chan.h"
#include "wire/msg.h"

struct job_roles {
    struct chan *chan;
    char *told; // what was said last
    char *now;  // the newest document; NULL: not all roles are there yet
    bool
        newer; // than what the attempt's PREPARE brought, which agents may still hold back
    struct roles_generation generation;
    bool orphaned; // the launcher of all is gone
};

static const char *own_name(const struct job *j)
{
    return j->opts->apps.v[0].role;
}

// ---- up -----------------------------------------------------------------------

static const char *state_text(const struct job *j)
{
    switch (j->state) {
    case JOB_RUN: return "running";
    case JOB_STOP: return "stopping";
    case JOB_MUSTER:
    case JOB_INSPECT: return j->reason != NULL ? "restarting" : "starting";
    case JOB_DRAIN:
    case JOB_CLOSE:
    case JOB_DONE: return "ended";
    default: return "starting";
    }
}

static json_t *members(const struct job *j)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < j->map.npositions; i++) {
        const struct roll_member *m = &j->roll->members[j->map.positions[i].member];
        json_array_append_new(
            list, jsonpack("{s:s, s:s}", "name", m->name, "address", m->address));
    }
    return list;
}

static char *part_text(const struct job *j)
{
    const char *leader = j->roll->members[j->map.positions[0].member].address;
    json_t *part = jsonpack("{s:s, s:i, s:s, s:i, s:o}", "state", state_text(j),
                            "attempt", (int)j->at->number, "leader", leader, "port",
                            (int)j->at->master_port, "members", members(j));
    char *text = json_dumps(part, JSON_COMPACT);
    json_decref(part);
    return text;
}

void job_roles_tell(struct job *j)
{
    if (j->roles == NULL || j->map.npositions == 0)
        return;
    CLEANUP_FREE char *text = part_text(j);
    if (j->roles->told != NULL && strcmp(text, j->roles->told) == 0)
        return;
    struct frame f = {.kind = FRAME_ROLES};
    Muster__Roles m = MUSTER__ROLES__INIT;
    m.file.data = (uint8_t *)text;
    m.file.len = strlen(text);
    m.generation = j->roles->generation.now;
    chan_send_msg(j->roles->chan, &f, &m.base);
    free(j->roles->told);
    j->roles->told = STEAL(text);
}

// ---- down ---------------------------------------------------------------------

bool job_roles_are_awaited(const struct job *j)
{
    return j->roles != NULL && j->roles->now == NULL;
}

void job_roles_put(struct job *j, Muster__Prepare *p)
{
    if (j->roles == NULL)
        return;
    struct strv env = STRV_INIT;
    CLEANUP_FREE char *part = part_text(j);
    CLEANUP_FREE char *document = roles_with(j->roles->now, own_name(j), part);
    j->roles->newer = false;
    p->roles = xmalloc(sizeof *p->roles);
    muster__roles__init(p->roles);
    p->roles->file.len = strlen(document);
    p->roles->file.data = xmemdup(document, p->roles->file.len);
    roles_env(document, own_name(j), &env);
    p->role_env = strv_take(&env, &p->n_role_env);
}

static void send_file(struct job *j, uint32_t signo)
{
    Muster__Roles m = MUSTER__ROLES__INIT;
    m.file.data = (uint8_t *)j->roles->now;
    m.file.len = strlen(j->roles->now);
    m.signal = signo;
    job_send(j, FRAME_ROLES, TREE_ALL, &m.base);
}

void job_roles_start(struct job *j)
{
    if (j->roles != NULL && j->roles->newer)
        send_file(j, 0);
}

static void take_document(struct job *j, const Muster__Roles *roles)
{
    CLEANUP_FREE char *before = j->roles->now;
    int signo = j->opts->roles.signal;
    j->roles->now = xstrndup((const char *)roles->file.data, roles->file.len);
    j->roles->newer = true;
    bool again = before != NULL && roles_run_again(before, j->roles->now, own_name(j));
    if (before == NULL)
        job_connected(j);
    else if (j->state == JOB_START || j->state == JOB_RUN) // before: job_roles_start()
        send_file(j, again ? (uint32_t)signo : 0);
}

static void start_again(struct job *j, const Muster__Failed *order)
{
    bool lives = job_attempt_lives(j);
    bool earlier = roles_generation_order(&j->roles->generation, order->generation,
                                          lives || j->state == JOB_STOP);
    if (lives && earlier)
        job_fail(j, VERDICT_LOSS, VERDICT_OWN_FAILURE, "%s", order->text);
}

void job_roles_again(struct job *j)
{
    if (j->roles != NULL)
        roles_generation_next(&j->roles->generation);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct job *j = arg;
    Muster__Roles *roles =
        f->kind == FRAME_ROLES ? msg_unpack(f, &muster__roles__descriptor, NULL) : NULL;
    Muster__Failed *order = f->kind == FRAME_FAILED
                                ? msg_unpack(f, &muster__failed__descriptor, NULL)
                                : NULL;
    if (roles != NULL)
        take_document(j, roles);
    if (order != NULL)
        start_again(j, order);
    msg_free(roles);
    msg_free(order);
}

// Without the launcher of all, roles do not learn of each other any more: none goes on.
static void on_closed(void *arg, const struct err *why)
{
    struct job *j = arg;
    j->roles->orphaned = true;
    job_fail(j, VERDICT_ORDER, VERDICT_OWN_FAILURE,
             "the launcher of all roles is gone (killed or crashed)");
}

bool job_roles_are_orphaned(const struct job *j)
{
    return j->roles != NULL && j->roles->orphaned;
}

void job_roles_create(struct job *j)
{
    static const struct chan_ops ops = {on_frame, on_closed};
    if (!j->opts->roles.is_part)
        return;
    j->roles = xcalloc(1, sizeof *j->roles);
    j->roles->chan =
        chan_create(j->conf.base, j->opts->roles.fd, j->opts->roles.fd, &ops, j);
}

void job_roles_destroy(struct job *j)
{
    if (j->roles == NULL)
        return;
    chan_flush(j->roles->chan, 1000);
    chan_destroy(j->roles->chan);
    free(j->roles->told);
    free(j->roles->now);
    free(j->roles);
}
