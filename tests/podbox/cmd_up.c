// podbox up: make a bed and its pods.
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/cgroup.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/dns.h"
#include "tests/podbox/down.h"
#include "tests/podbox/file.h"
#include "tests/podbox/rootfs.h"
#include "tests/podbox/sandbox.h"
#include "tests/podbox/shim.h"
#include "tests/podbox/volume.h"

enum {
    PODS_MAX = BED_HOST_LAST_POD - BED_HOST_FIRST_POD,
    AT_A_TIME = 64, // helpers that start side by side
    LOCK_MS = 10000,
};

struct options {
    char *name;        // owned
    struct strv names; // instead of name-0..n-1
    struct strv secrets, binds;
    bool not_ready;
    long count;
};

// ---- the command line -------------------------------------------------------

static void set(char **field, const char *value)
{
    free(*field);
    *field = xstrdup(value);
}

static int add_mount(struct bed *bed, const char *kind, const char *value,
                     struct err *err)
{
    CLEANUP_FREE char *entry = xasprintf("%s:%s", kind, value);
    struct rootfs_mount m;
    if (!rootfs_mount_parse(entry, &m))
        return cmd_usage("up", "--volume and --secret want NAME:/mount/path", err);
    strv_add(&bed->mounts, entry);
    return 0;
}

// NAME:/path[:MODE]; the volume's files get the mode.
static int add_secret(struct bed *bed, const char *value, struct err *err)
{
    CLEANUP_FREE char *text = xstrdup(value);
    char *first = strchr(text, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    mode_t mode = 0400;
    if (second != NULL) {
        mode = (mode_t)strtoul(second + 1, NULL, 8);
        *second = '\0';
    }
    if (first == NULL || mode == 0 || mode > 0777)
        return cmd_usage("up", "--secret wants NAME:/mount/path[:MODE]", err);
    CLEANUP_FREE char *name = xstrndup(text, (size_t)(first - text));
    return volume_make(bed, name, mode, err) < 0 ? -1
                                                 : add_mount(bed, "secret", text, err);
}

static int add_volume(struct bed *bed, const char *value, struct err *err)
{
    CLEANUP_FREE char *name = xstrndup(value, strcspn(value, ":"));
    return volume_make(bed, name, 0, err) < 0 ? -1
                                              : add_mount(bed, "volume", value, err);
}

// A directory of the machine at the same path: "bind" read-only, "share" as a volume that
// all pods write.
static int add_path(struct bed *bed, const char *kind, const char *path,
                    struct err *err)
{
    CLEANUP_FREE char *value = xasprintf("%s:%s", path, path);
    return add_mount(bed, kind, value, err);
}

// [POD=]DIR
static int add_root(struct bed *bed, const char *value, struct err *err)
{
    const char *eq = strchr(value, '='), *dir = eq != NULL ? eq + 1 : value;
    struct stat st;
    if (dir[0] != '/' || strpbrk(dir, ":,=") != NULL || stat(dir, &st) < 0 ||
        !S_ISDIR(st.st_mode))
        return cmd_usage(
            "up", "--root wants [POD=]DIR, an absolute directory without : , =", err);
    strv_add(&bed->roots, value);
    return 0;
}

static void add_names(struct options *o, const char *list)
{
    for (const char *p = list; *p != '\0'; p += strspn(p, ",")) {
        size_t len = strcspn(p, ",");
        strv_add_steal(&o->names, xstrndup(p, len));
        p += len;
    }
}

// UID[:GID], as runAsUser and runAsGroup: numbers only.
static int set_user(struct bed *bed, const char *value, struct err *err)
{
    unsigned uid, gid = 0;
    char rest;
    int n = sscanf(value, "%u:%u%c", &uid, &gid, &rest);
    if (n != 2 && (n != 1 || strspn(value, "0123456789") != strlen(value)))
        return cmd_usage("up", "--user wants UID or UID:GID", err);
    bed->uid = uid;
    bed->gid = gid;
    return 0;
}

static const struct option long_options[] = {
    {"name", required_argument, NULL, 'n'},
    {"names", required_argument, NULL, 'N'},
    {"service", required_argument, NULL, 's'},
    {"namespace", required_argument, NULL, 'S'},
    {"domain", required_argument, NULL, 'd'},
    {"not-ready", no_argument, NULL, 'r'},
    {"publish-not-ready", no_argument, NULL, 'p'},
    {"ttl", required_argument, NULL, 't'},
    {"ipv6", no_argument, NULL, '6'},
    {"volume", required_argument, NULL, 'v'},
    {"secret", required_argument, NULL, 'k'},
    {"bind", required_argument, NULL, 'b'},
    {"share", required_argument, NULL, 'w'},
    {"root", required_argument, NULL, 'R'},
    {"env", required_argument, NULL, 'e'},
    {"user", required_argument, NULL, 'u'},
    {NULL, 0, NULL, 0},
};

static int take_option(struct bed *bed, struct options *o, int c, struct err *err)
{
    switch (c) {
    case 1: return o->count = strtol(optarg, NULL, 10), 0;
    case 'n': return set(&o->name, optarg), 0;
    case 'N': return add_names(o, optarg), 0;
    case 's': return set(&bed->service, optarg), 0;
    case 'S': return set(&bed->ns, optarg), 0;
    case 'd': return set(&bed->domain, optarg), 0;
    case 'r': return o->not_ready = true, 0;
    case 'p': return bed->publish_not_ready = true, 0;
    case 't': return bed->ttl = (unsigned)strtoul(optarg, NULL, 10), 0;
    case '6': return bed->ipv6 = true, 0;
    case 'v': return add_volume(bed, optarg, err);
    case 'k': return add_secret(bed, optarg, err);
    case 'b': return add_path(bed, "bind", optarg, err);
    case 'w': return add_path(bed, "share", optarg, err);
    case 'R': return add_root(bed, optarg, err);
    case 'e': return strv_putenv(&bed->env, optarg), 0;
    case 'u': return set_user(bed, optarg, err);
    default: return cmd_usage("up", "unknown option, or one without its value", err);
    }
}

// PODBOX_BIND names what every pod of every bed sees: the build tree, for tests.
static int bind_common(struct bed *bed, struct err *err)
{
    const char *list = getenv("PODBOX_BIND");
    CLEANUP_FREE char *text = xstrdup(list != NULL ? list : "");
    char *save = NULL;
    for (char *p = strtok_r(text, ":", &save); p != NULL;
         p = strtok_r(NULL, ":", &save))
        if (add_path(bed, "bind", p, err) < 0)
            return -1;
    return 0;
}

static int check_roots(const struct bed *bed, struct err *err)
{
    for (size_t i = 0; i < bed->roots.n; i++) {
        const char *eq = strchr(bed->roots.v[i], '=');
        if (eq == NULL)
            continue;
        CLEANUP_FREE char *pod =
            xstrndup(bed->roots.v[i], (size_t)(eq - bed->roots.v[i]));
        if (bed_pod(bed, pod, err) == NULL)
            return -1;
    }
    return 0;
}

static int parse(struct bed *bed, struct options *o, int argc, char **argv,
                 struct err *err)
{
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "-:", long_options, NULL)) != -1;)
        if (take_option(bed, o, c, err) < 0)
            return -1;
    for (int i = optind; i < argc; i++)
        strv_add(&bed->command, argv[i]);
    if (o->name == NULL)
        o->name = xstrdup("train");
    if (bed->service == NULL)
        bed->service = xstrdup(o->name);
    if (bed->ns == NULL)
        bed->ns = xstrdup("default");
    if (bed->domain == NULL)
        bed->domain = xstrdup("cluster.local");
    for (long i = 0; o->names.n == 0 && i < o->count && i < PODS_MAX; i++) {
        CLEANUP_FREE char *pod = xasprintf("%s-%ld", o->name, i);
        bed_add_pod(bed, pod);
    }
    for (size_t i = 0; i < o->names.n; i++)
        bed_add_pod(bed, o->names.v[i]);
    if (bed->npods == 0 || bed->npods >= PODS_MAX)
        return cmd_usage("up", "want the number of pods, 1 to 1000", err);
    return check_roots(bed, err) < 0 ? -1 : bind_common(bed, err);
}

// ---- the work ---------------------------------------------------------------

static int name_pods(struct bed *bed, bool ready, struct err *err)
{
    for (size_t i = 0; i < bed->npods; i++) {
        CLEANUP_FREE char *dir = pod_path(bed, &bed->pods[i], "");
        CLEANUP_FREE char *uid = file_read("/proc/sys/kernel/random/uuid", err);
        if (uid == NULL || file_mkdirs(dir, 0755, err) < 0)
            return -1;
        snprintf(bed->pods[i].uid, sizeof bed->pods[i].uid, "%.36s", uid);
        bed->pods[i].ready = ready;
    }
    return 0;
}

static int start_pods(struct bed *bed, struct err *err)
{
    for (size_t i = 0; i < bed->npods; i += AT_A_TIME) {
        size_t n = bed->npods - i < AT_A_TIME ? bed->npods - i : AT_A_TIME;
        if (sandbox_start(bed, i, n, err) < 0 || bed_save(bed, err) < 0 ||
            shim_start(bed, i, n, err) < 0)
            return -1;
    }
    return 0;
}

static int make(struct bed *bed, struct err *err)
{
    CLEANUP_CLOSE int lock = bed_lock(bed->name, LOCK_MS, err);
    if (lock < 0 || bed_save(bed, err) < 0 || sandbox_fabric_start(bed, err) < 0 ||
        dns_start(bed, err) < 0 || bed_save(bed, err) < 0 || start_pods(bed, err) < 0)
        return -1;
    return dns_wait(bed, err);
}

static void report(const struct bed *bed)
{
    CLEANUP_FREE char *dns = bed_addr_text(bed, BED_HOST_DNS);
    CLEANUP_FREE char *first = bed_addr_text(bed, bed->pods[0].host);
    printf("bed %s: %zu pod%s from %s %s, DNS %s\n", bed->name, bed->npods,
           bed->npods == 1 ? "" : "s", bed->pods[0].name, first, dns);
}

// Do it in a child, so that whatever happens to it, what it made is taken down.
static int make_guarded(struct bed *bed, struct err *err)
{
    sigset_t set, old;
    sigemptyset(&set);
    const int sigs[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < 4; i++)
        sigaddset(&set, sigs[i]);
    sigprocmask(SIG_BLOCK, &set, &old);
    pid_t worker = fork();
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &old, NULL);
        int rc = make(bed, err);
        if (rc < 0)
            fprintf(stderr, "podbox: up: %s\n", err_text(err));
        exit(rc < 0 ? (err->code != 0 ? err->code : 1) : 0);
    }
    int status = 0, sig = 0;
    while (worker > 0 && waitpid(worker, &status, WNOHANG) == 0)
        if ((sig = sigwaitinfo(&set, NULL)) != SIGCHLD && sig > 0)
            kill(worker, sig);
    if (worker > 0 && status == 0)
        return 0;
    int code = worker > 0 ? proc_status_code(status) : 1;
    return down_bed(bed->name, err) < 0 ? -1 : code;
}

static int up(struct bed *bed, struct options *o, int argc, char **argv,
              struct err *err)
{
    if (parse(bed, o, argc, argv, err) < 0 || bed_claim(bed, err) < 0 ||
        name_pods(bed, !o->not_ready, err) < 0)
        return -1;
    int code = make_guarded(bed, err);
    if (code == 0)
        report(bed);
    return code;
}

int cmd_up(const char *name, int argc, char **argv, struct err *err)
{
    struct options o = {0};
    struct bed *bed = bed_create(name, err);
    int code = bed != NULL ? up(bed, &o, argc, argv, err) : -1;
    free(o.name);
    strv_free(&o.names);
    bed_destroy(bed);
    return code;
}
