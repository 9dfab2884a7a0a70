// The bed's DNS server: knotd in the fabric's namespace, changed by DNS updates.
#ifndef MUSTER_PODBOX_DNS_H
#define MUSTER_PODBOX_DNS_H

#include "tests/podbox/bed.h"
#include "tests/podbox/zone.h"

// Write its files from the bed's state and start it; dns_wait returns when it answers.
int dns_start(struct bed *bed, struct err *err);
int dns_wait(const struct bed *bed, struct err *err);

// Apply changes; returns when the server answers the new state. While the server is
// stopped they are kept, and applied by dns_resume.
int dns_change(const struct bed *bed, const struct zone_change *changes, size_t n,
               struct err *err);
int dns_change_name(const struct bed *bed, const char *name, const char *type,
                    const char *address, struct err *err);

// Faults: refuse (no server), be silent (it hangs), and back.
int dns_stop(struct bed *bed, struct err *err);
int dns_silence(struct bed *bed, struct err *err);
int dns_resume(struct bed *bed, struct err *err);

#endif
