// DNS questions in the event loop; the only user of c-ares.
//
// Names are asked as they are (absolute), never searched, and no file of the system is
// read. A truncated UDP answer is asked again over TCP and never used itself, also when
// TCP fails. Servers
// are asked one after the other: the next when one fails, not when a name does not
// exist.
#ifndef MUSTER_HOSTFILE_DNS_H
#define MUSTER_HOSTFILE_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"
#include "common/strv.h"
#include "hostfile/dns_stats.h"

struct dns;
struct event_base;

enum dns_type { DNS_A, DNS_AAAA, DNS_PTR };

struct dns_answer {
    enum dns_status status;
    const char *server;            // that gave it, "" before any was asked
    struct sockaddr_storage *addr; // A, AAAA: ordered by address; port 0
    size_t naddr;
    struct strv names; // PTR: without final dot
    uint32_t ttl;      // seconds, the least of the addresses'; without any: how long
                       // that may be believed (RFC 2308); 0: not known
};

enum {
    DNS_SILENCE_MS = 4500, // a question ends after this when no server says anything
    DNS_IN_FLIGHT_MAX = 64,
};

// "10.96.0.10", "127.0.0.1:5353", "[fd00::a]:53": each a server; at least one.
struct dns *dns_create(struct event_base *base, const struct strv *servers,
                       struct err *err);
// Open questions are dropped without a word; also from inside a callback.
void dns_destroy(struct dns *dns); // NULL-safe

// The answer is borrowed and comes from the loop, never from inside this call. When all
// servers are silent, the questions that wait for their turn end with this one.
void dns_ask(struct dns *dns, const char *name, enum dns_type type,
             void (*done)(void *arg, const struct dns_answer *answer), void *arg);
// The name to ask for an address's PTR. Caller frees.
char *dns_reverse_name(const struct sockaddr_storage *addr);

// Since dns_create(). Borrowed.
const struct dns_stats *dns_stats(const struct dns *dns);
// "NXDOMAIN", "no address", "SERVFAIL", "refused", "timeout", ...
const char *dns_status_word(enum dns_status status);
// DNS_SERVFAIL and worse: nothing is known of the name, another server may know.
bool dns_status_is_failure(enum dns_status status);

#endif
