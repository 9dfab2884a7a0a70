// What the kinds of sources share: the inside of source.h, for hostfile/source*.c only.
#ifndef MUSTER_HOSTFILE_SOURCE_IMPL_H
#define MUSTER_HOSTFILE_SOURCE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "hostfile/resolver.h"
#include "hostfile/source.h"

// Where a source reports to, and what it reported last.
struct source_env {
    struct event_base *base;
    struct source_ops ops;
    void *arg;
    struct log *log;
    char *what; // source_describe()
    struct members last;
    bool reported;
    uint64_t rounds;
    uint32_t poll_ms; // of the spec
    char *trouble;    // of the newest round, NULL: none; see source_status.h
};

// Remembers why the newest round did not give all; NULL: it did.
void source_trouble(struct source_env *env, const char *why);

// update() when something changed since the last report. The callback may destroy the
// source: nothing may be touched afterwards.
void source_report(struct source_env *env, const struct members *now);

// When the next round is due.
//
// Something is missing or in doubt: after SOURCE_RETRY_MIN_MS, doubling to _MAX_MS, not
// before a negative answer's time is over (as far as _MAX_MS), and never more than 500
// questions a second; a source that is followed goes over to its poll when nothing changes.
// Nothing is: the poll, which is the TTL within bounds. All with jitter.
enum {
    SOURCE_RETRY_MIN_MS = 250,
    SOURCE_RETRY_MAX_MS = 2000,
    SOURCE_POLL_MIN_MS = 1000,
    SOURCE_POLL_MAX_MS = 5000,
};
struct source_pace {
    uint32_t poll_ms; // of the spec
    unsigned step;    // rounds in which nothing changed
    uint32_t ttl;     // of this round's answers, the least; 0: not known
    uint32_t no_ttl;  // of its negative answers, the greatest
    size_t questions; // of this round
};
// While all is well each so-manyth round asks one name, all of them in turn, and not their Service:
// a name can move to an address that its Service lists all the time (two pods change places).
enum { SOURCE_TURN = 4 };

// A round begins.
void source_pace_begin(struct source_pace *pace);
void source_pace_count(struct source_pace *pace, const struct resolver_result *r);
uint64_t source_pace_retry(struct source_pace *pace);
uint64_t source_pace_poll(const struct source_pace *pace);

// Fixed names (hostfile, host list, pods, local). Takes `members` over.
struct source_list;
struct source_list *source_list_create(struct source_env *env, struct members *members,
                                       enum names_kind kind,
                                       const struct resolver_config *config,
                                       struct err *err);
const struct dns_stats *source_list_dns(const struct source_list *l); // NULL: no DNS
void source_list_recheck(struct source_list *l, const char *lost);
void source_list_destroy(struct source_list *l); // NULL-safe

// A headless Service. `slots` for every member.
struct source_service;
struct source_service *source_service_create(struct source_env *env,
                                             const char *service, int slots,
                                             const struct resolver_config *config,
                                             struct err *err);
const struct dns_stats *source_service_dns(const struct source_service *s);
void source_service_recheck(struct source_service *s, const char *lost);
void source_service_destroy(struct source_service *s); // NULL-safe

#endif
