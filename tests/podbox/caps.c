// Reduce a process to a container's default capabilities.
#include "tests/podbox/caps.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned kept[] = {
    CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FSETID,           CAP_FOWNER,
    CAP_MKNOD,   CAP_NET_RAW,      CAP_SETGID,           CAP_SETUID,
    CAP_SETFCAP, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
    CAP_KILL,    CAP_AUDIT_WRITE,
};

static int drop(struct err *err)
{
    uint64_t keep = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        keep |= UINT64_C(1) << kept[i];
    for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if ((keep >> cap & 1) == 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
            err_set_errno(err, errno, "cannot drop capability %u", cap);
            return -1;
        }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t word = (uint32_t)(keep >> (32 * i));
        data[i] = (struct __user_cap_data_struct){.effective = word, .permitted = word};
    }
    if (syscall(SYS_capset, &head, data) < 0) {
        err_set_errno(err, errno, "cannot reduce the capabilities");
        return -1;
    }
    return 0;
}

int caps_become(uid_t uid, gid_t gid, struct err *err)
{
    if (drop(err) < 0)
        return -1;
    if (uid == 0 && gid == 0)
        return 0;
    if (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
        setresuid(uid, uid, uid) == 0)
        return 0;
    err_set_errno(err, errno, "cannot become user %u:%u", (unsigned)uid, (unsigned)gid);
    return -1;
}
