// What the detectors of one system each share; only hostfile/detect*.c include this.
#ifndef MUSTER_HOSTFILE_DETECT_IMPL_H
#define MUSTER_HOSTFILE_DETECT_IMPL_H

#include "common/buf.h"
#include "hostfile/detect.h"
#include "hostfile/podname.h"

struct detect_look {
    const struct detect_view *view;
    uint32_t members;
    bool wanted;
    struct podname self;
};

// 1: *out is filled in; 0: not this system (*out may hold a hint); -1: err.
typedef int detector(const struct detect_look *l, struct detected *out,
                     struct err *err);

detector detect_lws, detect_trainer, detect_mpi, detect_volcano, detect_deepspeed;
// Only asked when none of these has found anything: their pods are pods of a Job or of a
// StatefulSet as well.
detector detect_job, detect_statefulset;

// NULL: not set, or empty.
const char *detect_getenv(const struct detect_look *l, const char *name);
// Does the variable's value name a host? -1 with err: it cannot.
int detect_check_name(const char *name, const char *value, struct err *err);
// A number from `least` to `most` (-1 with err: "NAME is 'x', not ..."); 0: *n is `unset`
// when the variable is not set.
int detect_number(const struct detect_look *l, const char *name, long least, long most,
                  long unset, long *n, struct err *err);
// Is there a hostfile that a system gave? One that muster-sidecar writes is none. -1 with
// err: something is there that cannot be read.
enum { DETECT_NO_FILE, DETECT_FILE, DETECT_OWN_FILE };
int detect_hostfile(const struct detect_look *l, const char *path, struct err *err);
// "stem-12": the length of "stem-", and 12; 0 when the name does not end so.
size_t detect_ordinal(const char *name, size_t len, long *n);
// The pods STEM0 ... STEM(n-1) of a Service, as --pods takes them. Caller frees.
char *detect_pods(const char *stem, size_t len, uint32_t n, const char *service);

// Fill in *out; they take over `group` and `why`.
void detect_found_hostfile(struct detected *out, const char *system, const char *path,
                           const char *dialect, char *why);
void detect_found_pods(struct detected *out, const char *system, char *pods,
                       char *group, char *why, uint32_t members, long index);

#endif
