// Find, start and end processes.
#include "common/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/strv.h"

enum { NAMED_MAX = 16 };

// Whether it is the program that cannot be had, or the machine that cannot give it now.
struct blame {
    const char *kind;
    int code;
};

static struct blame blame_for(int why)
{
    switch (why) {
    case ENOENT:
    case ENOTDIR: return (struct blame){"PROGRAM_NOT_FOUND", 127};
    case E2BIG:
    case EACCES:
    case EINVAL: // execve(2): two interpreters
    case EISDIR:
    case ELIBBAD:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOEXEC:
    case EPERM: return (struct blame){"PROGRAM_NOT_EXECUTABLE", 126};
    default: return (struct blame){"PROGRAM_UNAVAILABLE", 125};
    }
}

static bool is_program(const char *path, int *why)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        *why = errno;
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        *why = EISDIR;
        return false;
    }
    if (access(path, X_OK) < 0) {
        *why = errno;
        return false;
    }
    return true;
}

static char *resolve_slash(const char *program, const char *dir, struct err *err)
{
    int why = 0;
    char *path = program[0] == '/' || dir == NULL ? xstrdup(program)
                                                  : xasprintf("%s/%s", dir, program);
    if (is_program(path, &why))
        return path;
    struct blame b = blame_for(why);
    CLEANUP_FREE char *cwd = program[0] != '/' && dir == NULL ? getcwd(NULL, 0) : NULL;
    err_set_kind(err, b.kind, b.code, "program %s: %s%s%s%s", path, strerror(why),
                 cwd != NULL ? " (from the agent's directory " : "",
                 cwd != NULL ? cwd : "",
                 cwd != NULL ? "; give --wdir or an absolute path)" : "");
    free(path);
    return NULL;
}

char *proc_resolve(const char *program, const char *path, const char *dir,
                   struct err *err)
{
    if (strchr(program, '/') != NULL)
        return resolve_slash(program, dir, err);
    if (path == NULL || path[0] == '\0')
        path = "/usr/local/bin:/usr/bin:/bin";
    bool denied = false;
    int unavailable = 0; // why it is not known what is there
    for (const char *p = path; program[0] != '\0';) {
        size_t len = strcspn(p, ":");
        const char *base = len > 0 && p[0] == '/' ? "" : dir != NULL ? dir : ".";
        char *full =
            xasprintf("%s%s%.*s/%s", base, base[0] ? "/" : "", (int)len, p, program);
        int why = 0;
        if (is_program(full, &why))
            return full;
        denied = denied || why == EACCES;
        if (unavailable == 0 && blame_for(why).code == 125)
            unavailable = why;
        free(full);
        if (p[len] == '\0')
            break;
        p += len + 1;
    }
    if (unavailable != 0)
        err_set_kind(err, blame_for(unavailable).kind, 125,
                     "program %s: PATH cannot be searched: %s (PATH=%s)", program,
                     strerror(unavailable), path);
    else if (denied)
        err_set_kind(err, "PROGRAM_NOT_EXECUTABLE", 126,
                     "program %s: found in PATH, but not executable (PATH=%s)", program,
                     path);
    else
        err_set_kind(err, "PROGRAM_NOT_FOUND", 127,
                     "program %s: not found in PATH (PATH=%s)", program, path);
    return NULL;
}

char *proc_self(void)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self);
    return len > 0 && len < (ssize_t)sizeof self ? xstrndup(self, (size_t)len) : NULL;
}

char *proc_find_beside(const char *const *places, size_t n)
{
    CLEANUP_FREE char *self = proc_self();
    if (self == NULL)
        return NULL;
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", self, places[i]);
        int why;
        if (is_program(path, &why))
            return path;
        free(path);
    }
    return NULL;
}

static void reset_signals(void)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++)
        sigaction(s, &dfl, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// A copy above all the numbers up to `top`; -1 with errno.
static int move_above(int fd, int top)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, top + 2);
    if (moved < 0 && errno == EINVAL)
        errno = EMFILE; // so many are not allowed
    return moved;
}

// Put the wanted fds to their numbers: first above all targets, then in place; close
// the rest. *report moves out of the way too. Returns -1 with errno.
static int place_fds(const struct proc_spec *spec, int *report)
{
    int moved[PROC_FDS_MAX], top = 2;
    for (size_t i = 0; i < spec->nfds; i++)
        top = spec->fds[i].to > top ? spec->fds[i].to : top;
    for (size_t i = 0; i < spec->nfds; i++)
        if ((moved[i] = move_above(spec->fds[i].from, top)) < 0)
            return -1;
    int own = move_above(*report, top);
    if (own < 0)
        return -1;
    *report = own;
    close_range(3, (unsigned)top + 1, 0);
    for (size_t i = 0; i < spec->nfds; i++)
        if (dup2(moved[i], spec->fds[i].to) < 0)
            return -1;
    if (dup3(*report, top + 1, O_CLOEXEC) < 0)
        return -1;
    *report = top + 1;
    close_range((unsigned)top + 2, ~0U, 0);
    return 0;
}

static void child(const struct proc_spec *spec, int report, pid_t parent)
    __attribute__((noreturn));

static void child(const struct proc_spec *spec, int report, pid_t parent)
{
    if (spec->own_session)
        setsid();
    else if (spec->own_group)
        setpgid(0, 0);
    if (spec->death_signal != 0) {
        prctl(PR_SET_PDEATHSIG, spec->death_signal);
        if (getppid() != parent)
            _exit(127);
    }
    if (place_fds(spec, &report) == 0 && (spec->dir == NULL || chdir(spec->dir) == 0)) {
        reset_signals();
        if (spec->files != NULL)
            setrlimit(RLIMIT_NOFILE, spec->files);
        execve(spec->path, spec->argv, spec->envp);
    }
    int why = errno;
    ssize_t n = write(report, &why, sizeof why);
    (void)n;
    _exit(127);
}

pid_t proc_spawn(const struct proc_spec *spec, struct err *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "cannot start %s: pipe", spec->path);
        return -1;
    }
    // All signals wait while the child still has our handlers.
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        child(spec, report[1], parent);
    int why = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        err_set_errno(err, why, "cannot start %s: fork", spec->path);
        return -1;
    }
    ssize_t n;
    do
        n = read(report[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n != (ssize_t)sizeof why)
        return pid;
    waitpid(pid, NULL, 0);
    struct blame b = blame_for(why);
    err_set_kind(err, b.kind, b.code, "cannot start %s%s%s: %s%s", spec->path,
                 spec->dir != NULL ? " in " : "", spec->dir != NULL ? spec->dir : "",
                 strerror(why),
                 why == ENOEXEC   ? " (neither a binary of this machine nor a script "
                                    "with a #! line)"
                 : why == ENOENT  ? " (the program, its interpreter or its directory)"
                 : why == ETXTBSY ? " (somebody still writes to it)"
                 : why == EMFILE  ? " (ulimit -n of the process that starts it)"
                 : why == E2BIG   ? " (arguments and environment together, or one of "
                                    "them, which may have 128 KiB)"
                                  : "");
    return -1;
}

// ---- process trees ----------------------------------------------------------

struct entry {
    pid_t pid, ppid;
    char state;
    int threads;
};

// A process whose main thread has ended shows 'Z' while its other threads go on.
static bool alive(const struct entry *e)
{
    return e->state != 'Z' || e->threads > 1;
}

// Others' processes may be hidden (proc(5), hidepid); they are not ours.
static bool is_not_there(int why)
{
    return why == ENOENT || why == ESRCH || why == EACCES || why == EPERM;
}

// False: there is no such process, or with *why (else as it was) it cannot be told.
static bool read_stat(pid_t pid, struct entry *e, int *why)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n < 0 && !is_not_there(errno))
        *why = errno;
    if (n <= 0)
        return false;
    text[n] = '\0';
    char *after = strrchr(text, ')'); // the name may hold anything
    int ppid = 0;
    // Fields 3, 4 and 20 of proc(5): state, ppid, num_threads.
    if (after == NULL ||
        sscanf(after + 1,
               " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
               &e->state, &ppid, &e->threads) != 3)
        return false;
    e->pid = pid;
    e->ppid = ppid;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct entry *)a)->pid, y = ((const struct entry *)b)->pid;
    return (x > y) - (x < y);
}

// All processes, ordered by pid. *why: an errno where some could not be seen, else 0.
static struct entry *snapshot(size_t *count, int *why)
{
    size_t n = 0, cap = 256;
    struct entry *all = xmalloc(cap * sizeof *all);
    DIR *dir = opendir("/proc");
    *why = dir == NULL ? errno : 0;
    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;) {
        if (d->d_name[0] < '0' || d->d_name[0] > '9')
            continue;
        if (n == cap)
            all = xrealloc(all, cap *= 2, sizeof *all);
        n += read_stat((pid_t)atoi(d->d_name), &all[n], why) ? 1 : 0;
    }
    if (dir != NULL)
        closedir(dir);
    qsort(all, n, sizeof *all, by_pid);
    *count = n;
    return all;
}

static bool is_one_of(pid_t pid, const pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

// Walks up from *e: is root above it, and none of `keep` on the way (nor *e itself)?
static bool descends(const struct entry *all, size_t n, const struct entry *e,
                     pid_t root, const pid_t *keep, size_t nkeep)
{
    for (size_t steps = 0; e != NULL && steps <= n; steps++) {
        if (is_one_of(e->pid, keep, nkeep))
            return false;
        if (e->ppid == root)
            return true;
        struct entry key = {.pid = e->ppid};
        e = bsearch(&key, all, n, sizeof *all, by_pid);
    }
    return false;
}

// The same; *why as of snapshot().
static size_t find(pid_t root, const pid_t *keep, size_t nkeep, pid_t *pids, size_t max,
                   int *why)
{
    size_t n, found = 0;
    CLEANUP_FREE struct entry *all = snapshot(&n, why);
    for (size_t i = 0; i < n; i++) {
        if (!alive(&all[i]) || !descends(all, n, &all[i], root, keep, nkeep))
            continue;
        if (found < max)
            pids[found] = all[i].pid;
        found++;
    }
    return found;
}

size_t proc_descendants_but(pid_t root, const pid_t *keep, size_t nkeep, pid_t *pids,
                            size_t max)
{
    int why;
    size_t found = find(root, keep, nkeep, pids, max, &why);
    return found == 0 && why != 0 ? 1 : found;
}

size_t proc_kill_but(pid_t root, int sig, const pid_t *keep, size_t nkeep)
{
    int why;
    size_t n, found = 0;
    CLEANUP_FREE struct entry *all = snapshot(&n, &why);
    for (size_t i = 0; i < n; i++)
        if (alive(&all[i]) && descends(all, n, &all[i], root, keep, nkeep) &&
            (kill(all[i].pid, sig) == 0 || errno != ESRCH))
            found++;
    return found == 0 && why != 0 ? 1 : found;
}

// A file of /proc/PID that is one word; "?" where it cannot be read.
static void read_word(pid_t pid, const char *file, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    snprintf(out, size, "?");
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (n <= 0)
        return;
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

void proc_comm(pid_t pid, char *out, size_t size)
{
    read_word(pid, "comm", out, size);
}

char proc_state(pid_t pid)
{
    struct entry e = {0};
    int why;
    read_stat(pid, &e, &why);
    return e.state;
}

void proc_name_but(pid_t root, const pid_t *keep, size_t nkeep, struct strv *names)
{
    pid_t pids[NAMED_MAX];
    int why;
    size_t n = find(root, keep, nkeep, pids, NAMED_MAX, &why);
    for (size_t i = 0; i < n && i < NAMED_MAX; i++) {
        char comm[64], where[64], state = proc_state(pids[i]);
        proc_comm(pids[i], comm, sizeof comm);
        read_word(pids[i], "wchan", where, sizeof where);
        bool known = state == 'D' && strcmp(where, "0") != 0 && strcmp(where, "?") != 0;
        if (state != '\0')
            strv_addf(names, "%d (%s, %c%s%s)", (int)pids[i], comm, state,
                      known ? " in " : "", known ? where : "");
    }
    if (n > NAMED_MAX)
        strv_addf(names, "and %zu more", n - NAMED_MAX);
    if (why != 0)
        strv_addf(names, "perhaps more (/proc cannot be read: %s)", strerror(why));
}

// ---- texts and fds ----------------------------------------------------------

char *proc_status_text(int status)
{
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        return xasprintf("signal %d (SIG%s)%s", WTERMSIG(status), name ? name : "?",
                         WCOREDUMP(status) ? ", core dumped" : "");
    }
    return xasprintf("exit code %d", WEXITSTATUS(status));
}

int proc_status_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int proc_set_nonblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int proc_set_cloexec(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}
