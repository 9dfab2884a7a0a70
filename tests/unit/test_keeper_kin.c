// Who is below a process, and how the rest is named.
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/keeper_kin.h"
#include "common/mem.h"
#include "common/proc.h"

static pid_t sleeper(const char *name)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NAME, name);
        pause();
        _exit(0);
    }
    char comm[32] = "";
    while (strcmp(comm, name) != 0 || proc_state(pid) != 'S') {
        poll(NULL, 0, 1);
        proc_comm(pid, comm, sizeof comm);
    }
    return pid;
}

Test(keeper_kin, names_counts_and_kills_all_but_one, .timeout = 20)
{
    STRV_AUTO names = STRV_INIT;
    pid_t spared = sleeper("spared"), a = sleeper("a (b) c");
    cr_assert_eq(keeper_kin_count(0), 2);
    cr_assert_eq(keeper_kin_count(spared), 1);
    keeper_kin_name(spared, &names);
    cr_assert_eq(names.n, 1);
    CLEANUP_FREE char *want = xasprintf("%d (a (b) c, S)", (int)a);
    cr_assert_str_eq(names.v[0], want);
    cr_assert_eq(keeper_kin_kill(spared), 1);
    cr_assert_eq(waitpid(-1, NULL, 0), a);
    cr_assert_eq(keeper_kin_count(spared), 0);
    cr_assert_eq(proc_state(spared), 'S');
    cr_assert_eq(keeper_kin_kill(0), 1);
    cr_assert_eq(waitpid(-1, NULL, 0), spared);
}

Test(keeper_kin, wakes_stopped_ones_to_end_them, .timeout = 20)
{
    int status;
    pid_t pid = sleeper("stopped");
    kill(pid, SIGSTOP);
    while (proc_state(pid) != 'T')
        poll(NULL, 0, 1);
    keeper_kin_terminate(0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status));
    cr_assert_eq(WTERMSIG(status), SIGTERM);
}

Test(keeper_kin, long_lists_are_cut_with_a_count, .timeout = 20)
{
    STRV_AUTO names = STRV_INIT;
    for (int i = 0; i < 18; i++)
        sleeper("many");
    keeper_kin_name(0, &names);
    cr_assert_eq(names.n, 17);
    cr_assert_str_eq(names.v[16], "and 2 more");
    cr_assert_eq(keeper_kin_kill(0), 18);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}
