// From members to lines.
#include "hostfile/hosts_members.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"
#include "hostfile/names.h"

static size_t label_len(const char *name)
{
    return strcspn(name, ".");
}

// Names of other members begin alike: a short name would be nobody's or the wrong one's.
static void count_labels(const struct members *m, struct members *labels)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t len = label_len(m->v[i].name);
        long at = labels->n > 0 ? members_find(labels, m->v[i].name, len) : -1;
        if (at < 0) {
            members_add(labels, m->v[i].name, len)->slots = 0;
            at = (long)labels->n - 1;
        }
        labels->v[at].slots++;
    }
}

// NULL when the name is complete, or nothing completes it. Caller frees.
static char *full_name(const struct member *m, const struct resolvconf *conf, bool pods)
{
    struct names_plan plan;
    char *full = NULL;
    if (!pods || names_cluster_domain(conf) == NULL)
        return NULL;
    names_plan(conf, m->name, m->absolute, NAMES_POD, &plan);
    if (plan.hosts == NAMES_HOSTS_NEVER && plan.ask.n > 0)
        full = xstrndup(plan.ask.v[0], strlen(plan.ask.v[0]) - 1);
    names_plan_free(&plan);
    return full;
}

void hosts_members(const struct members *m, const struct resolvconf *conf, bool pods,
                   struct hosts_want *out, struct strv *refused)
{
    MEMBERS_AUTO labels = MEMBERS_INIT;
    count_labels(m, &labels);
    for (size_t i = 0; i < m->n; i++) {
        const struct member *one = &m->v[i];
        if (one->addr.ss_family == 0 || hostname_is_literal(one->name))
            continue;
        size_t len = label_len(one->name), n = 0;
        CLEANUP_FREE char *full = full_name(one, conf, pods);
        CLEANUP_FREE char *label = xstrndup(one->name, len);
        const char *names[3];
        if (full != NULL)
            names[n++] = full;
        names[n++] = one->name;
        if (labels.v[members_find(&labels, one->name, len)].slots == 1)
            names[n++] = label;
        ERR_AUTO err = ERR_INIT;
        if (hosts_want_add(out, &one->addr, names, n, &err) < 0)
            strv_addf(refused, "%s: %s", one->name, err_text(&err));
    }
}
