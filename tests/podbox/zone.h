// Texts for the DNS server: what CoreDNS's kubernetes plugin would answer. Pure.
#ifndef MUSTER_PODBOX_ZONE_H
#define MUSTER_PODBOX_ZONE_H

#include "tests/podbox/bed.h"

enum zone { ZONE_CLUSTER, ZONE_REVERSE4, ZONE_REVERSE6, ZONE_ROOT, ZONE_COUNT };

char *zone_name(const struct bed *bed, enum zone zone); // with the final dot
const char *zone_file_name(enum zone zone);
// Master file with the records of all published pods.
char *zone_file(const struct bed *bed, enum zone zone);
// knotd's configuration, for files in `dir`.
char *zone_server_config(const struct bed *bed, const char *dir);

// knsupdate's lines that bring the records of a pod's address into a state.
struct zone_change {
    const struct pod *pod;
    unsigned host;
    bool published;
};
char *zone_update(const struct bed *bed, const struct zone_change *changes, size_t n);
// Replace (address NULL: remove) the A and AAAA records of one name.
char *zone_update_name(const struct bed *bed, const char *name, const char *type,
                       const char *address);

#endif
