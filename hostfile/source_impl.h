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
    char *trouble; // of the newest round, NULL: none; see source_status.h
};

// Remembers why the newest round did not give all; NULL: it did.
void source_trouble(struct source_env *env, const char *why);

// update() when something changed since the last report. The callback may destroy the
// source: nothing may be touched afterwards.
void source_report(struct source_env *env, const struct members *now);

// How long until the next round: from SOURCE_RETRY_MIN_MS, doubling to _MAX_MS, with
// jitter, and never more than 500 questions a second.
enum { SOURCE_RETRY_MIN_MS = 250, SOURCE_RETRY_MAX_MS = 2000 };
struct source_pace {
    unsigned step; // rounds in which nothing changed
};
uint64_t source_pace_next(struct source_pace *pace, size_t questions);
// A random number of milliseconds from lo to hi.
uint64_t source_jitter(uint64_t lo, uint64_t hi);

// Fixed names (hostfile, host list, pods, local). Takes `members` over.
struct source_list;
struct source_list *source_list_create(struct source_env *env, struct members *members,
                                       enum names_kind kind,
                                       const struct resolver_config *config,
                                       struct err *err);
const struct dns_stats *source_list_dns(const struct source_list *l); // NULL: no DNS
void source_list_recheck(struct source_list *l);
void source_list_destroy(struct source_list *l);

// A headless Service. `slots` for every member.
struct source_service;
struct source_service *source_service_create(struct source_env *env,
                                             const char *service, int slots,
                                             const struct resolver_config *config,
                                             struct err *err);
const struct dns_stats *source_service_dns(const struct source_service *s);
void source_service_recheck(struct source_service *s);
void source_service_destroy(struct source_service *s);

#endif
