// Start a container, be its parent, note how it ended.
#include "tests/podbox/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "tests/podbox/boot.h"
#include "tests/podbox/caps.h"
#include "tests/podbox/cgroup.h"
#include "tests/podbox/etc.h"
#include "tests/podbox/file.h"
#include "tests/podbox/ns.h"
#include "tests/podbox/pause.h"
#include "tests/podbox/rootfs.h"

// ---- pid 1 ------------------------------------------------------------------

static int redirect(const char *log_path, struct err *err)
{
    CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP_CLOSE int log =
        open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 ||
        dup2(log, 2) < 0) {
        err_set_errno(err, errno, "cannot open the container's log %s", log_path);
        return -1;
    }
    return 0;
}

// What another image's libraries could not start: this process itself.
static int be_pause(void)
{
    boot_say(BOOT_FD, "starting");
    close_range(BOOT_FD, ~0U, 0);
    _exit(pause_main());
}

// The bed's command, or without one podbox itself as "pause" (see main.c).
static int be_command(const struct bed *bed, const struct pod *pod, struct err *err)
{
    if (bed->command.n == 0 && strcmp(pod_root(bed, pod), "/") != 0)
        return be_pause();
    STRV_AUTO env = STRV_INIT, argv = STRV_INIT;
    pod_env(bed, pod, &env);
    strv_add_all(&argv, bed->command.v, bed->command.n);
    if (argv.n == 0)
        strv_add(&argv, "pause");
    CLEANUP_FREE char *path =
        bed->command.n == 0
            ? xstrdup("/proc/self/exe")
            : proc_resolve(argv.v[0], strv_getenv(&env, "PATH"), "/", err);
    if (path == NULL)
        return -1;
    boot_say(BOOT_FD, "starting");
    fcntl(BOOT_FD, F_SETFD, FD_CLOEXEC);
    close_range(BOOT_FD + 1, ~0U, 0);
    execve(path, argv.v, env.v);
    err_set_kind(err, NULL, 126, "cannot start %s: %s", path, strerror(errno));
    return -1;
}

static int pid1(const struct bed *bed, const struct pod *pod, struct err *err)
{
    CLEANUP_FREE char *group = cgroup_dir(bed, pod);
    CLEANUP_FREE char *log = pod_path(bed, pod, "log");
    const struct rootfs fs = {.image = pod_root(bed, pod), .mounts = &bed->mounts};
    setsid();
    if (cgroup_join(group, err) < 0 || redirect(log, err) < 0 ||
        rootfs_enter(bed, pod, &fs, err) < 0 ||
        caps_become(bed->uid, bed->gid, err) < 0)
        return -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL); // after the change of user
    return be_command(bed, pod, err);
}

// ---- the shim ---------------------------------------------------------------

static int note(const struct bed *bed, const struct pod *pod, const char *file,
                const char *text, struct err *err)
{
    CLEANUP_FREE char *path = pod_path(bed, pod, file);
    return file_replace(path, text, 0644, err);
}

static void note_end(const struct bed *bed, const struct pod *pod, int status)
{
    CLEANUP_FREE char *how = proc_status_text(status);
    CLEANUP_FREE char *line = xasprintf("%d %s\n", proc_status_code(status), how);
    note(bed, pod, "exit", line, NULL);
}

int shim_main(const struct bed *bed, const struct pod *pod, struct err *err)
{
    CLEANUP_FREE char *group = cgroup_dir(bed, NULL), *old = pod_path(bed, pod, "exit");
    unlink(old);
    if (cgroup_join(group, err) < 0 || etc_write(bed, pod, err) < 0 ||
        ns_enter(&pod->sandbox,
                 CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS, err) < 0)
        return -1;
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) < 0)
        return err_set_errno(err, errno, "cannot make a pipe"), -1;
    pid_t pid = ns_fork_container();
    if (pid == 0) {
        char go; // pid 1 begins when its pid is written down
        if (read(gate[0], &go, 1) == 1 && pid1(bed, pod, err) < 0)
            boot_say_error(BOOT_FD, err);
        _exit(127);
    }
    if (pid < 0)
        return err_set_errno(err, errno, "cannot make a container"), -1;
    struct ident id = ident_of(pid);
    CLEANUP_FREE char *line = xasprintf("%d %llu\n", (int)pid, id.start);
    if (note(bed, pod, "container", line, err) < 0 || write(gate[1], "g", 1) != 1)
        return -1;
    close(BOOT_FD);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    note_end(bed, pod, status);
    return 0;
}

// ---- podbox's side ----------------------------------------------------------

// Pid 1 says "starting" and then either what is wrong, or nothing: its end of the line
// closes with the exec.
static int expect_running(const struct pod *pod, struct boot *b, struct err *err)
{
    if (boot_expect(b->fd, "starting", err) == 0 && boot_expect(b->fd, "", err) == 0)
        return 0;
    err_prefix(err, "container of pod %s", pod->name);
    return -1;
}

static int start_all(const struct bed *bed, size_t first, size_t n, struct boot *b,
                     struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (boot_start(bed, BOOT_SHIM, bed->pods[first + i].name, &b[i], err) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (expect_running(&bed->pods[first + i], &b[i], err) < 0)
            return -1;
    return 0;
}

int shim_start(const struct bed *bed, size_t first, size_t n, struct err *err)
{
    CLEANUP_FREE struct boot *b = xcalloc(n, sizeof *b);
    for (size_t i = 0; i < n; i++)
        b[i].fd = -1;
    int rc = start_all(bed, first, n, b, err);
    for (size_t i = 0; i < n; i++)
        boot_close(&b[i]);
    return rc;
}
