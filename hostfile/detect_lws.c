// LeaderWorkerSet (sigs.k8s.io/lws, pkg/utils/pod/pod_utils.go): in every container
//   LWS_LEADER_ADDRESS  LEADER.SUBDOMAIN.NAMESPACE; the subdomain is the set's name
//                       (Shared) or the leader's (UniquePerReplica)
//   LWS_GROUP_SIZE      pods of a group, the leader among them
//   LWS_WORKER_INDEX    0: the leader
// The workers are LEADER-1 ... in the same subdomain.
#include <string.h>

#include "common/mem.h"
#include "hostfile/detect_impl.h"
#include "hostfile/hostname.h"

static const char address_name[] = "LWS_LEADER_ADDRESS";

struct group {
    const char *leader; // the address
    size_t len;         // of the leader's own name in it
    long size, index;
};

static int read_env(const struct detect_look *l, struct group *g, struct err *err)
{
    struct sockaddr_storage literal;
    if (g->leader == NULL || g->size < 1) {
        err_set(err, "%s is set and %s is not: LeaderWorkerSet sets both",
                g->leader != NULL ? address_name : "LWS_GROUP_SIZE",
                g->leader != NULL ? "LWS_GROUP_SIZE" : address_name);
        return -1;
    }
    if (detect_check_name(address_name, g->leader, err) < 0)
        return -1;
    g->len = strcspn(g->leader, ".");
    if (g->len == 0 || g->leader[g->len] == '\0' || g->leader[g->len + 1] == '\0' ||
        hostname_literal(g->leader, strlen(g->leader), &literal)) {
        err_set(err,
                "%s is '%s', not LEADER.SUBDOMAIN.NAMESPACE: the workers' names cannot "
                "be told from it",
                address_name, g->leader);
        return -1;
    }
    if (g->index >= g->size) {
        err_set(err, "LWS_WORKER_INDEX is %ld in a group of LWS_GROUP_SIZE %ld",
                g->index, g->size);
        return -1;
    }
    return 0;
}

// Pods that bear their own name (not the node's, as with hostNetwork) can tell.
static int check_self(const struct detect_look *l, const struct group *g,
                      struct err *err)
{
    CLEANUP_FREE char *name =
        g->index > 0 ? xasprintf("%.*s-%ld", (int)g->len, g->leader, g->index)
                     : xstrndup(g->leader, g->len);
    if (g->index < 0 || l->self.service == NULL || strcmp(l->self.host, name) == 0)
        return 0;
    err_set(err,
            "this pod is %s, but member %ld of the group of %s '%s' "
            "(LWS_WORKER_INDEX) is %s",
            l->self.host, g->index, address_name, g->leader, name);
    return -1;
}

static char *pods(const struct group *g)
{
    const char *rest = g->leader + g->len;
    int len = (int)g->len;
    if (g->size == 1)
        return xstrdup(g->leader);
    if (g->size == 2)
        return xasprintf("%s,%.*s-1%s", g->leader, len, g->leader, rest);
    return xasprintf("%s,%.*s-[1-%ld]%s", g->leader, len, g->leader, g->size - 1, rest);
}

int detect_lws(const struct detect_look *l, struct detected *out, struct err *err)
{
    struct group g = {.leader = detect_getenv(l, address_name)};
    if (g.leader == NULL && detect_getenv(l, "LWS_GROUP_SIZE") == NULL)
        return 0;
    if (detect_number(l, "LWS_GROUP_SIZE", 1, DETECT_MEMBERS_MAX, 0, &g.size, err) <
            0 ||
        detect_number(l, "LWS_WORKER_INDEX", 0, DETECT_MEMBERS_MAX - 1, -1, &g.index,
                      err) < 0 ||
        read_env(l, &g, err) < 0 || check_self(l, &g, err) < 0)
        return -1;
    char *group = xasprintf("group %.*s of %ld", (int)g.len, g.leader, g.size);
    detect_found_pods(out, "LeaderWorkerSet", pods(&g), group, xstrdup(address_name),
                      (uint32_t)g.size, g.index);
    return 1;
}
