// From a name to addresses: candidates of names.h, DNS, /etc/hosts, and this machine.
#ifndef MUSTER_HOSTFILE_RESOLVER_H
#define MUSTER_HOSTFILE_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"
#include "hostfile/dns_stats.h"
#include "hostfile/names.h"

struct event_base;
struct resolver;

struct resolver_config {
    const char *resolv_conf; // NULL: /etc/resolv.conf
    const char *hosts_file;  // NULL: /etc/hosts
    const char *dns_servers; // NULL: those of resolv.conf
    bool alone;              // the group is this machine only: loopback will do for it
};

// Which records to ask for. FIRST: the other kind, too, when the name has none of this.
enum resolver_family {
    RESOLVER_IPV4_FIRST,
    RESOLVER_IPV6_FIRST,
    RESOLVER_IPV4,
    RESOLVER_IPV6,
};

struct resolver_question {
    const char *name; // without final dot
    bool absolute;    // it had one: no other name is asked
    enum names_kind kind;
    enum resolver_family family;
};

struct resolver_result {
    const struct sockaddr_storage *addr; // ordered; port 0
    size_t n;                            // 0: none
    const char *why;   // when there is none: "NXDOMAIN (train-0.train.ns.svc...)"
    bool gone;         // when there is none: the name does not exist (not: a failure)
    bool silent;       // when there is none: no server said anything
    const char *asked; // the absolute name that has them, NULL when not from DNS
    uint32_t ttl;      // seconds, also of "gone"; 0: not known
};

typedef void resolver_done(void *arg, const struct resolver_result *result);

struct resolver *resolver_create(struct event_base *base,
                                 const struct resolver_config *config, struct err *err);
// Open questions are dropped without a word; not from inside a callback of
// resolver_ask() that is still on the stack.
void resolver_destroy(struct resolver *r); // NULL-safe

// False when resolv.conf names no server (then only /etc/hosts and literals help).
bool resolver_has_dns(const struct resolver *r);
// Why not. Caller frees.
char *resolver_lacks_dns(const struct resolver *r);
const struct dns_stats *resolver_dns(const struct resolver *r); // NULL: no server
// Read /etc/hosts again: once a round.
void resolver_reload_hosts(struct resolver *r);
// The result is borrowed; it may come from inside this call.
void resolver_ask(struct resolver *r, const struct resolver_question *question,
                  resolver_done *done, void *arg);
// The Service that a pod's name belongs to, as names_service() has it.
char *resolver_service(const struct resolver *r,
                       const struct resolver_question *question);
// The names of an address that end in "." + suffix (absolute, with or without final
// dot): the part in front of it, or NULL; `sure` is false when DNS failed. The resolver
// has DNS.
void resolver_reverse(struct resolver *r, const struct sockaddr_storage *addr,
                      const char *suffix,
                      void (*done)(void *arg, const char *head, bool sure), void *arg);

#endif
