// Hostfiles at the places that MPI's and DeepSpeed's launchers read by themselves.
//
// MPIJob (mpi-operator v2beta1): in the launcher's containers K_MPI_JOB_ROLE=launcher, a
// ConfigMap at /etc/mpi, and by the MPI one of the variables below; workers have
// K_MPI_JOB_ROLE=worker and neither of these, hostname JOB-worker-N, subdomain JOB. A
// TrainJob of Trainer v2 with an MPI runtime: the same file, Open MPI's variable.
// DeepSpeed: /job/hostfile.
#include <string.h>

#include "common/mem.h"
#include "hostfile/detect_impl.h"

static const char mpi_path[] = "/etc/mpi/hostfile";
static const char deepspeed_path[] = "/job/hostfile";

static const struct {
    const char *name, *dialect;
} variables[] = {
    {"OMPI_MCA_orte_default_hostfile", "openmpi"},
    {"I_MPI_HYDRA_HOST_FILE", "intel"},
    {"HYDRA_HOST_FILE", "hydra"},
};

static int two_files(const char *a, const char *a_path, const char *b,
                     const char *b_path, struct err *err)
{
    err_set(err, "%s is '%s' and %s is '%s': two hostfiles", a, a_path, b, b_path);
    return -1;
}

// 1: the variables name one file; *dialect is NULL when several of them do.
static int read_variables(const struct detect_look *l, const char **name,
                          const char **path, const char **dialect, struct err *err)
{
    *path = NULL;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *at = detect_getenv(l, variables[i].name);
        if (at == NULL)
            continue;
        if (*path != NULL && strcmp(*path, at) != 0)
            return two_files(*name, *path, variables[i].name, at, err);
        *dialect = *path == NULL ? variables[i].dialect : NULL;
        *name = variables[i].name;
        *path = at;
    }
    return *path != NULL;
}

static int worker(const struct detect_look *l, struct detected *out, struct err *err)
{
    const struct podname *self = &l->self;
    long n = -1;
    size_t stem =
        self->service != NULL ? detect_ordinal(self->host, strlen(self->host), &n) : 0;
    if (stem == 0 || l->members == 0) {
        err_set(
            err,
            "K_MPI_JOB_ROLE is worker: an MPIJob gives its hostfile to the launcher "
            "alone%s",
            stem > 0 ? "; here give --members M" : "");
        return -1;
    }
    if (n >= (long)l->members) {
        err_set(err, "--members %u: this pod is %s, worker %ld of an MPIJob",
                l->members, self->host, n);
        return -1;
    }
    detect_found_pods(out, "MPIJob",
                      detect_pods(self->host, stem, l->members, self->service),
                      xasprintf("%.*s of %u", (int)stem - 1, self->host, l->members),
                      xstrdup("K_MPI_JOB_ROLE"), l->members, n);
    return 1;
}

// Where the file is: *name and *dialect of the variable that says so, NULL for the usual
// place. 1: there is one; what muster-sidecar writes is none.
static int find_file(const struct detect_look *l, const char **name, const char **path,
                     const char **dialect, struct err *err)
{
    int rc = read_variables(l, name, path, dialect, err);
    if (rc == 1) {
        rc = detect_hostfile(l, *path, err);
        if (rc == DETECT_NO_FILE)
            err_set(err, "%s is '%s', but there is no such file", *name, *path);
        if (rc != DETECT_OWN_FILE)
            return rc == DETECT_FILE ? 1 : -1;
    }
    *name = NULL;
    *dialect = NULL;
    *path = mpi_path;
    return rc < 0 ? -1 : detect_hostfile(l, mpi_path, err);
}

int detect_mpi(const struct detect_look *l, struct detected *out, struct err *err)
{
    const char *name = NULL, *path, *dialect = NULL;
    const char *role = detect_getenv(l, "K_MPI_JOB_ROLE");
    int rc = find_file(l, &name, &path, &dialect, err);
    if (rc < 0)
        return -1;
    if (rc == DETECT_FILE) {
        detect_found_hostfile(out, role != NULL ? "MPIJob" : "MPI", path, dialect,
                              xstrdup(name != NULL ? name : "found there"));
        return 1;
    }
    if (role == NULL || rc == DETECT_OWN_FILE)
        return 0;
    if (strcmp(role, "worker") == 0)
        return worker(l, out, err);
    err_set(err, "K_MPI_JOB_ROLE is '%s', but there is no %s", role, mpi_path);
    return -1;
}

int detect_deepspeed(const struct detect_look *l, struct detected *out, struct err *err)
{
    int rc = detect_hostfile(l, deepspeed_path, err);
    if (rc == DETECT_FILE)
        detect_found_hostfile(out, "DeepSpeed", deepspeed_path, "deepspeed",
                              xstrdup("found there"));
    return rc < 0 ? -1 : rc == DETECT_FILE;
}
