// How a check runs: what its worker's end says of the machine, and how cores share memory.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/check/cores.h"
#include "kernels/check/supervise.h"

// ---- a worker that ends by a signal -----------------------------------------------

static void die(void *arg, const struct supervised *s)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(*(const int *)arg, SIG_DFL);
    raise(*(const int *)arg);
}

static int verdict_of(int number)
{
    const struct supervise_conf conf = {
        .check = "test", .deadline_ms = 20000, .crash_fails = true};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        _exit(supervise(&conf, die, &number));
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(supervise, only_what_a_machine_does_is_a_failure, .timeout = 60)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE};
    static const int others[] = {SIGABRT, SIGKILL, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        cr_assert_eq(verdict_of(faults[i]), FINDING_FAIL, "%d", faults[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_eq(verdict_of(others[i]), FINDING_COULD_NOT_RUN, "%d", others[i]);
}

// ---- memory for cores -------------------------------------------------------------

static const struct memroom_share by_default = {0};

static void expect_share(size_t ncores, uint64_t room_mib, size_t at_once,
                         uint64_t slice_mib)
{
    ERR_AUTO err = ERR_INIT;
    struct cores c = {.n = ncores};
    cr_assert_eq(cores_share(&c, &by_default, room_mib << 20, &err), 0, "%s",
                 err_text(&err));
    cr_assert_eq(c.at_once, at_once, "%zu at once", c.at_once);
    cr_assert_eq(c.slice >> 20, slice_mib, "%zu bytes", (size_t)c.slice);
    cr_assert_leq(c.slice * c.at_once, (room_mib << 20) / 100 * MEMROOM_MAX_PERCENT);
}

Test(cores, the_default_fits_large_hosts_and_small_pods)
{
    expect_share(8, 64 << 10, 8, 64);   // what it wants
    expect_share(2, 1000, 2, 25);       // 5 %
    expect_share(128, 8 << 10, 128, 4); // the least, which is more than 5 %
    expect_share(128, 256, 57, 4);      // no more than 90 %: in three rounds
    expect_share(1, 5, 1, 4);
}

Test(cores, too_little_for_one_is_an_error)
{
    ERR_AUTO err = ERR_INIT;
    struct cores c = {.n = 4};
    const struct memroom_share small = {.value = 1 << 20};
    cr_assert_eq(cores_share(&c, &by_default, 4 << 20, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), "less than the 4 MiB"), "%s",
                       err_text(&err));
    cr_assert_eq(cores_share(&c, &small, 1 << 30, &err), -1);
}
