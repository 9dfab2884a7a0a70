// A pod on paper: environment, files and name, for tests of what is found in it.
#ifndef MUSTER_TESTS_UNIT_PAPER_POD_H
#define MUSTER_TESTS_UNIT_PAPER_POD_H

#include "common/strv.h"
#include "hostfile/detect.h"

struct paper_pod {
    char root[64];
    struct strv env;
    char host[256];
    struct detected found;
    struct err err;
};

// As kubelet makes it; subdomain NULL: the pod has none.
void paper_pod_begin(struct paper_pod *p, const char *host, const char *subdomain);
void paper_pod_end(struct paper_pod *p);
// A file, with the folders that it needs.
void paper_pod_put(struct paper_pod *p, const char *path, const char *text);
void paper_pod_set(struct paper_pod *p, const char *name, const char *value);
// A leader or worker of a LeaderWorkerSet group train-0 of 4.
void paper_pod_lws(struct paper_pod *p, const char *host, const char *subdomain,
                   const char *index);

// detect(), into `found` or `err`.
int paper_pod_look(struct paper_pod *p, uint32_t members);
int paper_pod_look_wanted(struct paper_pod *p, uint32_t members, bool wanted);
// What was found; its names, as the source will read them; its dialect ("": none).
void paper_pod_expect(struct paper_pod *p, enum source_kind kind, const char *text,
                      const char *line);
void paper_pod_expect_names(struct paper_pod *p, const char *const *names, size_t n);
void paper_pod_expect_dialect(struct paper_pod *p, const char *name);
// They look themselves.
void paper_pod_expect_error(struct paper_pod *p, uint32_t members, const char *text);
void paper_pod_expect_nothing(struct paper_pod *p, const char *hint);

#endif
