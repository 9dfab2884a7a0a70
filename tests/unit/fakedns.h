// A DNS server for tests: UDP and TCP on 127.0.0.1, in the test's own event loop.
#ifndef MUSTER_TESTS_FAKEDNS_H
#define MUSTER_TESTS_FAKEDNS_H

#include <stddef.h>

struct event_base;
struct fakedns;

enum fakedns_mood {
    FAKEDNS_GOOD,
    FAKEDNS_SILENT,
    FAKEDNS_SERVFAIL,
    FAKEDNS_REFUSED,
    FAKEDNS_TRUNCATED,       // every UDP answer: empty, with the TC bit
    FAKEDNS_PARTIAL,         // every UDP answer: one record, with the TC bit
    FAKEDNS_CUT_WITHOUT_TCP, // the same, and TCP connections are closed
    FAKEDNS_GARBAGE,         // answers that end inside a record
};

struct fakedns *fakedns_create(struct event_base *base);
void fakedns_destroy(struct fakedns *f);
// "127.0.0.1:PORT".
const char *fakedns_server(const struct fakedns *f);
void fakedns_set_mood(struct fakedns *f, enum fakedns_mood mood);
// Negative answers bring an SOA with this TTL and minimum; 0: none.
void fakedns_set_soa(struct fakedns *f, unsigned seconds);
// A record of a name (no final dot; "*.corp.example": of all names that end so): type "A",
// "AAAA" or "PTR" with its value. An "A" of "" makes the name exist without any.
void fakedns_add(struct fakedns *f, const char *name, const char *type,
                 const char *value);
// An A record and the PTR that leads back.
void fakedns_add_pod(struct fakedns *f, const char *service, const char *head,
                     const char *addr);
void fakedns_remove(struct fakedns *f, const char *name); // all its records
void fakedns_remove_value(struct fakedns *f, const char *value);
// What was asked so far: "A name\n" for each question in order; over TCP "A/tcp
// name\n".
const char *fakedns_log(const struct fakedns *f);
void fakedns_clear_log(struct fakedns *f);

#endif
