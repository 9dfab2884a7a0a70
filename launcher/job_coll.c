// Collectives: the launcher is the root of the tree.
#include "common/log.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"

static int expect(void *arg, const Muster__Coll *c, bool *expected, struct err *err)
{
    struct job *j = arg;
    return coll_route_expect(j->at->route, c, expected, err);
}

static void done(void *arg, const Muster__Coll *result)
{
    struct job *j = arg;
    Muster__Coll m = *result;
    if (m.kind == COLL_GROUP && m.status == 0)
        m.number = ++j->at->groups;
    job_send(j, FRAME_COLL_DONE, TREE_ALL, &m.base);
}

static void late(void *arg, size_t contributor, const Muster__Coll *result)
{
    struct job *j = arg;
    uint32_t first;
    tree_children(&j->tree, 0, &first);
    if (contributor > 0)
        job_send(j, FRAME_COLL_DONE, first + (uint32_t)contributor - 1, &result->base);
}

void job_coll_start(struct job *j)
{
    static const struct coll_ops ops = {expect, done, late};
    j->at->route =
        coll_route_create(&j->tree, 0, j->at->prepare, NULL); // of our own making
    j->at->colls = coll_create(coll_route_contributors(j->at->route), NULL, &ops, j);
}

void job_coll_part(struct job *j, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Coll *part = msg_unpack(f, &muster__coll__descriptor, &err);
    if (part == NULL ||
        coll_add(j->at->colls, coll_route_contributor(j->at->route, f->src), part,
                 &err) < 0)
        log_warn(j->conf.log, "dropped a collective's part from %s: %s",
                 group_at(&j->group, f->src)->member->name, err_text(&err));
    msg_free(part);
}
