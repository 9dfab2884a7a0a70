// A container's view of files: an overlay over the image and what a runtime mounts on it.
#ifndef MUSTER_PODBOX_ROOTFS_H
#define MUSTER_PODBOX_ROOTFS_H

#include "tests/podbox/bed.h"

struct rootfs {
    const char *image;         // a directory
    const struct strv *mounts; // KIND:NAME:/path
    bool read_only; // readOnlyRootFilesystem: all but mounts, /dev and etc's three
};

// Called by the container's pid 1, in mount and pid namespaces of its own: make the
// root and change to it. Nothing of it is visible outside, and it goes with the
// namespace.
int rootfs_enter(const struct bed *bed, const struct pod *pod, const struct rootfs *fs,
                 struct err *err);

// Split "KIND:NAME:/path"; false when it is malformed.
enum rootfs_mount_kind { ROOTFS_VOLUME, ROOTFS_SECRET, ROOTFS_BIND, ROOTFS_SHARE };
struct rootfs_mount {
    enum rootfs_mount_kind kind;
    char name[256];
    char path[1024];
};
bool rootfs_mount_parse(const char *entry, struct rootfs_mount *m);

#endif
