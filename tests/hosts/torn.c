// Readers without pause beside the editor of /etc/hosts, and somebody who truncates it.
//
//   torn FILE CHANGES REWRITES
//
// 8 readers look a member up with getaddrinfo and read the file whole; the editor changes
// one of 32 members (another address, another family, gone, back) CHANGES times; a rewriter
// truncates and writes the file as kubelet does, REWRITES times; a bystander is woken by each
// close, as the editor is, and tells how long a mere turn takes on this machine. In a mount and
// network namespace of its own, FILE is /etc/hosts. Exit code 0: no lookup of a member that stays
// has failed and no reader saw half a line, but while the file was being rewritten.
#include <arpa/inet.h>
#include <err.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/watch.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_file.h"
#include "hostfile/hosts_guard.h"
#include "tests/hosts/torn.h"

static unsigned long now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (unsigned long)ts.tv_sec * 1000000 + (unsigned long)ts.tv_nsec / 1000;
}

// ---- readers ----------------------------------------------------------------------

static size_t read_whole(const char *path, char *out, size_t size)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n;
    while (len < size && (n = read(fd, out + len, size - len)) > 0)
        len += (size_t)n;
    close(fd);
    return len;
}

static bool lookup(int i)
{
    char name[64], want[64], got[64] = "";
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM},
                    *ai = NULL;
    sprintf(name, "stay-%d.example.com", i);
    torn_stay_address(i, want);
    if (getaddrinfo(name, NULL, &hints, &ai) != 0)
        return false;
    inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)ai->ai_addr)->sin_addr, got,
              sizeof got);
    freeaddrinfo(ai);
    return strcmp(got, want) == 0;
}

static void bad(struct shared *s, atomic_ulong *counter, const char *what)
{
    if (atomic_fetch_add(counter, 1) == 0)
        snprintf(s->first, sizeof s->first, "%s", what);
}

// A good file was read whole, begun after `closed` (0: that is not known), ended at `at`.
static void see(struct shared *s, unsigned long closed, unsigned long at)
{
    unsigned long not_yet = 0;
    if (closed != 0 && atomic_load(&s->closed_us) == closed)
        atomic_compare_exchange_strong(&s->seen_us, &not_yet, at);
}

static void read_for_ever(struct shared *s, const char *path, unsigned seed)
{
    static char text[1 << 21];
    setpriority(PRIO_PROCESS, 0, 0);
    while (!atomic_load(&s->stop)) {
        unsigned long before = atomic_load(&s->rewriting),
                      closed = atomic_load(&s->closed_us);
        bool found = lookup(rand_r(&seed) % STAY);
        size_t len = read_whole(path, text, sizeof text);
        const char *why = torn_check(text, len);
        if (why == NULL)
            see(s, closed, now_us());
        if (before % 2 == 1 || atomic_load(&s->rewriting) != before) {
            atomic_fetch_add(&s->skipped, 1);
            continue;
        }
        atomic_fetch_add(&s->lookups, 1);
        atomic_fetch_add(&s->reads, 1);
        if (!found)
            bad(s, &s->lost, "a lookup of a member that stays has failed");
        if (why != NULL)
            bad(s, &s->torn, why);
    }
}

// ---- the rewriter -----------------------------------------------------------------

static bool is_back(const char *path)
{
    static char text[1 << 21];
    return torn_check(text, read_whole(path, text, sizeof text)) == NULL;
}

// A reader that was stopped can tell of the rewrite before: that does not count.
static bool is_seen(struct shared *s, unsigned long closed)
{
    unsigned long seen = atomic_load(&s->seen_us);
    if (seen != 0 && seen < closed)
        atomic_compare_exchange_strong(&s->seen_us, &seen, 0);
    return seen >= closed;
}

static bool rewrite_once(struct shared *s, const char *path)
{
    size_t n = strlen(torn_foreign);
    unsigned long until = now_us() + 10000000;
    atomic_store(&s->closed_us, 0);
    atomic_store(&s->seen_us, 0);
    atomic_store(&s->ran_us, 0);
    atomic_fetch_add(&s->rewriting, 1);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0 || write(fd, torn_foreign, n) != (ssize_t)n)
        return false;
    unsigned long closed = now_us();
    atomic_store(&s->closed_us, closed);
    close(fd);
    while (!is_seen(s, closed) || atomic_load(&s->ran_us) == 0) {
        if (is_back(path))
            see(s, closed, now_us());
        if (now_us() > until)
            return false;
    }
    s->back_us[s->rewrites] = s->seen_us - closed;
    s->turn_us[s->rewrites++] = s->ran_us - closed;
    atomic_fetch_add(&s->rewriting, 1);
    return true;
}

// Spread over the changes.
static void rewrite_all(struct shared *s, const char *path, unsigned seed)
{
    for (unsigned long i = 0; i < s->want_rewrites; i++) {
        while (atomic_load(&s->changes) <
               (i + 1) * s->want_changes / (s->want_rewrites + 1))
            usleep(200);
        if (!rewrite_once(s, path)) {
            bad(s, &s->torn, "the block has not come back within 10 s");
            break;
        }
    }
    atomic_store(&s->rewritten, true);
}

// ---- the bystander ----------------------------------------------------------------

// Ended by who started it.
static void stand_by(struct shared *s, const char *path, unsigned seed)
{
    char events[4096];
    int fd = inotify_init1(IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, path, IN_CLOSE_WRITE) < 0)
        err(2, "inotify");
    while (read(fd, events, sizeof events) > 0)
        atomic_store(&s->ran_us, now_us());
}

// ---- the editor -------------------------------------------------------------------

struct editor {
    struct shared *shared;
    struct event_base *base;
    struct log *log;
    struct hosts_guard *guard;
    struct event *next;
    int form[MOVE]; // -1: gone
    unsigned seed;
};

static void add(struct hosts_want *w, const char *kind, int i, const char *address)
{
    char text[64];
    const char *name = text;
    struct sockaddr_storage addr;
    sprintf(text, "%s-%d.example.com", kind, i);
    hostname_literal(address, strlen(address), &addr);
    if (hosts_want_add(w, &addr, &name, 1, NULL) < 0)
        errx(2, "%s %s is refused", address, name);
}

static void set(struct editor *e)
{
    ERR_AUTO err = ERR_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    char address[64];
    for (int i = 0; i < STAY; i++) {
        torn_stay_address(i, address);
        add(&w, "stay", i, address);
        if (e->form[i] >= 0)
            add(&w, "move", i, torn_address(e->form[i]));
    }
    if (hosts_guard_set(e->guard, &w, &err) < 0)
        errx(2, "%s", err_text(&err));
}

static void on_next(int fd, short what, void *arg)
{
    struct editor *e = arg;
    if (atomic_load(&e->shared->changes) == e->shared->want_changes) {
        if (atomic_load(&e->shared->rewritten))
            event_base_loopbreak(e->base);
        else
            loop_timer_arm(e->next, 1);
        return;
    }
    e->form[rand_r(&e->seed) % MOVE] = rand_r(&e->seed) % (FORMS + 1) - 1;
    set(e);
    atomic_fetch_add(&e->shared->changes, 1);
    loop_timer_arm(e->next, 0);
}

static void edit(struct editor *e, struct watch *watch, const char *path)
{
    ERR_AUTO err = ERR_INIT;
    e->log = log_create(2, "torn", LOG_LEVEL_WARN);
    e->guard = hosts_guard_create(e->base, watch, path, e->log, &err);
    if (e->guard == NULL)
        errx(2, "%s", err_text(&err));
    set(e);
    e->next = loop_timer(e->base, on_next, e);
    loop_timer_arm(e->next, 0);
}

// ---- all of it --------------------------------------------------------------------

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
        err(2, "%s", path);
}

// Nothing but files answers a lookup.
static void make_namespaces(const char *path)
{
    char conf[4096];
    snprintf(conf, sizeof conf, "%s.nsswitch", path);
    put(conf, "hosts: files\n");
    if (unshare(CLONE_NEWNS | CLONE_NEWNET) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(path, "/etc/hosts", NULL, MS_BIND, NULL) < 0 ||
        mount(conf, "/etc/nsswitch.conf", NULL, MS_BIND, NULL) < 0)
        err(2, "namespaces (needs root)");
}

static pid_t start(void (*role)(struct shared *, const char *, unsigned),
                   struct shared *s, unsigned n)
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        err(2, "fork");
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        role(s, "/etc/hosts", n);
    _exit(0);
}

static int by_value(const void *a, const void *b)
{
    const unsigned long *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

// Median, the 90th of a hundred, the worst.
static void print_times(const char *what, unsigned long *us, unsigned long n)
{
    qsort(us, n, sizeof *us, by_value);
    printf("%s us: median %lu p90 %lu max %lu\n", what, n > 0 ? us[n / 2] : 0,
           n > 0 ? us[n * 9 / 10] : 0, n > 0 ? us[n - 1] : 0);
}

static int report(struct shared *s, const char *path)
{
    unsigned long late = 0, n = s->rewrites;
    for (unsigned long i = 0; i < n; i++)
        late += s->back_us[i] > 100000 ? 1 : 0;
    printf("changes %lu rewrites %lu lookups %lu reads %lu skipped %lu\n", s->changes,
           n, s->lookups, s->reads, s->skipped);
    print_times("back after", s->back_us, n);
    print_times("a bystander runs after", s->turn_us, n);
    printf("later than 100 ms %lu\n", late);
    printf("lost %lu torn %lu\n", s->lost, s->torn);
    if (s->first[0] != '\0')
        printf("first: %s\n", s->first);
    if (!is_back(path))
        printf("the file is not good at the end\n");
    return s->lost == 0 && s->torn == 0 && s->reads > 0 && is_back(path) ? 0 : 1;
}

static void run(struct shared *s)
{
    struct editor e = {.shared = s, .base = loop_create(), .seed = 7};
    pid_t pids[READERS + 1], bystander = start(stand_by, s, 0);
    struct watch *watch = watch_create(e.base, NULL);
    edit(&e, watch, "/etc/hosts");
    for (unsigned i = 0; i < READERS; i++)
        pids[i] = start(read_for_ever, s, i + 1);
    pids[READERS] = start(rewrite_all, s, 0);
    event_base_dispatch(e.base);
    atomic_store(&s->stop, true);
    kill(bystander, SIGKILL);
    waitpid(bystander, NULL, 0);
    for (int i = 0; i <= READERS; i++) {
        int status;
        if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
            bad(s, &s->torn, "a process has not ended well");
    }
    loop_timer_free(e.next);
    hosts_guard_destroy(e.guard);
    watch_destroy(watch);
    loop_destroy(e.base);
    log_destroy(e.log);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        errx(2, "usage: torn FILE CHANGES REWRITES");
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        err(2, "mmap");
    s->want_changes = strtoul(argv[2], NULL, 10);
    s->want_rewrites = strtoul(argv[3], NULL, 10);
    if (s->want_rewrites > REWRITES_MAX)
        errx(2, "at most %d rewrites", REWRITES_MAX);
    put(argv[1], torn_foreign);
    setpriority(PRIO_PROCESS, 0, -5); // few cores: waiting for one is not measured
    make_namespaces(argv[1]);
    run(s);
    return report(s, argv[1]);
}
