// muster-pmixd with real Open MPI ranks on two fake pods.
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void assert_all_exit(const struct bed *b, int code)
{
    for (uint32_t r = 0; r < b->size; r++)
        assert_exit(b, r, code);
}

// ---- Open MPI ---------------------------------------------------------------

static void run_mpi(uint32_t per_pod)
{
    CLEANUP_FREE char *path = mpi_program();
    char *argv[] = {path, NULL};
    struct bed *b = bed_create(per_pod);
    bed_setup(b);
    bed_start_all(b, argv);
    cr_assert(bed_until(b, bed_all_gone, 40000), "ranks hang");
    assert_all_exit(b, 0);
    for (uint32_t r = 0; r < b->size; r++) {
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

Test(pmix_server, mpi_abort_is_reported, .timeout = 60)
{
    CLEANUP_FREE char *path = mpi_program();
    char mode[] = "abort", *argv[] = {path, mode, NULL};
    struct bed *b = bed_create(2);
    bed_setup(b);
    bed_start_all(b, argv);
    cr_assert(bed_until(b, bed_aborted, 30000), "no ABORT");
    cr_assert_eq(b->abort_rank, 3);
    cr_assert_eq(b->abort_status, 7);
    bed_destroy(b);
}

static bool both_parts_held(const struct bed *b)
{
    return b->nheld == BED_PODS;
}

static bool a_survivor_gave_up(const struct bed *b)
{
    for (uint32_t r = 0; r < b->size; r++)
        if (b->ranks[r].gone && !b->ranks[r].killed && b->ranks[r].status != 0)
            return true;
    return false;
}

// Open MPI 4.1 does not look at the status of its fence in MPI_Init: it ends when it
// finds no data of the dead rank. One rank with an error is enough for a launcher to
// stop all.
Test(pmix_server, open_mpi_gives_up_when_a_rank_is_killed_in_a_fence, .timeout = 60)
{
    CLEANUP_FREE char *path = mpi_program();
    char *argv[] = {path, NULL};
    struct bed *b = bed_create(2);
    b->hold = true;
    bed_setup(b);
    bed_start_all(b, argv);
    cr_assert(bed_until(b, both_parts_held, 30000), "the ranks come to no fence");
    bed_kill_rank(b, 3);
    bed_release(b);
    cr_assert(bed_until(b, a_survivor_gave_up, 15000), "survivors hang");
    bed_destroy(b);
}

// ---- plain PMIx clients -----------------------------------------------------

static struct bed *start_probe(const char *mode, const char *who)
{
    CLEANUP_FREE char *path = bed_program("tests/unit/pmix_probe");
    CLEANUP_FREE char *m = xstrdup(mode), *w = xstrdup(who);
    cr_assert_not_null(path);
    char *argv[] = {path, m, w, NULL};
    struct bed *b = bed_create(2);
    bed_setup(b);
    bed_start_all(b, argv);
    return b;
}

static void assert_placed(struct bed *b)
{
    for (uint32_t r = 0; r < b->size; r++) {
        CLEANUP_FREE char *want =
            xasprintf("node %u of 2, %u local\n", r / b->per_pod, b->per_pod);
        CLEANUP_FREE char *got = buf_steal_str(&b->ranks[r].out);
        cr_assert_str_eq(got, want);
    }
}

static void run_probe(const char *mode)
{
    struct bed *b = start_probe(mode, "0");
    cr_assert(bed_until(b, bed_all_gone, 20000), "ranks hang");
    assert_all_exit(b, 0);
    assert_placed(b);
    cr_assert_eq(coll_open(b->colls), 0);
    bed_destroy(b);
}

Test(pmix_server, a_fence_gathers_data_of_all, .timeout = 40)
{
    run_probe("fence");
}

Test(pmix_server, fences_over_subsets_run_side_by_side, .timeout = 40)
{
    run_probe("subset");
}

Test(pmix_server, processes_connect_and_disconnect, .timeout = 40)
{
    run_probe("connect");
}

Test(pmix_server, a_group_has_a_context_id, .timeout = 40)
{
    run_probe("group");
}

Test(pmix_server, an_event_reaches_the_other_pod, .timeout = 40)
{
    run_probe("event");
}

Test(pmix_server, queries_are_answered, .timeout = 40)
{
    run_probe("query");
}

Test(pmix_server, texts_of_ranks_are_passed_on, .timeout = 40)
{
    struct bed *b = start_probe("log", "0");
    cr_assert(bed_until(b, bed_all_gone, 20000), "ranks hang");
    assert_all_exit(b, 0);
    cr_assert_eq(b->logged, b->size * strlen("help\n"));
    bed_destroy(b);
}

Test(pmix_server, names_are_published_waited_for_and_taken_back, .timeout = 40)
{
    run_probe("names");
}

Test(pmix_server, direct_modex_asks_the_other_pod, .timeout = 40)
{
    struct bed *b = start_probe("modex", "0");
    cr_assert(bed_until(b, bed_all_gone, 20000), "ranks hang");
    assert_all_exit(b, 0);
    cr_assert_gt(b->modexes, 0);
    bed_destroy(b);
}

Test(pmix_server, a_fence_fails_for_all_after_a_kill, .timeout = 40)
{
    CLEANUP_FREE char *path = bed_program("tests/unit/pmix_probe");
    char mode[] = "barrier", *argv[] = {path, mode, NULL};
    struct bed *b = bed_create(2);
    b->hold = true;
    bed_setup(b);
    bed_start_all(b, argv);
    cr_assert(bed_until(b, both_parts_held, 20000), "the ranks come to no fence");
    bed_kill_rank(b, 1);
    cr_assert(!bed_until(b, bed_all_gone, 200), "nobody told them yet");
    bed_release(b);
    cr_assert(bed_until(b, bed_all_gone, 10000), "survivors hang");
    assert_exit(b, 0, 3);
    assert_exit(b, 2, 3);
    assert_exit(b, 3, 3);
    bed_destroy(b);
}

static bool says_waiting(const struct bed_rank *r)
{
    return buf_len(&r->out) >= 7 && memcmp(buf_data(&r->out), "waiting", 7) == 0;
}

static bool three_are_waiting(const struct bed *b)
{
    return says_waiting(&b->ranks[0]) && says_waiting(&b->ranks[1]) &&
           says_waiting(&b->ranks[2]) && b->ranks[3].connected;
}

// Without a word of the launcher: libpmix in pod 1 sees its client go, and its part of
// the fence says so.
Test(pmix_server, a_death_seen_by_libpmix_fails_the_fence, .timeout = 40)
{
    struct bed *b = start_probe("stuck", "3");
    cr_assert(bed_until(b, three_are_waiting, 20000), "the ranks come to no fence");
    kill(b->ranks[3].pid, SIGKILL);
    cr_assert(bed_until(b, bed_all_gone, 10000), "survivors hang");
    for (uint32_t r = 0; r < 3; r++)
        assert_exit(b, r, 3);
    bed_destroy(b);
}

Test(pmix_server, pmix_abort_is_reported_and_answered, .timeout = 40)
{
    struct bed *b = start_probe("abort", "2");
    cr_assert(bed_until(b, bed_aborted, 20000), "no ABORT");
    cr_assert_eq(b->abort_rank, 2);
    cr_assert_eq(b->abort_status, 9);
    cr_assert_str_eq(b->abort_text, "gave up");
    bed_kill_rank(b, 0);
    bed_kill_rank(b, 1);
    bed_kill_rank(b, 3);
    cr_assert(bed_until(b, bed_all_gone, 10000), "rank 2 got no answer");
    assert_exit(b, 2, 9);
    bed_destroy(b);
}

// ---- life of a server -------------------------------------------------------

Test(pmix_server, a_server_on_standby_ends_with_its_agent, .timeout = 20)
{
    struct bed *b = bed_create(1);
    cr_assert(bed_server_ends(b, 0, 5000));
    cr_assert(bed_server_ends(b, 1, 5000));
    bed_destroy(b);
}

Test(pmix_server, a_server_with_ranks_ends_with_its_agent, .timeout = 40)
{
    struct bed *b = start_probe("stuck", "3");
    cr_assert(bed_until(b, three_are_waiting, 20000), "the ranks come to no fence");
    cr_assert(bed_server_ends(b, 1, 5000));
    bed_destroy(b);
}

Test(pmix_server, surroundings_do_not_reach_the_ranks, .timeout = 20)
{
    setenv("PMIX_NAMESPACE", "stranger", 1);
    setenv("PMIX_MCA_psec", "none", 1);
    setenv("PMIX_MCA_gds", "ds21", 1);
    setenv("PMIX_HOSTNAME", "stranger", 1);
    setenv("PMIX_LAUNCHER_RNDZ_URI", "stranger", 1);
    struct bed *b = bed_create(2);
    bed_setup(b);
    for (uint32_t r = 0; r < b->size; r++) {
        const struct strv *env = &b->ranks[r].env;
        CLEANUP_FREE char *rank = xasprintf("%u", r);
        cr_assert_str_eq(strv_getenv(env, "PMIX_NAMESPACE"), b->nspace);
        cr_assert_str_eq(strv_getenv(env, "PMIX_RANK"), rank);
        cr_assert_str_eq(strv_getenv(env, "PMIX_HOSTNAME"), r < 2 ? "n0" : "n1");
        cr_assert_str_eq(strv_getenv(env, "PMIX_SECURITY_MODE"), "native");
        cr_assert_str_eq(strv_getenv(env, "PMIX_GDS_MODULE"), "hash");
        cr_assert_str_eq(strv_getenv(env, "PMIX_SERVER_TMPDIR"), b->pods[r / 2].dir);
        cr_assert_null(strv_getenv(env, "PMIX_LAUNCHER_RNDZ_URI"));
    }
    bed_destroy(b);
}

Test(pmix_server, a_bad_setup_is_refused_with_a_reason, .timeout = 20)
{
    struct bed *b = bed_create(1);
    char node[] = "same", *nodes[BED_PODS] = {node, node};
    bed_send_setup(b, 0, nodes);
    bed_send_setup(b, 1, nodes);
    cr_assert(bed_until(b, bed_all_ready, 10000));
    cr_assert_str_eq(b->pods[0].error, "two positions have the node name \"same\"");
    bed_destroy(b);
}

static bool second_is_ready(const struct bed *b)
{
    return b->pods[1].ready;
}

Test(pmix_server, the_same_setup_twice_is_refused, .timeout = 20)
{
    struct bed *b = bed_create(1);
    char n0[] = "n0", n1[] = "n1", *nodes[BED_PODS] = {n0, n1};
    bed_setup(b);
    b->pods[1].ready = false;
    bed_send_setup(b, 1, nodes);
    cr_assert(bed_until(b, second_is_ready, 10000));
    cr_assert(strstr(b->pods[1].error, "is registered already") != NULL, "%s",
              b->pods[1].error);
    bed_destroy(b);
}

Test(pmix_server, started_by_hand_it_says_so, .timeout = 20)
{
    CLEANUP_FREE char *path = bed_program("agent/muster-pmixd");
    char *argv[] = {path, NULL}, *env[] = {NULL}, text[512] = "";
    int p[2], status;
    cr_assert_eq(pipe(p), 0);
    struct proc_fd fd = {p[1], 2};
    struct proc_spec spec = {
        .path = path, .argv = argv, .envp = env, .fds = &fd, .nfds = 1};
    pid_t pid = proc_spawn(&spec, NULL);
    cr_assert_gt(pid, 0);
    close(p[1]);
    cr_assert_gt(read(p[0], text, sizeof text - 1), 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(proc_status_code(status), 125);
    cr_assert(strstr(text, "started by musterd, not by hand") != NULL, "%s", text);
    close(p[0]);
}
