// Finding, starting and ending processes.
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"

extern char **environ;

Test(proc, resolves_as_the_shell_does)
{
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *sh = proc_resolve("sh", "/nowhere:/bin", NULL, &err);
    cr_assert_str_eq(sh, "/bin/sh");
    CLEANUP_FREE char *rel = proc_resolve("./sh", NULL, "/bin", &err);
    cr_assert_str_eq(rel, "/bin/./sh");
}

Test(proc, tells_missing_from_not_executable)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_null(proc_resolve("no-such-program", "/bin", NULL, &err));
    cr_assert_eq(err.code, 127);
    cr_assert_null(proc_resolve("", "/bin", NULL, &err));
    cr_assert_eq(err.code, 127);
    cr_assert_null(proc_resolve("/etc", NULL, NULL, &err));
    cr_assert_eq(err.code, 126);
    cr_assert_not_null(strstr(err.text, "/etc"));
}

static void read_all(int fd, char *text, size_t size)
{
    size_t n = 0;
    for (ssize_t got; n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
}

Test(proc, places_fds_even_when_they_cross, .timeout = 20)
{
    ERR_AUTO err = ERR_INIT;
    int a[2], b[2];
    cr_assert_eq(pipe2(a, O_CLOEXEC) | pipe2(b, O_CLOEXEC), 0);
    int x = fcntl(a[1], F_DUPFD_CLOEXEC, 30), y = fcntl(b[1], F_DUPFD_CLOEXEC, 30);
    struct proc_fd fds[] = {{x, y}, {y, x}}; // swapped in the child
    CLEANUP_FREE char *script =
        xasprintf("echo a >&%d; echo b >&%d; for f in /proc/self/fd/*; do "
                  "printf '%%s ' ${f##*/} >&%d; done",
                  y, x, x);
    char *argv[] = {(char[]){"bash"}, (char[]){"-c"}, script, NULL};
    struct proc_spec spec = {
        .path = "/bin/bash", .argv = argv, .envp = environ, .fds = fds, .nfds = 2};
    pid_t pid = proc_spawn(&spec, &err);
    cr_assert_gt(pid, 0, "%s", err_text(&err));
    close(a[1]);
    close(b[1]);
    close(x);
    close(y);
    char text[64];
    read_all(a[0], text, sizeof text);
    cr_assert_str_eq(text, "a\n");
    read_all(b[0], text, sizeof text);
    // Nothing but 0 to 2 and the two; 3 is the shell's own look at the directory.
    CLEANUP_FREE char *want =
        xasprintf("b\n0 1 2 3 %d %d ", x < y ? x : y, x < y ? y : x);
    cr_assert_str_eq(text, want);
    waitpid(pid, NULL, 0);
}

Test(proc, a_failed_exec_is_an_error_here)
{
    ERR_AUTO err = ERR_INIT;
    char *argv[] = {(char[]){"x"}, NULL};
    struct proc_spec spec = {.path = "/etc/passwd", .argv = argv, .envp = environ};
    cr_assert_eq(proc_spawn(&spec, &err), -1);
    cr_assert_eq(err.code, 126);
    spec = (struct proc_spec){
        .path = "/bin/sh", .argv = argv, .envp = environ, .dir = "/no/such/dir"};
    cr_assert_eq(proc_spawn(&spec, &err), -1);
    cr_assert_not_null(strstr(err.text, "/no/such/dir"));
}

// A program that the next machine may have is no mistake of who named it.
Test(proc, what_a_machine_cannot_give_now_is_told_from_a_wrong_name, .timeout = 20)
{
    char path[] = "/tmp/muster-busy-XXXXXX";
    char *argv[] = {(char[]){"busy"}, NULL};
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fchmod(fd, 0755), 0);
    struct proc_spec spec = {.path = path, .argv = argv, .envp = environ};
    ERR_AUTO err = ERR_INIT, none = ERR_INIT;
    cr_assert_eq(proc_spawn(&spec, &err), -1); // ETXTBSY
    cr_assert_eq(err.code, 125);
    cr_assert_str_eq(err.kind, "PROGRAM_UNAVAILABLE");
    close(fd);
    cr_assert_eq(proc_spawn(&spec, &none), -1); // it is empty
    cr_assert_eq(none.code, 126);
    unlink(path);
}

// However few there are: an error that names them, never a child that seems to live.
Test(proc, a_limit_of_descriptors_is_an_error_here, .timeout = 20)
{
    char *argv[] = {(char[]){"true"}, NULL};
    struct proc_fd fds[] = {{1, 20}};
    struct proc_spec spec = {
        .path = "/bin/true", .argv = argv, .envp = environ, .fds = fds, .nfds = 1};
    for (rlim_t n = 16; n <= 23; n++) { // the copies are 22 and 23
        ERR_AUTO err = ERR_INIT;
        struct rlimit few = {.rlim_cur = n, .rlim_max = 64};
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        cr_assert_eq(proc_spawn(&spec, &err), -1, "with %d", (int)n);
        cr_assert_not_null(strstr(err.text, "Too many open files"), "%s", err.text);
    }
}

Test(proc, kills_descendants_that_made_sessions_of_their_own, .timeout = 20)
{
    ERR_AUTO err = ERR_INIT;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"},
                    (char[]){"setsid sleep 100 & setsid sh -c 'sleep 100 & sleep 100'"},
                    NULL};
    struct proc_spec spec = {
        .path = "/bin/sh", .argv = argv, .envp = environ, .own_group = true};
    pid_t pids[16], pid = proc_spawn(&spec, &err);
    cr_assert_gt(pid, 0);
    while (proc_descendants_but(getpid(), NULL, 0, pids, 16) < 5)
        poll(NULL, 0, 1);
    do
        proc_kill_but(getpid(), SIGKILL, NULL, 0);
    while (waitpid(-1, NULL, 0) > 0);
    cr_assert_eq(errno, ECHILD);
    cr_assert_eq(proc_descendants_but(getpid(), NULL, 0, pids, 16), 0);
}

// Who cannot look has proven nothing.
Test(proc, without_descriptors_nobody_is_taken_for_gone, .timeout = 20)
{
    struct rlimit before, none;
    STRV_AUTO names = STRV_INIT;
    pid_t pids[1];
    cr_assert_eq(proc_descendants_but(getpid(), NULL, 0, pids, 1), 0);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    cr_assert_eq(proc_descendants_but(getpid(), NULL, 0, pids, 1), 1);
    cr_assert_eq(proc_kill_but(getpid(), SIGKILL, NULL, 0), 1);
    proc_name_but(getpid(), NULL, 0, &names);
    cr_assert_eq(names.n, 1);
    cr_assert_not_null(strstr(names.v[0], "Too many open files"), "%s", names.v[0]);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void *wait_for_ever(void *arg)
{
    while (pause() < 0)
        continue;
    return NULL;
}

Test(proc, sees_a_process_whose_main_thread_has_ended, .timeout = 20)
{
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t other;
        pthread_create(&other, NULL, wait_for_ever, NULL);
        pthread_exit(NULL);
    }
    while (proc_state(pid) != 'Z')
        poll(NULL, 0, 1);
    pid_t found = 0;
    cr_assert_eq(proc_descendants_but(getpid(), NULL, 0, &found, 1), 1);
    cr_assert_eq(found, pid);
    cr_assert_eq(proc_descendants_but(getpid(), &pid, 1, NULL, 0), 0);
    cr_assert_eq(proc_kill_but(getpid(), SIGKILL, NULL, 0), 1);
    waitpid(pid, NULL, 0);
    cr_assert_eq(proc_descendants_but(getpid(), NULL, 0, NULL, 0), 0);
}

Test(proc, says_how_a_process_ended)
{
    CLEANUP_FREE char *killed = proc_status_text(9);
    cr_assert_str_eq(killed, "signal 9 (SIGKILL)");
    cr_assert_eq(proc_status_code(9), 137);
    CLEANUP_FREE char *exited = proc_status_text(3 << 8);
    cr_assert_str_eq(exited, "exit code 3");
    cr_assert_eq(proc_status_code(3 << 8), 3);
}
