// Xids: what NVIDIA's driver reports of a GPU in the kernel's log, and what they mean. Pure.
#ifndef MUSTER_KERNELS_CHECK_XID_H
#define MUSTER_KERNELS_CHECK_XID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What is to be done (NVIDIA, XID Errors, "Xid Catalog").
enum xid_meaning {
    XID_UNKNOWN,     // reported, no verdict
    XID_APPLICATION, // a program's mistake, or of one that another program made
    XID_WORKFLOW,    // memory, GSP or NVLink: a GPU that is to be reset and looked at
    XID_REBOOT,      // the GPU has fallen off the bus
};

enum xid_meaning xid_meaning(uint64_t number);
const char *xid_meaning_text(enum xid_meaning meaning);

struct xid_event {
    char bus_id[32]; // "0000:3b:00"
    unsigned number;
    uint64_t at_us; // since the machine's boot
};

// A record of /dev/kmsg ("6,1234,5678901,-;NVRM: Xid (PCI:0000:3b:00): 79, ..."). False: it
// is about something else.
bool xid_parse(const char *record, struct xid_event *event);

// The worst of them wins, of equals the later one.
bool xid_is_worse(const struct xid_event *a, const struct xid_event *b);

#endif
