// TrainJob of Kubeflow Trainer v2 with a torch runtime (pkg/runtime/framework/plugins/torch):
//   PET_MASTER_ADDR     NAME-node-0-0.NAME; the peers are NAME-node-0-1.NAME ...
//   PET_NNODES          how many there are
//   PET_NODE_RANK       the own index
//   PET_NPROC_PER_NODE  a number, "auto", "cpu" or "gpu"
// Its MPI runtimes give a hostfile: detect_mpi.c.
#include <string.h>

#include "common/mem.h"
#include "hostfile/detect_impl.h"
#include "hostfile/hostname.h"
#include "hostfile/hostword.h"

static const char master_name[] = "PET_MASTER_ADDR";

static int check_whole(const struct detect_look *l, struct err *err)
{
    static const char *const all[] = {master_name, "PET_NNODES", "PET_NODE_RANK"};
    const char *set = NULL, *unset = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (detect_getenv(l, all[i]) != NULL)
            set = all[i];
        else
            unset = all[i];
    }
    if (unset == NULL)
        return 0;
    err_set(err, "%s is set and %s is not: a TrainJob sets both", set, unset);
    return -1;
}

// Length of "NAME-node-0-" in the master's name, 0 with err.
static size_t stem(const char *master, struct err *err)
{
    long n = -1;
    size_t label = strcspn(master, "."), len = detect_ordinal(master, label, &n);
    struct sockaddr_storage literal;
    if (len > 0 && n == 0 && master[label] == '.' && master[label + 1] != '\0' &&
        !hostname_literal(master, strlen(master), &literal))
        return len;
    err_set(
        err,
        "%s is '%s', not NAME-node-0-0.NAME as in a TrainJob: the other pods' names "
        "cannot be told from it",
        master_name, master);
    return 0;
}

int detect_trainer(const struct detect_look *l, struct detected *out, struct err *err)
{
    long n, rank, job_index;
    const char *master = detect_getenv(l, master_name);
    // PET_NNODES alone is an option of torchrun's, which anybody may set.
    if (master == NULL && detect_getenv(l, "PET_NODE_RANK") == NULL)
        return 0;
    if (check_whole(l, err) < 0 || master == NULL ||
        detect_check_name(master_name, master, err) < 0 ||
        detect_number(l, "PET_NNODES", 1, DETECT_MEMBERS_MAX, 0, &n, err) < 0 ||
        detect_number(l, "PET_NODE_RANK", 0, n - 1, -1, &rank, err) < 0 ||
        detect_number(l, "JOB_COMPLETION_INDEX", 0, DETECT_MEMBERS_MAX - 1, rank,
                      &job_index, err) < 0)
        return -1;
    if (rank != job_index) {
        err_set(err, "PET_NODE_RANK is %ld and JOB_COMPLETION_INDEX %ld", rank,
                job_index);
        return -1;
    }
    size_t len = stem(master, err);
    if (len == 0)
        return -1;
    const char *service = strchr(master, '.') + 1;
    detect_found_pods(out, "TrainJob", detect_pods(master, len, (uint32_t)n, service),
                      xasprintf("%.*s of %ld", (int)len - 1, master, n),
                      xstrdup(master_name), (uint32_t)n, rank);
    const char *procs = detect_getenv(l, "PET_NPROC_PER_NODE");
    if (procs != NULL)
        out->spec.slots =
            (int)hostword_number(procs, strlen(procs), HOSTWORD_SLOTS_MAX); // or -1
    return 1;
}
