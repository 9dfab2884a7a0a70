// A keeper ends everybody: told to, orphaned, or killed itself.
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/rank_io.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "tests/unit/keeper_bed.h"

enum { MIB = 1 << 20, LONG_MS = 60000 };

// Prints its own pid and those of a daemon (double fork, own session), of a stopped
// child and of one that ignores SIGTERM; ignores SIGTERM itself.
static const char stubborn[] =
    "trap '' TERM\n"
    "echo $$\n"
    "(setsid sh -c 'echo $$; exec sleep 1000' &)\n"
    "sh -c 'echo $$; kill -STOP $$; sleep 1000' &\n"
    "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' &\n"
    "while :; do sleep 1; done\n";
enum { STUBBORN = 4 };

static void start_stubborn(struct bed *b, pid_t pids[STUBBORN])
{
    bed_start(b, NULL);
    bed_spawn(b, &(struct bed_spawn){.script = stubborn, .ranks = 1, .credit = MIB});
    for (int lines = 0; lines < STUBBORN;) {
        cr_assert(bed_take(b));
        lines = 0;
        for (const char *p = bed_text(b, 0, RANK_IO_STDOUT); *p != '\0'; p++)
            lines += *p == '\n' ? 1 : 0;
    }
    for (int i = 0; i < STUBBORN; i++) {
        pids[i] = bed_number(b, i);
        cr_assert_gt(pids[i], 1);
    }
}

static void expect_gone(const pid_t *pids, int n)
{
    for (int i = 0; i < n; i++) {
        char state = proc_state(pids[i]);
        cr_assert(state == '\0' || state == 'Z', "%d is in state %c", (int)pids[i],
                  state);
    }
}

Test(keeper_end, stop_kills_who_ignores_it_when_the_grace_is_over, .timeout = 60)
{
    struct bed b;
    pid_t pids[STUBBORN];
    start_stubborn(&b, pids);
    uint64_t begin = loop_now_ms();
    bed_stop(&b, 300);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_geq(loop_now_ms() - begin, 300);
    cr_assert_eq(b.leftovers, 0);
    expect_gone(pids, STUBBORN);
    cr_assert_eq(proc_descendants_but(b.keeper, NULL, 0, NULL, 0), 0);
    cr_assert(b.rank[0].exited); // before STOPPED
    cr_assert_eq(WTERMSIG(b.rank[0].status), SIGKILL);
    cr_assert(b.rank[0].eof[RANK_IO_STDOUT]);
    cr_assert_not(b.broke_rules);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, a_second_stop_shortens_the_grace, .timeout = 60)
{
    struct bed b;
    pid_t pids[STUBBORN];
    start_stubborn(&b, pids);
    bed_stop(&b, LONG_MS);
    bed_stop(&b, 0);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    expect_gone(pids, STUBBORN);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, a_shorter_grace_counts_a_longer_one_does_not, .timeout = 60)
{
    struct bed b;
    pid_t pids[STUBBORN];
    start_stubborn(&b, pids);
    bed_stop(&b, LONG_MS);
    bed_stop(&b, 50);
    bed_stop(&b, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    expect_gone(pids, STUBBORN);
    cr_assert_eq(bed_end(&b), 0);
}

// ---- the pre-stop -----------------------------------------------------------

static void start_ranks(struct bed *b, const char *script, uint32_t n)
{
    bed_start(b, NULL);
    bed_spawn(b, &(struct bed_spawn){.script = script, .ranks = n, .credit = MIB});
    for (uint32_t i = 0; i < n; i++)
        cr_assert(bed_until_text(b, i, RANK_IO_STDOUT, "up"));
}

Test(keeper_end, a_pre_stop_ends_when_all_ranks_have, .timeout = 60)
{
    struct bed b;
    start_ranks(&b,
                "trap 'echo saved; exit 0' USR1; trap 'echo told' TERM; echo up; "
                "while :; do sleep 0.01; done",
                3);
    bed_pre_stop(&b, SIGUSR1, LONG_MS, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_str_eq(bed_text(&b, i, RANK_IO_STDOUT), "up\nsaved\n");
        cr_assert_eq(b.rank[i].status, 0);
    }
    cr_assert_eq(b.killed, 0);
    cr_assert_lt(b.took_ms, LONG_MS);
    cr_assert_eq(bed_end(&b), 0);
}

// A shell that the signal ends is not what writes the checkpoint: its child is.
Test(keeper_end, a_pre_stop_waits_for_the_ranks_groups, .timeout = 60)
{
    struct bed b;
    start_ranks(&b,
                "sh -c 'trap \"sleep 0.3; echo saved; exit 0\" USR1; echo up; "
                "while :; do sleep 0.01; done'; true",
                1);
    bed_pre_stop(&b, SIGUSR1, LONG_MS, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_not_null(strstr(bed_text(&b, 0, RANK_IO_STDOUT), "saved"));
    cr_assert_eq(WTERMSIG(b.rank[0].status), SIGUSR1);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, a_pre_stop_that_hangs_is_bounded, .timeout = 60)
{
    struct bed b;
    start_ranks(&b,
                "trap 'echo hangs' USR1; trap 'echo told; exit 0' TERM; echo up; "
                "while :; do sleep 0.01; done",
                1);
    bed_pre_stop(&b, SIGUSR1, 200, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_str_eq(bed_text(&b, 0, RANK_IO_STDOUT), "up\nhangs\ntold\n");
    cr_assert_geq(b.took_ms, 200);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, a_stop_without_it_ends_a_pre_stop, .timeout = 60)
{
    struct bed b;
    start_ranks(&b,
                "trap 'echo hangs' USR1; trap 'echo told; exit 0' TERM; echo up; "
                "while :; do sleep 0.01; done",
                1);
    bed_pre_stop(&b, SIGUSR1, LONG_MS, LONG_MS);
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "hangs"));
    bed_pre_stop(&b, SIGUSR1, LONG_MS, LONG_MS); // nothing new
    bed_stop(&b, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_str_eq(bed_text(&b, 0, RANK_IO_STDOUT), "up\nhangs\ntold\n");
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, a_pre_stop_without_a_grace_is_followed_by_sigkill, .timeout = 60)
{
    struct bed b;
    start_ranks(&b, "trap '' USR1 TERM; echo up; while :; do sleep 0.01; done", 1);
    bed_pre_stop(&b, SIGUSR1, 50, 0);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_eq(WTERMSIG(b.rank[0].status), SIGKILL);
    cr_assert_geq(b.killed, 1);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, a_signal_that_is_none_is_no_pre_stop, .timeout = 60)
{
    struct bed b;
    start_ranks(&b, "echo up; exec sleep 1000", 1);
    bed_pre_stop(&b, 4711, LONG_MS, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_eq(WTERMSIG(b.rank[0].status), SIGTERM);
    cr_assert_eq(bed_end(&b), 0);
}

static bool runs_below(pid_t root, const char *name)
{
    pid_t pids[16];
    size_t n = proc_descendants_but(root, NULL, 0, pids, 16);
    for (size_t i = 0; i < n && i < 16; i++) {
        char comm[32];
        proc_comm(pids[i], comm, sizeof comm);
        if (strcmp(comm, name) == 0)
            return true;
    }
    return false;
}

Test(keeper_end, stop_is_over_as_soon_as_all_have_gone, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    // The rank is stopped: SIGTERM alone would wait for ever.
    bed_spawn(&b,
              &(struct bed_spawn){
                  .script = "trap 'echo bye; exit 5' TERM; setsid sleep 1000 & kill "
                            "-STOP $$; while :; do sleep 0.01; done",
                  .ranks = 1,
                  .credit = MIB});
    cr_assert(bed_until(&b, FRAME_STARTED));
    // A shell's child that has not yet called exec can swallow SIGTERM.
    while (proc_state(b.rank[0].pid) != 'T' || !runs_below(b.keeper, "sleep"))
        poll(NULL, 0, 1);
    bed_stop(&b, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert(b.rank[0].exited);
    cr_assert_eq(WEXITSTATUS(b.rank[0].status), 5);
    cr_assert_str_eq(bed_text(&b, 0, RANK_IO_STDOUT), "bye\n");
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, what_a_finished_rank_leaves_behind_runs_until_stop, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, &(struct bed_spawn){.script = "setsid sleep 1000 & echo $!",
                                      .ranks = 1,
                                      .credit = MIB});
    cr_assert(bed_until_exited(&b, 0));
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "\n"));
    pid_t left = bed_number(&b, 0);
    cr_assert_neq(proc_state(left), '\0');
    cr_assert_not(b.rank[0].eof[RANK_IO_STDOUT]); // it holds the pipe
    bed_stop(&b, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert(b.rank[0].eof[RANK_IO_STDOUT]);
    expect_gone(&left, 1);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, stop_without_ranks_is_answered, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_stop(&b, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    // Nothing is started any more.
    bed_spawn(&b, &(struct bed_spawn){.script = "echo no", .ranks = 1, .credit = MIB});
    cr_assert_eq(bed_end(&b), 0);
    cr_assert_eq(b.rank[0].pid, 0);
}

static pid_t highest_descendant(pid_t root)
{
    pid_t pids[256], top = 0;
    size_t n = proc_descendants_but(root, NULL, 0, pids, 256);
    for (size_t i = 0; i < n && i < 256; i++)
        top = pids[i] > top ? pids[i] : top;
    return top;
}

Test(keeper_end, a_chain_of_forks_has_an_end, .timeout = 60)
{
    struct bed b;
    // Each one starts the next in a session of its own and goes: nobody stands still.
    char path[] = "PATH=/usr/bin:/bin",
         chain[] = "CHAIN=setsid sh -c \"$CHAIN\" & exit";
    char *env[] = {path, chain, NULL};
    bed_start(&b, NULL);
    bed_spawn(&b,
              &(struct bed_spawn){.script = "(sh -c \"$CHAIN\"); (sh -c \"$CHAIN\"); "
                                            "echo up; exec sleep 1000",
                                  .env = env,
                                  .ranks = 2,
                                  .credit = MIB});
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "up"));
    cr_assert(bed_until_text(&b, 1, RANK_IO_STDOUT, "up"));
    pid_t first = highest_descendant(b.keeper);
    while (highest_descendant(b.keeper) < first + 50)
        poll(NULL, 0, 1);
    bed_stop(&b, 0);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_eq(b.leftovers, 0);
    cr_assert_eq(proc_descendants_but(b.keeper, NULL, 0, NULL, 0), 0);
    cr_assert_eq(bed_end(&b), 0);
}

// ---- without the agent ------------------------------------------------------

Test(keeper_end, the_end_of_the_agent_ends_all_at_once, .timeout = 60)
{
    struct bed b;
    pid_t pids[STUBBORN];
    start_stubborn(&b, pids);
    bed_stop(&b, LONG_MS); // the grace does not matter any more
    cr_assert_eq(bed_end(&b), 0);
    expect_gone(pids, STUBBORN);
}

Test(keeper_end, a_broken_frame_counts_as_the_end_of_the_agent, .timeout = 60)
{
    struct bed b;
    pid_t pids[STUBBORN];
    start_stubborn(&b, pids);
    static const uint8_t garbage[64] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3};
    cr_assert_eq(write(b.fd, garbage, sizeof garbage), (ssize_t)sizeof garbage);
    while (bed_take(&b))
        continue;
    cr_assert(b.closed);
    expect_gone(pids, STUBBORN);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, a_malformed_message_ends_nothing, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_send(&b, FRAME_STOP, "\xff\xff", 2);
    bed_send(&b, FRAME_PING, NULL, 0);
    bed_spawn(&b,
              &(struct bed_spawn){.script = "echo up; cat", .ranks = 1, .credit = 9});
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "up"));
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, ranks_die_with_a_killed_keeper, .timeout = 60)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, &(struct bed_spawn){.script = "trap '' TERM; exec sleep 1000",
                                      .ranks = 3,
                                      .credit = 0});
    cr_assert(bed_until(&b, FRAME_STARTED));
    kill(b.keeper, SIGKILL);
    for (int i = 0; i < 3; i++)
        cr_assert(bed_gone(b.rank[i].pid));
    cr_assert_eq(WTERMSIG(bed_end(&b)), SIGKILL);
}

Test(keeper_end, other_signals_to_the_keeper_end_nothing, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b,
              &(struct bed_spawn){.script = "trap 'echo got it; exit' USR1; echo up; "
                                            "while :; do sleep 0.01; done",
                                  .ranks = 1,
                                  .credit = MIB});
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "up"));
    kill(b.keeper, SIGTERM);
    kill(b.keeper, SIGINT);
    kill(b.keeper, SIGHUP);
    bed_signal(&b, SIGUSR1);
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "got it"));
    cr_assert_eq(bed_end(&b), 0);
}

// ---- with a PMIx server -----------------------------------------------------

// Any program will do: this one says its pid on fd 3, then reads orders there.
static const char pmixd_script[] = "#!/bin/sh\n"
                                   "trap '' TERM\n"
                                   "echo $$ >&3\n"
                                   "while read order <&3; do $order; done\n"
                                   "sleep 1000\n";

static char *write_pmixd(void)
{
    char *path = xstrdup("/tmp/test-keeper-pmixd-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_gt(write(fd, pmixd_script, sizeof pmixd_script - 1), 0);
    fchmod(fd, 0700);
    close(fd);
    return path;
}

static pid_t pmixd_pid(const struct bed *b)
{
    char text[32] = "";
    cr_assert_gt(read(b->pmixd_fd, text, sizeof text - 1), 0);
    return (pid_t)atoi(text);
}

Test(keeper_end, the_pmix_server_outlives_the_ranks_until_stopped, .timeout = 60)
{
    struct bed b;
    CLEANUP_FREE char *path = write_pmixd();
    bed_start(&b, path);
    pid_t pid = pmixd_pid(&b); // before any SPAWN
    unlink(path);
    bed_spawn(&b, &(struct bed_spawn){.script = "exec sleep 1000", .ranks = 1});
    cr_assert(bed_until(&b, FRAME_STARTED));
    bed_stop(&b, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_eq(WTERMSIG(b.rank[0].status), SIGTERM);
    // Its socket closes with it; nobody but it held that end.
    char byte;
    cr_assert_eq(read(b.pmixd_fd, &byte, 1), 0);
    cr_assert(bed_gone(pid));
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, the_pmix_server_may_end_first, .timeout = 60)
{
    struct bed b;
    CLEANUP_FREE char *path = write_pmixd();
    bed_start(&b, path);
    pid_t pid = pmixd_pid(&b);
    unlink(path);
    bed_spawn(&b, &(struct bed_spawn){
                      .script = "echo up; exec sleep 1000", .ranks = 1, .credit = MIB});
    cr_assert_eq(write(b.pmixd_fd, "exit 3\n", 7), 7);
    char byte;
    cr_assert_eq(read(b.pmixd_fd, &byte, 1), 0);
    cr_assert(bed_gone(pid));
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "up"));
    cr_assert_not(b.rank[0].exited);
    bed_stop(&b, LONG_MS);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_not(b.broke_rules);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper_end, the_end_of_the_agent_ends_the_pmix_server, .timeout = 60)
{
    struct bed b;
    CLEANUP_FREE char *path = write_pmixd();
    bed_start(&b, path);
    pid_t pid = pmixd_pid(&b);
    unlink(path);
    cr_assert_eq(bed_end(&b), 0);
    expect_gone(&pid, 1);
}

Test(keeper_end, a_pmix_server_that_is_missing_closes_its_socket, .timeout = 60)
{
    struct bed b;
    bed_start(&b, "/no/such/pmixd");
    char byte;
    cr_assert_eq(read(b.pmixd_fd, &byte, 1), 0);
    cr_assert_eq(bed_end(&b), 0);
}
