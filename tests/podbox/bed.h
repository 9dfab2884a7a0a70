// A bed: its settings, its pods and where its state lies (/run/podbox/NAME).
//
// bed.json holds everything but what a shim writes (pods/POD/container); commands that
// change it hold the bed's lock and replace the file whole.
#ifndef MUSTER_PODBOX_BED_H
#define MUSTER_PODBOX_BED_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/strv.h"
#include "tests/podbox/ident.h"

#define BED_ROOT "/run/podbox"

enum {
    BED_EXIT_CANNOT = 77, // this machine or user cannot run a bed: tests skip
    BED_EXIT_USAGE = 2,
    BED_PREFIX_BITS = 22, // 10.77.(4*net).0/22
    BED_NETS = 64,
    BED_HOST_GATEWAY = 1,
    BED_HOST_DNS = 10,
    BED_HOST_FIRST_POD = 16,
    BED_HOST_LAST_POD = 1021,
};

struct pod {
    char *name; // owned
    unsigned index;
    unsigned host; // the address within the bed's prefix
    bool ready;
    bool cut;
    char uid[37]; // metadata.uid
    struct ident sandbox;
};

struct bed {
    char *name, *dir; // owned, as all strings here
    char *service, *ns, *domain;
    unsigned net; // 0..BED_NETS-1
    unsigned next_host;
    unsigned ttl;
    bool ipv6, publish_not_ready;
    uid_t uid; // of the containers' processes
    gid_t gid;
    struct strv env;    // NAME=VALUE; {ip} {name} {index} {uid} stand for the pod's own
    struct strv mounts; // volume|secret|bind|share:NAME:/path
    struct strv
        roots; // [POD=]DIR: the image of that pod, or of all; the last one counts
    struct strv command; // empty: pause
    struct ident fabric, dns;
    struct pod *pods;
    size_t npods;
};

struct bed *bed_create(const char *name, struct err *err); // refuses unusable names
void bed_destroy(struct bed *bed);
void bed_add_pod(struct bed *bed, const char *name);
// The next address that was not used lately.
unsigned bed_take_host(struct bed *bed);

// Make the state of a new bed; refuses one that is there. Picks an unused net.
int bed_claim(struct bed *bed, struct err *err);
struct bed *bed_load(const char *name, struct err *err);
int bed_save(const struct bed *bed, struct err *err);
// An fd that holds the bed's lock until closed; waits at most ms. -1: error.
int bed_lock(const char *name, int ms, struct err *err);

struct pod *bed_pod(const struct bed *bed, const char *name, struct err *err);
char *bed_path(const struct bed *bed, const char *file);
char *pod_path(const struct bed *bed, const struct pod *pod, const char *file);
// Pid 1 of the pod's container, {0} when none runs.
struct ident pod_container(const struct bed *bed, const struct pod *pod);
// name.service.namespace.svc.domain
char *pod_fqdn(const struct bed *bed, const struct pod *pod);
bool pod_published(const struct bed *bed, const struct pod *pod);
// The directory that is the pod's image; "/", this machine's, where none was named.
const char *pod_root(const struct bed *bed, const struct pod *pod);
// The environment of the pod's containers.
void pod_env(const struct bed *bed, const struct pod *pod, struct strv *env);

struct in_addr bed_addr(const struct bed *bed, unsigned host);
struct in6_addr bed_addr6(const struct bed *bed, unsigned host);
char *bed_addr_text(const struct bed *bed, unsigned host);
char *bed_addr6_text(const struct bed *bed, unsigned host);

#endif
