// muster-pmixd with real Open MPI ranks on two fake pods.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/mem.h"
#include "common/proc.h"
#include "tests/unit/pmix_bed.h"

static char *mpi_program(void)
{
    char *path = bed_program("tests/unit/mpi_probe");
    if (path == NULL)
        cr_skip_test(
            "mpi_probe was not built: mpicc.openmpi (libopenmpi-dev) is missing");
    return path;
}

static void assert_exit(const struct bed *b, uint32_t rank, int code)
{
    const struct bed_rank *r = &b->ranks[rank];
    cr_assert(r->gone, "rank %u still runs", rank);
    CLEANUP_FREE char *text = proc_status_text(r->status);
    cr_assert_eq(proc_status_code(r->status), code, "rank %u: %s", rank, text);
}

static void run_mpi(uint32_t per_pod)
{
    CLEANUP_FREE char *path = mpi_program();
    char *argv[] = {path, NULL};
    struct bed *b = bed_create(per_pod);
    bed_setup(b);
    bed_start_all(b, argv);
    cr_assert(bed_until(b, bed_all_gone, 40000), "ranks hang");
    for (uint32_t r = 0; r < b->size; r++) {
        assert_exit(b, r, 0);
        CLEANUP_FREE char *want =
            xasprintf("rank %u size %u shared %u\n", r, b->size, per_pod);
        CLEANUP_FREE char *got = buf_steal_str(&b->ranks[r].out);
        cr_assert_str_eq(got, want);
        cr_assert(b->ranks[r].connected && b->ranks[r].finalized, "rank %u", r);
    }
    cr_assert_eq(coll_open(b->colls), 0);
    bed_destroy(b);
}

Test(pmix_server, open_mpi_2x2, .timeout = 60)
{
    run_mpi(2);
}

Test(pmix_server, open_mpi_2x4_shares_memory_within_a_pod_only, .timeout = 60)
{
    run_mpi(4);
}
