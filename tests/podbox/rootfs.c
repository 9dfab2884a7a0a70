// Mounts of a container, as a runtime makes them for kubelet.
#include "tests/podbox/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/podbox/file.h"
#include "tests/podbox/volume.h"

static int mount_at(const char *source, const char *root, const char *path,
                    const char *type, unsigned long flags, const char *data,
                    struct err *err)
{
    CLEANUP_FREE char *target = xasprintf("%s%s", root, path);
    if (mount(source, target, type, flags, data) == 0)
        return 0;
    err_set_errno(err, errno, "cannot mount %s on %s", source, path);
    return -1;
}

// The overlay: what the container writes goes to a tmpfs, which goes with it.
static char *make_root(const struct bed *bed, const struct pod *pod, const char *image,
                       struct err *err)
{
    CLEANUP_FREE char *base = pod_path(bed, pod, "root");
    CLEANUP_FREE char *upper = xasprintf("%s/upper", base);
    CLEANUP_FREE char *work = xasprintf("%s/work", base);
    CLEANUP_FREE char *merged = xasprintf("%s/merged", base);
    CLEANUP_FREE char *data =
        xasprintf("lowerdir=%s,upperdir=%s,workdir=%s", image, upper, work);
    if (file_mkdirs(base, 0755, err) < 0 ||
        mount_at("tmpfs", base, "", "tmpfs", 0, "mode=755", err) < 0 ||
        file_mkdirs(upper, 0755, err) < 0 || file_mkdirs(work, 0755, err) < 0 ||
        file_mkdirs(merged, 0755, err) < 0)
        return NULL;
    if (mount("overlay", merged, "overlay", 0, data) < 0) {
        err_set_errno(err, errno, "cannot mount an overlay over %s (%s)", image, data);
        return NULL;
    }
    return STEAL(merged);
}

struct plain {
    const char *type, *path;
    unsigned long flags;
    const char *data;
};

// In this order. /root is empty instead of the developer's; every user may pass through it,
// because a bound build tree can lie below.
static const struct plain plains[] = {
    {"proc", "/proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL},
    {"sysfs", "/sys", MS_NOSUID | MS_NOEXEC | MS_NODEV | MS_RDONLY, NULL},
    {"tmpfs", "/dev", MS_NOSUID, "mode=755,size=65536k"},
    {"devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC,
     "newinstance,ptmxmode=0666,mode=0620"},
    {"mqueue", "/dev/mqueue", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL},
    {"tmpfs", "/root", MS_NODEV, "mode=711"},
    {"tmpfs", "/tmp", MS_NODEV, "mode=1777"},
    {"tmpfs", "/run", MS_NODEV, "mode=755"},
};

static int make_plain(const char *root, const struct plain *p, struct err *err)
{
    CLEANUP_FREE char *target = xasprintf("%s%s", root, p->path);
    if (file_mkdirs(target, 0755, err) < 0)
        return -1;
    return mount_at(p->type, root, p->path, p->type, p->flags, p->data, err);
}

static int bind_node(const char *root, const char *path, struct err *err)
{
    CLEANUP_FREE char *target = xasprintf("%s%s", root, path);
    if (file_write(target, "", 0666, err) < 0)
        return -1;
    return mount_at(path, root, path, NULL, MS_BIND, NULL, err);
}

static int make_dev(const struct bed *bed, const struct pod *pod, const char *root,
                    struct err *err)
{
    static const char *const nodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                        "/dev/random", "/dev/urandom", "/dev/tty"};
    static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},
                                           {"/proc/self/fd/0", "/dev/stdin"},
                                           {"/proc/self/fd/1", "/dev/stdout"},
                                           {"/proc/self/fd/2", "/dev/stderr"},
                                           {"pts/ptmx", "/dev/ptmx"}};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        if (bind_node(root, nodes[i], err) < 0)
            return -1;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        CLEANUP_FREE char *at = xasprintf("%s%s", root, links[i][1]);
        if (symlink(links[i][0], at) < 0) {
            err_set_errno(err, errno, "cannot make %s", links[i][1]);
            return -1;
        }
    }
    // The sandbox's: it outlives the container, as a pod's does.
    CLEANUP_FREE char *shm = pod_path(bed, pod, "shm");
    CLEANUP_FREE char *target = xasprintf("%s/dev/shm", root);
    if (file_mkdirs(target, 01777, err) < 0)
        return -1;
    return mount_at(shm, root, "/dev/shm", NULL, MS_BIND, NULL, err);
}

static int bind_etc(const struct bed *bed, const struct pod *pod, const char *root,
                    const char *name, struct err *err)
{
    CLEANUP_FREE char *from = pod_path(bed, pod, name);
    CLEANUP_FREE char *path = xasprintf("/etc/%s", name);
    CLEANUP_FREE char *target = xasprintf("%s%s", root, path);
    CLEANUP_FREE char *etc = xasprintf("%s/etc", root);
    struct stat st;
    if (file_mkdirs(etc, 0755, err) < 0)
        return -1;
    if (lstat(target, &st) < 0 || !S_ISREG(st.st_mode)) {
        unlink(target); // a link of the host's would lead the mount astray
        if (file_write(target, "", 0644, err) < 0)
            return -1;
    }
    return mount_at(from, root, path, NULL, MS_BIND, NULL, err);
}

bool rootfs_mount_parse(const char *entry, struct rootfs_mount *m)
{
    char kind[16];
    if (sscanf(entry, "%15[a-z]:%255[^:]:%1023[^:]", kind, m->name, m->path) != 3 ||
        m->path[0] != '/')
        return false;
    m->kind = strcmp(kind, "volume") == 0   ? ROOTFS_VOLUME
              : strcmp(kind, "secret") == 0 ? ROOTFS_SECRET
              : strcmp(kind, "share") == 0  ? ROOTFS_SHARE
                                            : ROOTFS_BIND;
    return true;
}

static int make_mount(const struct bed *bed, const char *root, const char *entry,
                      struct err *err)
{
    struct rootfs_mount m;
    if (!rootfs_mount_parse(entry, &m)) {
        err_set(err, "mount '%s': want KIND:NAME:/path", entry);
        return -1;
    }
    CLEANUP_FREE char *from =
        m.kind >= ROOTFS_BIND ? xstrdup(m.name) : volume_dir(bed, m.name);
    CLEANUP_FREE char *target = xasprintf("%s%s", root, m.path);
    if (file_mkdirs(target, 0755, err) < 0 ||
        mount_at(from, root, m.path, NULL, MS_BIND, NULL, err) < 0)
        return -1;
    if (m.kind == ROOTFS_SHARE)
        return 0;
    return mount_at("none", root, m.path, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL,
                    err);
}

// What a runtime shows read-only to a container that is not privileged.
static int protect_proc(const char *root, struct err *err)
{
    static const char *const paths[] = {"/proc/bus", "/proc/fs", "/proc/irq",
                                        "/proc/sys", "/proc/sysrq-trigger"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        CLEANUP_FREE char *path = xasprintf("%s%s", root, paths[i]);
        if (!file_exists(path))
            continue;
        if (mount_at(path, root, paths[i], NULL, MS_BIND, NULL, err) < 0 ||
            mount_at("none", root, paths[i], NULL,
                     MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC |
                         MS_NODEV,
                     NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int change_root(const char *root, struct err *err)
{
    if (chdir(root) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
        umount2(".", MNT_DETACH) == 0 && chdir("/") == 0)
        return 0;
    err_set_errno(err, errno, "cannot change to the container's root");
    return -1;
}

// The places of mounts are made first: they may lie in what becomes read-only.
static int protect_root(const char *root, const struct strv *mounts, struct err *err)
{
    static const char *const paths[] = {"/root", "/tmp", "/run", ""};
    const unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
    for (size_t i = 0; i < mounts->n; i++) {
        struct rootfs_mount m;
        CLEANUP_FREE char *target = rootfs_mount_parse(mounts->v[i], &m)
                                        ? xasprintf("%s%s", root, m.path)
                                        : NULL;
        if (target != NULL && file_mkdirs(target, 0755, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (mount_at("none", root, paths[i], NULL, flags, NULL, err) < 0)
            return -1;
    return 0;
}

int rootfs_enter(const struct bed *bed, const struct pod *pod, const struct rootfs *fs,
                 struct err *err)
{
    static const char *const etc[] = {"hosts", "resolv.conf", "hostname"};
    umask(0);
    if (mount_at("none", "", "/", NULL, MS_REC | MS_PRIVATE, NULL, err) < 0)
        return -1;
    CLEANUP_FREE char *root = make_root(bed, pod, fs->image, err);
    if (root == NULL)
        return -1;
    for (size_t i = 0; i < sizeof plains / sizeof plains[0]; i++)
        if (make_plain(root, &plains[i], err) < 0)
            return -1;
    if (make_dev(bed, pod, root, err) < 0 || protect_proc(root, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof etc / sizeof etc[0]; i++)
        if (bind_etc(bed, pod, root, etc[i], err) < 0)
            return -1;
    if (fs->read_only && protect_root(root, fs->mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < fs->mounts->n; i++)
        if (make_mount(bed, root, fs->mounts->v[i], err) < 0)
            return -1;
    umask(022);
    return change_root(root, err);
}
