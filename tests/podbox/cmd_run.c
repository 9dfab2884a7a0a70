// podbox run: a further container of a pod, which lives as long as this command.
//
// It shares the pod's network, IPC and UTS namespaces, /dev/shm and hosts file with the
// pod's other containers, and has an image, a user, mounts, pids and an environment of
// its own. What kubelet does with containers (order, restarts, probes) is the caller's.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/caps.h"
#include "tests/podbox/cgroup.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/etc.h"
#include "tests/podbox/follow.h"
#include "tests/podbox/ns.h"
#include "tests/podbox/rootfs.h"

struct container {
    const struct bed *bed;
    const struct pod *pod;
    struct rootfs fs;
    struct strv mounts, env;
    uid_t uid;
    gid_t gid;
    bool no_new_privs;
    char **argv;
};

// ---- the container ----------------------------------------------------------

static int become(const struct container *c, struct err *err)
{
    CLEANUP_FREE char *group = cgroup_dir(c->bed, c->pod);
    setsid();
    if (cgroup_join(group, err) < 0 || rootfs_enter(c->bed, c->pod, &c->fs, err) < 0 ||
        caps_become(c->uid, c->gid, err) < 0)
        return -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL); // after the change of user
    if (c->no_new_privs)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    CLEANUP_FREE char *path =
        proc_resolve(c->argv[0], strv_getenv(&c->env, "PATH"), "/", err);
    if (path == NULL)
        return -1;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close_range(3, ~0U, 0);
    execve(path, c->argv, c->env.v);
    err_set_kind(err, NULL, 126, "cannot start %s: %s", path, strerror(errno));
    return -1;
}

static int run(const struct container *c, struct err *err)
{
    CLEANUP_FREE char *group = cgroup_dir(c->bed, NULL);
    CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0)
        return err_set_errno(err, errno, "cannot open /dev/null"), -1;
    if (cgroup_join(group, err) < 0 || etc_write(c->bed, c->pod, err) < 0 ||
        ns_enter(&c->pod->sandbox,
                 CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS, err) < 0)
        return -1;
    sigset_t set;
    follow_block(&set);
    pid_t pid = ns_fork_container();
    if (pid == 0) {
        if (become(c, err) < 0)
            fprintf(stderr, "podbox: container of pod %s: %s\n", c->pod->name,
                    err_text(err));
        _exit(err->code != 0 ? err->code : 127);
    }
    if (pid < 0)
        return err_set_errno(err, errno, "cannot make a container"), -1;
    return follow_child(pid, &set, true);
}

// ---- the command line -------------------------------------------------------

static const struct option options[] = {
    {"image", required_argument, NULL, 'i'},
    {"user", required_argument, NULL, 'u'},
    {"mount", required_argument, NULL, 'm'},
    {"env", required_argument, NULL, 'e'},
    {"read-only", no_argument, NULL, 'r'},
    {"no-new-privs", no_argument, NULL, 'n'},
    {NULL, 0, NULL, 0},
};

static int take_option(struct container *c, struct strv *env, int option,
                       struct err *err)
{
    struct rootfs_mount m;
    switch (option) {
    case 'i': c->fs.image = optarg; return 0;
    case 'e': strv_add(env, optarg); return 0;
    case 'r': c->fs.read_only = true; return 0;
    case 'n': c->no_new_privs = true; return 0;
    case 'u':
        if (sscanf(optarg, "%u:%u", &c->uid, &c->gid) < 1)
            return cmd_usage("run", "--user wants UID or UID:GID", err);
        return 0;
    case 'm':
        if (!rootfs_mount_parse(optarg, &m))
            return cmd_usage("run", "--mount wants KIND:NAME:/path", err);
        strv_add(&c->mounts, optarg);
        return 0;
    default: return cmd_usage("run", "unknown option, or one without its value", err);
    }
}

static int parse(struct container *c, struct bed *bed, int argc, char **argv,
                 struct err *err)
{
    STRV_AUTO env = STRV_INIT;
    c->bed = bed;
    c->fs = (struct rootfs){.image = "/", .mounts = &c->mounts};
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, "-", options, NULL)) != -1;) {
        if (o == 1 && c->pod != NULL) {
            optind--; // the program's first word
            break;
        }
        if (o == 1 && (c->pod = bed_pod(bed, optarg, err)) == NULL)
            return -1;
        if (o != 1 && take_option(c, &env, o, err) < 0)
            return -1;
    }
    c->argv = argv + optind;
    if (c->pod == NULL || c->argv[0] == NULL)
        return cmd_usage("run", "want POD [OPTIONS] CMD ARGS...", err);
    bed->uid = c->uid; // HOME
    pod_env(bed, c->pod, &c->env);
    for (size_t i = 0; i < env.n; i++)
        strv_putenv(&c->env, env.v[i]);
    return 0;
}

int cmd_run(const char *name, int argc, char **argv, struct err *err)
{
    struct bed *bed = bed_load(name, err);
    struct container c = {0};
    int rc = bed != NULL && parse(&c, bed, argc, argv, err) == 0 ? run(&c, err) : -1;
    strv_free(&c.mounts);
    strv_free(&c.env);
    bed_destroy(bed);
    return rc;
}
