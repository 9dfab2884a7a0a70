// A keeper and its ranks: start, output, exits, credit.
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/rank_io.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"
#include "tests/unit/keeper_bed.h"

enum { MIB = 1 << 20 };

Test(keeper, passes_both_streams_on_and_ends_each_once, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, &(struct bed_spawn){
                      .script = "echo one; echo two >&2; echo three; cat; exit 3",
                      .ranks = 2,
                      .credit = MIB});
    cr_assert(bed_until(&b, FRAME_STARTED));
    cr_assert_eq(b.last.job, 77);
    cr_assert_eq(b.last.term, 5);
    cr_assert_eq(b.last.attempt, 3);
    for (uint32_t r = 0; r < 2; r++) {
        cr_assert(bed_until_eof(&b, r, RANK_IO_STDOUT));
        cr_assert(bed_until_eof(&b, r, RANK_IO_STDERR));
        cr_assert(bed_until_exited(&b, r));
        cr_assert_str_eq(bed_text(&b, r, RANK_IO_STDOUT), "one\nthree\n");
        cr_assert_str_eq(bed_text(&b, r, RANK_IO_STDERR), "two\n");
        cr_assert_eq(WEXITSTATUS(b.rank[r].status), 3);
    }
    cr_assert_not(b.broke_rules);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, keeps_the_last_lines_of_a_killed_rank, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, &(struct bed_spawn){.script = "echo last words; kill -9 $$",
                                      .ranks = 1,
                                      .credit = MIB});
    cr_assert(bed_until_exited(&b, 0));
    cr_assert(WIFSIGNALED(b.rank[0].status));
    cr_assert_eq(WTERMSIG(b.rank[0].status), SIGKILL);
    cr_assert(bed_until_eof(&b, 0, RANK_IO_STDOUT));
    cr_assert_str_eq(bed_text(&b, 0, RANK_IO_STDOUT), "last words\n");
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, never_passes_the_credit, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, &(struct bed_spawn){
                      .script = "head -c 1048576 /dev/zero | tr '\\0' x; trap 'exit 9' "
                                "USR1; echo >&2; while :; do sleep 0.01; done",
                      .ranks = 4,
                      .credit = 100000});
    for (uint32_t r = 0; r < 4; r++)
        while (buf_len(&b.rank[r].out[RANK_IO_STDOUT]) < 100000)
            cr_assert(bed_take(&b));
    // Blocked; now everything that comes gives new credit.
    b.auto_credit = true;
    for (uint32_t r = 0; r < 4; r++)
        bed_credit(&b, r, RANK_IO_STDOUT, 50000);
    for (uint32_t r = 0; r < 4; r++)
        cr_assert(bed_until_text(&b, r, RANK_IO_STDERR, "\n"));
    bed_signal(&b, SIGUSR1);
    for (uint32_t r = 0; r < 4; r++) {
        cr_assert(bed_until_exited(&b, r));
        cr_assert(bed_until_eof(&b, r, RANK_IO_STDOUT));
        cr_assert_eq(WEXITSTATUS(b.rank[r].status), 9);
        cr_assert_eq(strspn(bed_text(&b, r, RANK_IO_STDOUT), "x"), MIB);
        cr_assert_eq(buf_len(&b.rank[r].out[RANK_IO_STDOUT]), MIB);
    }
    cr_assert_not(b.broke_rules);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, tells_an_exit_while_the_output_is_blocked, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b,
              &(struct bed_spawn){.script = "yes & head -c 3000 /dev/zero >&2; exit 7",
                                  .ranks = 1,
                                  .credit = 1000});
    cr_assert(bed_until_exited(&b, 0));
    cr_assert_eq(WEXITSTATUS(b.rank[0].status), 7);
    cr_assert_not(b.rank[0].eof[RANK_IO_STDERR]);
    while (buf_len(&b.rank[0].out[RANK_IO_STDOUT]) < 1000)
        cr_assert(bed_take(&b));
    bed_credit(&b, 0, RANK_IO_STDERR, 5000);
    bed_stop(&b, 0);
    cr_assert(bed_until(&b, FRAME_STOPPED)); // although stdout has no credit
    cr_assert_eq(b.leftovers, 0);
    cr_assert_eq(buf_len(&b.rank[0].out[RANK_IO_STDERR]), 3000);
    cr_assert(b.rank[0].eof[RANK_IO_STDERR]);
    cr_assert_not(b.rank[0].eof[RANK_IO_STDOUT]);
    // The rest of stdout is still there for who wants it.
    b.auto_credit = true;
    bed_credit(&b, 0, RANK_IO_STDOUT, 4096);
    cr_assert(bed_until_eof(&b, 0, RANK_IO_STDOUT));
    cr_assert_gt(buf_len(&b.rank[0].out[RANK_IO_STDOUT]), 5096);
    cr_assert_not(b.broke_rules);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, ends_a_stream_whose_credit_is_used_up_exactly, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b,
              &(struct bed_spawn){.script = "printf 12345", .ranks = 1, .credit = 5});
    cr_assert(bed_until_exited(&b, 0));
    bed_stop(&b, 0);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert(b.rank[0].eof[RANK_IO_STDOUT]);
    cr_assert(b.rank[0].eof[RANK_IO_STDERR]);
    cr_assert_str_eq(bed_text(&b, 0, RANK_IO_STDOUT), "12345");
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, signals_reach_the_rank_and_its_children, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, &(struct bed_spawn){
                      .script = "trap 'echo parent; wait; exit 4' USR2; sh -c 'trap "
                                "\"echo child; exit\" USR2; echo up; while :; do sleep "
                                "0.01; done' & wait",
                      .ranks = 1,
                      .credit = MIB});
    cr_assert(bed_until_text(&b, 0, RANK_IO_STDOUT, "up"));
    bed_signal(&b, 9999); // there is none
    bed_signal(&b, 0);
    bed_signal(&b, SIGUSR2);
    cr_assert(bed_until_exited(&b, 0));
    cr_assert_eq(WEXITSTATUS(b.rank[0].status), 4);
    cr_assert(bed_until_eof(&b, 0, RANK_IO_STDOUT));
    cr_assert_not_null(strstr(bed_text(&b, 0, RANK_IO_STDOUT), "child"));
    cr_assert_not_null(strstr(bed_text(&b, 0, RANK_IO_STDOUT), "parent"));
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, environments_arrive_byte_for_byte, .timeout = 60)
{
    STRV_AUTO env = STRV_INIT;
    CLEANUP_FREE char *big = xcalloc(1, 100 * 1024 + 1);
    memset(big, 'b', 100 * 1024);
    memcpy(big, "line\nline=$(echo no) \"'\\ ", 24);
    big[100 * 1024 - 1] = '\n';
    strv_setenv(&env, "BIG", big);
    strv_setenv(&env, "PATH", "/usr/bin:/bin");
    strv_setenv(&env, "WHO", "common");
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b,
              &(struct bed_spawn){.script = "printf %s \"$BIG\"; echo $WHO >&2; id -u "
                                            ">&2; echo $(ps -o sid= -p $$) >&2",
                                  .env = env.v,
                                  .rank_env = "WHO=rank 0",
                                  .ranks = 2,
                                  .credit = MIB});
    const char *who[] = {"rank 0", "common"};
    for (uint32_t r = 0; r < 2; r++) {
        cr_assert(bed_until_eof(&b, r, RANK_IO_STDOUT));
        cr_assert(bed_until_eof(&b, r, RANK_IO_STDERR));
        cr_assert_str_eq(bed_text(&b, r, RANK_IO_STDOUT), big);
        CLEANUP_FREE char *want =
            xasprintf("%s\n%u\n%d\n", who[r], (unsigned)getuid(), (int)b.rank[r].pid);
        cr_assert_str_eq(bed_text(&b, r, RANK_IO_STDERR), want);
    }
    cr_assert_eq(bed_end(&b), 0);
}

// ---- what cannot be started -------------------------------------------------

static void expect_failure(const struct bed_spawn *s, uint32_t code, const char *text)
{
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, s);
    cr_assert(bed_until(&b, FRAME_FAILED));
    cr_assert_eq(b.failed_code, code, "%u: %s", b.failed_code, b.failed_text);
    cr_assert_not_null(strstr(b.failed_text, text), "%s", b.failed_text);
    cr_assert_eq(b.rank[0].pid, 0); // no STARTED
    bed_stop(&b, 1000);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, says_why_a_program_cannot_be_started, .timeout = 60)
{
    expect_failure(&(struct bed_spawn){.path = "/no/such", .ranks = 2}, 127,
                   "/no/such");
    expect_failure(&(struct bed_spawn){.path = "/etc/passwd", .ranks = 2}, 126,
                   "rank 0: cannot start /etc/passwd: ");
    expect_failure(
        &(struct bed_spawn){.path = "/bin/true", .wdir = "/no/dir", .ranks = 1}, 125,
        "working directory /no/dir: No such file");
    expect_failure(
        &(struct bed_spawn){.path = "/bin/true", .wdir = "/etc/passwd", .ranks = 1},
        125, "/etc/passwd: Not a directory");
    expect_failure(&(struct bed_spawn){.path = "/bin/true"}, 125, "without ranks");
}

Test(keeper, one_rank_that_cannot_be_started_stops_all, .timeout = 60)
{
    // Too long for one string of an environment, in rank 1 only.
    CLEANUP_FREE char *huge = xcalloc(1, 200 * 1024);
    memset(huge, 'h', 200 * 1024 - 1);
    memcpy(huge, "H=", 2);
    struct bed b;
    bed_start(&b, NULL);
    bed_spawn(&b, &(struct bed_spawn){.script = "echo $$; setsid sleep 1000 & exec "
                                                "sleep 1000",
                                      .ranks = 2,
                                      .credit = MIB,
                                      .rank_env = huge,
                                      .rank_env_of = 1});
    cr_assert(bed_until(&b, FRAME_FAILED));
    cr_assert_eq(b.failed_code, 126);
    cr_assert_not_null(strstr(b.failed_text, "rank 1: "), "%s", b.failed_text);
    cr_assert_not_null(strstr(b.failed_text, "Argument list too long"));
    cr_assert_eq(proc_descendants_but(b.keeper, NULL, 0, NULL, 0), 0);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, a_further_spawn_joins_and_ends_with_the_first, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    struct bed_spawn s = {
        .script = "echo up; exec sleep 1000", .ranks = 2, .credit = MIB};
    bed_spawn(&b, &s);
    cr_assert(bed_until(&b, FRAME_STARTED));
    s.first = 2;
    s.ranks = 3;
    bed_spawn(&b, &s);
    cr_assert(bed_until(&b, FRAME_STARTED));
    for (size_t i = 0; i < 5; i++)
        cr_assert_gt(b.rank[i].pid, 0);
    bed_stop(&b, 0);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    for (size_t i = 0; i < 5; i++) {
        cr_assert(b.rank[i].exited, "rank %zu", i);
        cr_assert(b.rank[i].eof[1] && b.rank[i].eof[2], "rank %zu", i);
    }
    cr_assert_not(b.broke_rules);
    cr_assert_eq(bed_end(&b), 0);
}

Test(keeper, a_further_spawn_that_fails_leaves_the_first_alone, .timeout = 60)
{
    struct bed b;
    bed_start(&b, NULL);
    const char *script = "trap 'exit 5' USR1; echo up; while :; do sleep 0.01; done";
    bed_spawn(&b, &(struct bed_spawn){.script = script, .ranks = 1, .credit = MIB});
    cr_assert(bed_until(&b, FRAME_OUTPUT));
    bed_spawn(&b, &(struct bed_spawn){.path = "/no/such", .first = 1, .ranks = 1});
    cr_assert(bed_until(&b, FRAME_FAILED));
    cr_assert_eq(b.failed_code, 127);
    bed_signal(&b, SIGUSR1);
    cr_assert(bed_until(&b, FRAME_EXITED));
    cr_assert_eq(WEXITSTATUS(b.rank[0].status), 5);
    bed_stop(&b, 0);
    cr_assert(bed_until(&b, FRAME_STOPPED));
    cr_assert_eq(bed_end(&b), 0);
}
