// muster-train: a rank of a training job.
#include <stdio.h>

#include "common/std.h"
#include "kernels/train/run.h"

// All ranks have the same error: one tells it.
static int report(const struct err *err, int rank)
{
    if (rank == 0)
        fprintf(stderr, "muster-train: %s\n", err_text(err));
    return 1;
}

int main(int argc, char **argv)
{
    ERR_AUTO err = ERR_INIT;
    struct train_opts opts;
    std_fill();
    train_opts_parse(&opts, argc, argv);
    struct comm *comm = comm_open(&err);
    if (comm == NULL)
        return report(&err, 0);
    int rc = run_train(&opts, comm, &err);
    int code = rc == 0 ? 0 : report(&err, comm_rank(comm));
    comm_destroy(comm);
    return code;
}
