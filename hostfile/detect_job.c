// Pods with a running number that do not tell how many there are.
//
// Indexed Job: JOB_COMPLETION_INDEX in every container, hostname JOB-INDEX, and a name in
// DNS where the template names a headless Service (subdomain). A JobSet's are the same: its
// Jobs are SET-REPLICATEDJOB-INDEX, its subdomain is the set's name unless told otherwise;
// JOBSET_NAME is what manifests call the label by convention. The group is one Job's pods.
// StatefulSet: nothing but hostname SET-ORDINAL and subdomain.
#include <string.h>

#include "common/mem.h"
#include "hostfile/detect_impl.h"

static const char index_name[] = "JOB_COMPLETION_INDEX";

// SET-REPLICATEDJOB-INDEX-: with the set's name in front?
static bool is_in_set(const char *host, size_t stem, const char *set, size_t set_len)
{
    long n;
    return stem > set_len + 1 && strncmp(host, set, set_len) == 0 &&
           host[set_len] == '-' && detect_ordinal(host, stem - 1, &n) > set_len + 1;
}

static const char *job_system(const struct detect_look *l, size_t stem)
{
    const char *set = detect_getenv(l, "JOBSET_NAME"), *service = l->self.service;
    if (set != NULL)
        return "JobSet";
    size_t label = strcspn(service, ".");
    return is_in_set(l->self.host, stem, service, label) ? "JobSet" : "Indexed Job";
}

static int check_set(const struct detect_look *l, size_t stem, struct err *err)
{
    const char *set = detect_getenv(l, "JOBSET_NAME");
    if (set == NULL || is_in_set(l->self.host, stem, set, strlen(set)))
        return 0;
    err_set(err, "JOBSET_NAME is '%s', but this pod is %s, not %s-JOB-N-N", set,
            l->self.host, set);
    return -1;
}

// "--members M", of a group that this pod (number n) is in.
static int check_members(const struct detect_look *l, const char *system, size_t stem,
                         long n, struct err *err)
{
    if (l->members > 0 && n < (long)l->members)
        return 0;
    if (l->members > 0)
        err_set(err, "--members %u: this pod is %s, so its %s has more", l->members,
                l->self.host, system);
    else
        err_set(err,
                "this pod is %s of %.*s (%s), which does not tell how many there are: "
                "give --members M",
                l->self.host, (int)stem - 1, l->self.host, system);
    return -1;
}

static int found(const struct detect_look *l, const char *system, size_t stem, long n,
                 char *why, struct detected *out)
{
    const struct podname *self = &l->self;
    char *pods = detect_pods(self->host, stem, l->members, self->service);
    char *group = xasprintf("%.*s of %u", (int)stem - 1, self->host, l->members);
    detect_found_pods(out, system, pods, group, why, l->members, n);
    return 1;
}

static int no_name(const struct detect_look *l, const char *index, struct detected *out,
                   struct err *err)
{
    CLEANUP_FREE char *text = xasprintf(
        "%s is %s, but the pods of this Job have no names in DNS: its template needs "
        "subdomain, of a headless Service, and no hostNetwork",
        index_name, index);
    if (l->wanted || l->members > 0) {
        err_set(err, "%s", text);
        return -1;
    }
    out->hint = STEAL(text);
    return 0;
}

int detect_job(const struct detect_look *l, struct detected *out, struct err *err)
{
    const char *index = detect_getenv(l, index_name);
    long n = -1, own = -1;
    if (index == NULL)
        return 0;
    if (detect_number(l, index_name, 0, DETECT_MEMBERS_MAX - 1, -1, &n, err) < 0)
        return -1;
    if (l->self.service == NULL)
        return no_name(l, index, out, err);
    size_t stem = detect_ordinal(l->self.host, strlen(l->self.host), &own);
    if (stem == 0 || own != n) {
        err_set(err, "%s is %ld, but this pod is %s, not JOB-%ld", index_name, n,
                l->self.host, n);
        return -1;
    }
    const char *system = job_system(l, stem);
    if (check_set(l, stem, err) < 0 || check_members(l, system, stem, n, err) < 0)
        return -1;
    return found(l, system, stem, n, xstrdup(index_name), out);
}

int detect_statefulset(const struct detect_look *l, struct detected *out,
                       struct err *err)
{
    const struct podname *self = &l->self;
    long n;
    if (self->service == NULL || detect_getenv(l, "KUBERNETES_SERVICE_HOST") == NULL)
        return 0;
    size_t stem = detect_ordinal(self->host, strlen(self->host), &n);
    if (stem == 0)
        return 0;
    if (l->members == 0 && !l->wanted) {
        out->hint = xasprintf("this pod has the name of a StatefulSet's, %s.%s: "
                              "--members M makes a group of M of them",
                              self->host, self->service);
        return 0;
    }
    if (check_members(l, "StatefulSet", stem, n, err) < 0)
        return -1;
    return found(l, "StatefulSet", stem, n,
                 xasprintf("%s.%s", self->host, self->service), out);
}
