// A source, its DNS server and its files, for tests.
#ifndef MUSTER_TESTS_SOURCE_BED_H
#define MUSTER_TESTS_SOURCE_BED_H

#include <stdbool.h>
#include <stddef.h>

#include "fakedns.h"
#include "hostfile/source.h"

#define SOURCE_BED_SERVICE "train.team-a.svc.kube.local"

struct source_bed {
    struct event_base *base;
    struct fakedns *server;
    struct source *source;
    struct members members; // newest
    struct err err;
    size_t updates;
    uint32_t poll_ms; // of the spec
    bool failed, destroy;
    const char *until; // stop when the members read so; NULL: at the first report
    char dir[32];
    char resolv_conf[64], hosts_file[64], hostfile[64];
};

void source_bed_start(struct source_bed *b);
void source_bed_stop(struct source_bed *b);
void source_bed_put_file(const char *path, const char *text);
// False: the source was refused (b->err).
bool source_bed_begin(struct source_bed *b, enum source_kind kind, const char *text);
// "name=address" or "name!reason" for each, then "#warning" for each. Caller frees.
char *source_bed_describe(const struct members *m);
// Runs until the members read so (bounded by the test's timeout).
void source_bed_await(struct source_bed *b, const char *until);
// The first report reads so.
void source_bed_expect_first(struct source_bed *b, const char *expected);
// Runs until the source has begun so many rounds more.
void source_bed_rounds(struct source_bed *b, unsigned n);
// How often `line` ("A name") is in the server's log.
size_t source_bed_asked(const struct source_bed *b, const char *line);

#endif
