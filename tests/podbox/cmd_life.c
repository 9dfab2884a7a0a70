// podbox kill, restart, replace: the ends and new beginnings of containers and pods.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/dns.h"
#include "tests/podbox/file.h"
#include "tests/podbox/net.h"
#include "tests/podbox/sandbox.h"
#include "tests/podbox/shim.h"
#include "tests/podbox/target.h"

enum { END_MS = 5000, NOTE_MS = 500 };

static int end_process(const struct ident *id, const char *what, const struct pod *pod,
                       struct err *err)
{
    if (ident_end(id, END_MS))
        return 0;
    err_set(err, "%s of pod %s (process %d) is there %d ms after SIGKILL", what,
            pod->name, (int)id->pid, (int)END_MS);
    return -1;
}

// Returns when the shim has written down the end, too.
static int end_container(const struct bed *bed, const struct pod *pod, struct err *err)
{
    struct ident id = pod_container(bed, pod);
    CLEANUP_FREE char *note = pod_path(bed, pod, "exit");
    if (id.pid == 0)
        return 0;
    if (end_process(&id, "the container", pod, err) < 0)
        return -1;
    for (uint64_t end = loop_now_ms() + NOTE_MS; loop_now_ms() < end;) {
        if (file_exists(note))
            break; // else the shim was killed before: nobody will write it
        poll(NULL, 0, 1);
    }
    return 0;
}

int cmd_kill(const char *name, int argc, char **argv, struct err *err)
{
    struct target t;
    int rc = target_take(&t, name, argc, argv, err);
    for (size_t i = 0; rc == 0 && i < t.n; i++)
        rc = end_container(t.bed, t.pods[i], err);
    target_leave(&t);
    return rc;
}

static int start_container(const struct bed *bed, const struct pod *pod,
                           struct err *err)
{
    return shim_start(bed, (size_t)(pod - bed->pods), 1, err);
}

int cmd_restart(const char *name, int argc, char **argv, struct err *err)
{
    struct target t;
    int rc = target_take(&t, name, argc, argv, err);
    for (size_t i = 0; rc == 0 && i < t.n; i++) {
        rc = end_container(t.bed, t.pods[i], err);
        if (rc == 0)
            rc = start_container(t.bed, t.pods[i], err);
    }
    target_leave(&t);
    return rc;
}

// ---- replace ----------------------------------------------------------------

static int end_pod(const struct bed *bed, const struct pod *pod, struct err *err)
{
    if (end_container(bed, pod, err) < 0 || net_unplug(bed, pod, err) < 0 ||
        end_process(&pod->sandbox, "the sandbox", pod, err) < 0)
        return -1;
    CLEANUP_FREE char *dir = pod_path(bed, pod, "shm");
    return file_remove_tree(dir, err); // its tmpfs went with the sandbox
}

static int move_records(const struct bed *bed, const struct pod *pod, unsigned old,
                        struct err *err)
{
    const struct zone_change changes[] = {{pod, old, false}, {pod, pod->host, true}};
    if (!pod_published(bed, pod) || old == pod->host)
        return 0;
    return dns_change(bed, changes, 2, err);
}

static int replace(struct bed *bed, struct pod *pod, bool same_address, struct err *err)
{
    unsigned old = pod->host;
    if (end_pod(bed, pod, err) < 0)
        return -1;
    CLEANUP_FREE char *uid = file_read("/proc/sys/kernel/random/uuid", err);
    if (uid == NULL)
        return -1;
    snprintf(pod->uid, sizeof pod->uid, "%.36s", uid);
    bool was_cut = pod->cut;
    pod->cut = false;
    if (was_cut && net_apply_cuts(bed, err) < 0)
        return -1;
    if (!same_address)
        pod->host = bed_take_host(bed);
    if (bed_save(bed, err) < 0 ||
        sandbox_start(bed, (size_t)(pod - bed->pods), 1, err) < 0 ||
        bed_save(bed, err) < 0 || start_container(bed, pod, err) < 0)
        return -1;
    return move_records(bed, pod, old, err);
}

int cmd_replace(const char *name, int argc, char **argv, struct err *err)
{
    bool same = argc == 3 && strcmp(argv[2], "--same-address") == 0;
    struct target t;
    int rc = target_take(&t, name, same ? 2 : argc, argv, err);
    for (size_t i = 0; rc == 0 && i < t.n; i++)
        rc = replace(t.bed, t.pods[i], same, err);
    target_leave(&t);
    return rc;
}
