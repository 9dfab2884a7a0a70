// podbox ready, unready, cut, heal, freeze, thaw: change the state of pods that run.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/cgroup.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/dns.h"
#include "tests/podbox/net.h"
#include "tests/podbox/procs.h"
#include "tests/podbox/target.h"

// ---- readiness --------------------------------------------------------------

static int set_ready(struct target *t, bool ready, struct err *err)
{
    CLEANUP_FREE struct zone_change *changes = xcalloc(t->n, sizeof *changes);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        struct pod *pod = t->pods[i];
        bool was = pod_published(t->bed, pod);
        pod->ready = ready;
        if (pod_published(t->bed, pod) != was)
            changes[n++] = (struct zone_change){pod, pod->host, !was};
    }
    if (n > 0 && dns_change(t->bed, changes, n, err) < 0)
        return -1;
    return bed_save(t->bed, err);
}

int cmd_ready(const char *name, int argc, char **argv, struct err *err)
{
    struct target t;
    int rc = target_take(&t, name, argc, argv, err);
    if (rc == 0)
        rc = set_ready(&t, strcmp(argv[0], "ready") == 0, err);
    target_leave(&t);
    return rc;
}

// ---- silent loss ------------------------------------------------------------

int cmd_cut(const char *name, int argc, char **argv, struct err *err)
{
    struct target t;
    bool cut = strcmp(argv[0], "cut") == 0;
    int rc = target_take(&t, name, argc, argv, err);
    for (size_t i = 0; rc == 0 && i < t.n; i++)
        t.pods[i]->cut = cut;
    if (rc == 0)
        rc = net_apply_cuts(t.bed, err);
    if (rc == 0)
        rc = bed_save(t.bed, err);
    target_leave(&t);
    return rc;
}

// ---- freezing ---------------------------------------------------------------

static int freeze(const struct bed *bed, const struct pod *pod, bool frozen,
                  struct err *err)
{
    enum cgroup_kind kind = cgroup_kind();
    CLEANUP_FREE char *dir = cgroup_dir(bed, pod);
    struct ident id = pod_container(bed, pod);
    if (id.pid == 0) {
        err_set(err, "no container runs in pod %s", pod->name);
        return -1;
    }
    if (kind != CGROUP_NONE)
        return cgroup_freeze(dir, kind, frozen, err);
    procs_signal(&id, frozen ? SIGSTOP : SIGCONT);
    return 0;
}

int cmd_freeze(const char *name, int argc, char **argv, struct err *err)
{
    struct target t;
    bool frozen = strcmp(argv[0], "freeze") == 0;
    int rc = target_take(&t, name, argc, argv, err);
    for (size_t i = 0; rc == 0 && i < t.n; i++)
        rc = freeze(t.bed, t.pods[i], frozen, err);
    if (rc == 0 && frozen)
        printf("frozen by %s\n", cgroup_kind_text(cgroup_kind()));
    target_leave(&t);
    return rc;
}
