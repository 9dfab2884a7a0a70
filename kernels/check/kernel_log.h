// The Xids in the kernel's log, the worst one of each GPU.
#ifndef MUSTER_KERNELS_CHECK_KERNEL_LOG_H
#define MUSTER_KERNELS_CHECK_KERNEL_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "kernels/check/xid.h"

struct kernel_log {
    struct xid_event *v; // one a GPU; owned
    size_t n;
};

// path: /dev/kmsg, or a file of such records. An error where it may not be read, which in
// most containers it may not.
int kernel_log_read(struct kernel_log *log, const char *path, struct err *err);
// The worst Xid of a GPU ("0000:3b:00.0"), NULL: none.
const struct xid_event *kernel_log_of(const struct kernel_log *log, const char *bus_id);
void kernel_log_free(struct kernel_log *log);
// Now, as the log counts: microseconds.
uint64_t kernel_log_now_us(void);

#endif
