// Holders of namespaces.
#include "tests/podbox/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/podbox/boot.h"
#include "tests/podbox/cgroup.h"
#include "tests/podbox/file.h"
#include "tests/podbox/net.h"

static int hold(struct err *err)
{
    close(BOOT_FD);
    for (;;)
        pause();
    return -1;
}

static int make_namespaces(const struct bed *bed, const struct pod *pod,
                           struct err *err)
{
    CLEANUP_FREE char *shm = pod_path(bed, pod, "shm");
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS) < 0) {
        err_set_errno(err, errno, "cannot make namespaces");
        return -1;
    }
    if (sethostname(pod->name, strlen(pod->name)) < 0) {
        err_set_errno(err, errno, "cannot set host name %s", pod->name);
        return -1;
    }
    // Slave: what the host unmounts does not stay busy because of us.
    if (file_mkdirs(shm, 0755, err) < 0)
        return -1;
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        mount("shm", shm, "tmpfs", MS_NOSUID | MS_NOEXEC | MS_NODEV,
              "mode=1777,size=65536k") < 0) {
        err_set_errno(err, errno, "cannot mount the pod's /dev/shm");
        return -1;
    }
    return 0;
}

int sandbox_main(const struct bed *bed, const struct pod *pod, struct err *err)
{
    CLEANUP_FREE char *group = cgroup_dir(bed, NULL);
    if (cgroup_join(group, err) < 0 || make_namespaces(bed, pod, err) < 0)
        return -1;
    boot_say(BOOT_FD, "made");
    if (boot_expect(BOOT_FD, "plugged", err) < 0 || net_configure(bed, pod, err) < 0)
        return -1;
    boot_say(BOOT_FD, "ok");
    return hold(err);
}

int sandbox_fabric_main(struct err *err)
{
    if (unshare(CLONE_NEWNET) < 0) {
        err_set_errno(err, errno, "cannot make a network namespace");
        return -1;
    }
    boot_say(BOOT_FD, "ok");
    return hold(err);
}

// ---- podbox's side ----------------------------------------------------------

static int expect_all(const struct bed *bed, size_t first, struct boot *b, size_t n,
                      const char *word, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (boot_expect(b[i].fd, word, err) < 0) {
            err_prefix(err, "sandbox of pod %s", bed->pods[first + i].name);
            return -1;
        }
    return 0;
}

static int start_all(struct bed *bed, size_t first, size_t n, struct boot *b,
                     struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct pod *pod = &bed->pods[first + i];
        if (cgroup_make(bed, pod, err) < 0 ||
            boot_start(bed, BOOT_SANDBOX, pod->name, &b[i], err) < 0)
            return -1;
        pod->sandbox = b[i].id;
    }
    if (expect_all(bed, first, b, n, "made", err) < 0 ||
        net_plug(bed, first, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        boot_say(b[i].fd, "plugged");
    return expect_all(bed, first, b, n, "ok", err);
}

int sandbox_start(struct bed *bed, size_t first, size_t n, struct err *err)
{
    CLEANUP_FREE struct boot *b = xcalloc(n, sizeof *b);
    for (size_t i = 0; i < n; i++)
        b[i].fd = -1;
    int rc = start_all(bed, first, n, b, err);
    for (size_t i = 0; i < n; i++)
        boot_close(&b[i]);
    return rc;
}

int sandbox_fabric_start(struct bed *bed, struct err *err)
{
    struct boot b;
    if (cgroup_make(bed, NULL, err) < 0 ||
        boot_start(bed, BOOT_FABRIC, NULL, &b, err) < 0)
        return -1;
    bed->fabric = b.id;
    int rc = boot_expect(b.fd, "ok", err);
    boot_close(&b);
    return rc < 0 ? -1 : net_fabric_up(bed, err);
}
