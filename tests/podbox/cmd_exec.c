// podbox exec: run a program in a pod's container.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/caps.h"
#include "tests/podbox/cgroup.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/follow.h"

struct job {
    const struct bed *bed;
    const struct pod *pod;
    char **argv;
    struct strv env;
    bool detach;
    bool own_session; // not when it shares our terminal
    int target;       // pidfd of the container's pid 1
    int report;       // the child says here why it could not exec
};

// ---- the child --------------------------------------------------------------

static int redirect(const struct job *job, struct err *err)
{
    CLEANUP_FREE char *path = pod_path(job->bed, job->pod, "log");
    CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP_CLOSE int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (null >= 0 && log >= 0 && dup2(null, 0) >= 0 && dup2(log, 1) >= 0 &&
        dup2(log, 2) >= 0)
        return 0;
    err_set_errno(err, errno, "cannot open %s", path);
    return -1;
}

// Die with podbox; false when it has died already.
static bool follow_parent(const struct job *job)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct pollfd p = {.fd = job->report};
    return poll(&p, 1, 0) == 0; // POLLERR: the reader is gone
}

static int enter(const struct job *job, struct err *err)
{
    CLEANUP_FREE char *group = cgroup_dir(job->bed, job->pod);
    if (cgroup_join(group, err) < 0 || (job->detach && redirect(job, err) < 0))
        return -1;
    if (setns(job->target, CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS) <
            0 ||
        chdir("/") < 0) {
        err_set_errno(err, errno, "cannot enter the container of pod %s",
                      job->pod->name);
        return -1;
    }
    if (caps_become(job->bed->uid, job->bed->gid, err) < 0)
        return -1;
    if (!job->detach)
        prctl(PR_SET_PDEATHSIG, SIGKILL); // the change of user has cleared it
    return 0;
}

static int become(const struct job *job, struct err *err)
{
    if (job->own_session)
        setsid();
    if (enter(job, err) < 0)
        return -1;
    CLEANUP_FREE char *path =
        proc_resolve(job->argv[0], strv_getenv(&job->env, "PATH"), "/", err);
    if (path == NULL)
        return -1;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup3(job->report, 3, O_CLOEXEC);
    close_range(4, ~0U, 0);
    execve(path, job->argv, job->env.v);
    err_set_kind(err, NULL, 126, "cannot start %s: %s", path, strerror(errno));
    dprintf(3, "%d:%s", err->code, err_text(err));
    _exit(127);
}

static void child(const struct job *job) __attribute__((noreturn));

static void child(const struct job *job)
{
    ERR_AUTO err = ERR_INIT;
    if ((job->detach || follow_parent(job)) && become(job, &err) < 0)
        dprintf(job->report, "%d:%s", err.code, err_text(&err));
    _exit(127);
}

// ---- podbox -----------------------------------------------------------------

// Fork into the container's pid namespace; our own later children stay in ours.
static pid_t fork_inside(const struct job *job, struct err *err)
{
    CLEANUP_CLOSE int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    if (own < 0 || setns(job->target, CLONE_NEWPID) < 0) {
        err_set_errno(err, errno, "cannot enter the container of pod %s",
                      job->pod->name);
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0)
        child(job);
    if (pid < 0)
        err_set_errno(err, errno, "cannot fork into pod %s", job->pod->name);
    setns(own, CLONE_NEWPID);
    return pid;
}

static int read_report(int fd, struct err *err)
{
    char text[2048];
    ssize_t n;
    do
        n = read(fd, text, sizeof text - 1);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *colon = strchr(text, ':');
    err_set_kind(err, NULL, atoi(text), "%s", colon != NULL ? colon + 1 : text);
    return -1;
}

static int run_attached(struct job *job, int report, struct err *err)
{
    sigset_t set;
    follow_block(&set);
    pid_t pid = fork_inside(job, err);
    close(job->report);
    if (pid < 0 || read_report(report, err) < 0)
        return -1;
    return follow_child(pid, &set, job->own_session);
}

// What we detach from keeps a parent that reaps it, as a runtime's shim does: until it
// is reaped its pid namespace cannot end.
static int run_detached(struct job *job, int report, struct err *err)
{
    pid_t keeper = fork();
    if (keeper == 0) {
        setsid();
        pid_t pid = fork_inside(job, err);
        if (pid < 0)
            dprintf(job->report, "%d:%s", err->code, err_text(err));
        close_range(0, ~0U, 0);
        _exit(pid < 0 || waitpid(pid, NULL, 0) < 0 ? 1 : 0);
    }
    if (keeper < 0)
        err_set_errno(err, errno, "cannot fork");
    close(job->report);
    return keeper < 0 ? -1 : read_report(report, err);
}

static int run(struct job *job, struct err *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "cannot make a pipe");
        return -1;
    }
    job->report = report[1];
    int rc = job->detach ? run_detached(job, report[0], err)
                         : run_attached(job, report[0], err);
    close(report[0]);
    return rc;
}

static int parse(struct job *job, struct bed *bed, int argc, char **argv,
                 struct err *err)
{
    static const struct option options[] = {
        {"detach", no_argument, NULL, 'd'},
        {"env", required_argument, NULL, 'e'},
        {NULL, 0, NULL, 0},
    };
    STRV_AUTO env = STRV_INIT;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "-:de:", options, NULL)) != -1;) {
        if (c == 1 && job->pod != NULL) {
            optind--; // the program's first word
            break;
        }
        if (c == 1 && (job->pod = bed_pod(bed, optarg, err)) == NULL)
            return -1;
        if (c == '?' || c == ':')
            return cmd_usage("exec", "unknown option, or one without its value", err);
        job->detach = job->detach || c == 'd';
        if (c == 'e')
            strv_add(&env, optarg);
    }
    job->argv = argv + optind;
    if (job->pod == NULL || job->argv[0] == NULL)
        return cmd_usage("exec", "want POD [-d] [--env NAME=VALUE]... CMD ARGS...",
                         err);
    pod_env(bed, job->pod, &job->env);
    if (isatty(0) != 0 && getenv("TERM") != NULL)
        strv_setenv(&job->env, "TERM", getenv("TERM"));
    for (size_t i = 0; i < env.n; i++)
        strv_putenv(&job->env, env.v[i]);
    return 0;
}

int cmd_exec(const char *name, int argc, char **argv, struct err *err)
{
    struct bed *bed = bed_load(name, err);
    struct job job = {.bed = bed, .target = -1};
    int rc = bed != NULL ? parse(&job, bed, argc, argv, err) : -1;
    if (rc == 0) {
        struct ident id = pod_container(bed, job.pod);
        job.own_session = job.detach || isatty(0) == 0;
        job.target = ident_open(&id);
        if (job.target < 0)
            err_set(err, "no container runs in pod %s: see podbox list", job.pod->name);
        rc = job.target < 0 ? -1 : run(&job, err);
        if (job.target >= 0)
            close(job.target);
    }
    strv_free(&job.env);
    bed_destroy(bed);
    return rc;
}
