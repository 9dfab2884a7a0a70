// Run knotd and tell it what changed.
#include "tests/podbox/dns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "tests/podbox/dnsq.h"
#include "tests/podbox/file.h"
#include "tests/podbox/ns.h"

enum { WAIT_MS = 10000, ASK_MS = 250, PAUSE_MS = 2 };

static int write_files(const struct bed *bed, const char *dir, struct err *err)
{
    CLEANUP_FREE char *config = zone_server_config(bed, dir);
    CLEANUP_FREE char *config_path = xasprintf("%s/knot.conf", dir);
    if (file_mkdirs(dir, 0755, err) < 0 ||
        file_write(config_path, config, 0644, err) < 0)
        return -1;
    for (int z = 0; z < ZONE_COUNT; z++) {
        CLEANUP_FREE char *text = zone_file(bed, (enum zone)z);
        CLEANUP_FREE char *path = xasprintf("%s/%s", dir, zone_file_name((enum zone)z));
        if (file_write(path, text, 0644, err) < 0)
            return -1;
    }
    return 0;
}

static int spawn(struct bed *bed, const char *dir, struct err *err)
{
    CLEANUP_FREE char *path = ns_tool("knotd", "knot", err);
    if (path == NULL)
        return -1;
    CLEANUP_FREE char *log_path = bed_path(bed, "helpers.log");
    CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP_CLOSE int log =
        open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const struct proc_fd fds[] = {{null, 0}, {log, 1}, {log, 2}};
    STRV_AUTO argv = STRV_INIT;
    strv_add(&argv, "knotd");
    strv_add(&argv, "-c");
    strv_addf(&argv, "%s/knot.conf", dir);
    struct proc_spec spec = {.path = path,
                             .argv = argv.v,
                             .envp = environ,
                             .dir = "/",
                             .fds = fds,
                             .nfds = 3,
                             .own_session = true};
    int saved = ns_net_step_in(&bed->fabric, err);
    if (saved < 0)
        return -1;
    pid_t pid = proc_spawn(&spec, err);
    ns_net_step_out(saved);
    bed->dns = ident_of(pid);
    return pid < 0 ? -1 : 0;
}

int dns_start(struct bed *bed, struct err *err)
{
    CLEANUP_FREE char *dir = bed_path(bed, "dns");
    return write_files(bed, dir, err) < 0 ? -1 : spawn(bed, dir, err);
}

// A UDP socket inside the fabric, to the server.
static int connect_server(const struct bed *bed, struct err *err)
{
    int saved = ns_net_step_in(&bed->fabric, err);
    if (saved < 0)
        return -1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ns_net_step_out(saved);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(53),
                             .sin_addr = bed_addr(bed, BED_HOST_DNS)};
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    err_set_errno(err, errno, "cannot reach the bed's DNS server");
    if (fd >= 0)
        close(fd);
    return -1;
}

typedef bool (*dns_want)(const struct bed *bed, int fd, const void *arg);

static int await(const struct bed *bed, dns_want want, const void *arg,
                 const char *what, struct err *err)
{
    CLEANUP_CLOSE int fd = connect_server(bed, err);
    if (fd < 0)
        return -1;
    for (uint64_t end = loop_now_ms() + WAIT_MS; !want(bed, fd, arg);) {
        if (loop_now_ms() > end || !ident_alive(&bed->dns)) {
            err_set(err, "the DNS server %s %s within %d ms (see %s/dns/knot.log)",
                    ident_alive(&bed->dns) ? "does not" : "has ended and does not",
                    what, (int)WAIT_MS, bed->dir);
            return -1;
        }
        poll(NULL, 0, PAUSE_MS);
    }
    return 0;
}

static bool has_zones(const struct bed *bed, int fd, const void *arg)
{
    for (int z = 0; z < ZONE_COUNT; z++) {
        CLEANUP_FREE char *name = zone_name(bed, (enum zone)z);
        struct dnsq q;
        if (!dnsq_ask(fd, strcmp(name, ".") == 0 ? "" : name, DNSQ_SOA, ASK_MS, &q) ||
            q.rcode != 0 || q.answers != 1)
            return false;
    }
    return true;
}

int dns_wait(const struct bed *bed, struct err *err)
{
    return await(bed, has_zones, NULL, "answer", err);
}

// ---- updates ----------------------------------------------------------------

static char *pending_path(const struct bed *bed)
{
    return bed_path(bed, "dns/pending");
}

static bool stopped(const struct bed *bed)
{
    CLEANUP_FREE char *path = pending_path(bed);
    return file_exists(path);
}

static int feed(const struct bed *bed, const char *lines, struct err *err)
{
    static const char *const argv[] = {"knsupdate", "-t", "5", NULL};
    CLEANUP_FREE char *dns = bed_addr_text(bed, BED_HOST_DNS);
    CLEANUP_FREE char *input = xasprintf("server %s\n%s", dns, lines);
    return ns_run(&bed->fabric, argv, input, err);
}

static int keep(const struct bed *bed, const char *lines, struct err *err)
{
    CLEANUP_FREE char *path = pending_path(bed);
    CLEANUP_FREE char *old = file_read(path, err);
    CLEANUP_FREE char *all = old != NULL ? xasprintf("%s%s", old, lines) : NULL;
    return all == NULL ? -1 : file_replace(path, all, 0644, err);
}

struct wanted {
    const struct zone_change *changes;
    size_t n;
};

static bool answers_changes(const struct bed *bed, int fd, const void *arg)
{
    const struct wanted *w = arg;
    for (size_t i = 0; i < w->n; i++) {
        const struct zone_change *c = &w->changes[i];
        CLEANUP_FREE char *name = pod_fqdn(bed, c->pod);
        struct in_addr a = bed_addr(bed, c->host);
        struct dnsq q;
        if (!dnsq_ask(fd, name, DNSQ_A, ASK_MS, &q))
            return false;
        bool there = q.rcode == 0 && q.answers > 0 && q.first.s_addr == a.s_addr;
        if (there != c->published)
            return false;
    }
    return true;
}

int dns_change(const struct bed *bed, const struct zone_change *changes, size_t n,
               struct err *err)
{
    CLEANUP_FREE char *lines = zone_update(bed, changes, n);
    struct wanted w = {changes, n};
    if (stopped(bed))
        return keep(bed, lines, err);
    if (feed(bed, lines, err) < 0)
        return -1;
    return await(bed, answers_changes, &w, "answer the new state", err);
}

int dns_change_name(const struct bed *bed, const char *name, const char *type,
                    const char *address, struct err *err)
{
    CLEANUP_FREE char *lines = zone_update_name(bed, name, type, address);
    return stopped(bed) ? keep(bed, lines, err) : feed(bed, lines, err);
}

// ---- faults -----------------------------------------------------------------

static int begin_pending(const struct bed *bed, struct err *err)
{
    CLEANUP_FREE char *path = pending_path(bed);
    return file_exists(path) ? 0 : file_write(path, "", 0644, err);
}

int dns_stop(struct bed *bed, struct err *err)
{
    if (begin_pending(bed, err) < 0)
        return -1;
    ident_kill(&bed->dns,
               SIGTERM); // it writes its zones; a stopped one is killed below
    ident_kill(&bed->dns, SIGCONT);
    CLEANUP_CLOSE int fd = ident_open(&bed->dns);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd < 0 || poll(&p, 1, WAIT_MS) > 0)
        return 0;
    err_set(err, "knotd does not end within %d ms", (int)WAIT_MS);
    return -1;
}

int dns_silence(struct bed *bed, struct err *err)
{
    if (begin_pending(bed, err) < 0)
        return -1;
    if (ident_kill(&bed->dns, SIGSTOP))
        return 0;
    err_set(err, "the DNS server of bed %s does not run: podbox dns start", bed->name);
    return -1;
}

int dns_resume(struct bed *bed, struct err *err)
{
    CLEANUP_FREE char *path = pending_path(bed), *dir = bed_path(bed, "dns");
    CLEANUP_FREE char *lines = file_exists(path) ? file_read(path, err) : xstrdup("");
    if (lines == NULL)
        return -1;
    if (!ident_kill(&bed->dns, SIGCONT) && spawn(bed, dir, err) < 0)
        return -1;
    if (dns_wait(bed, err) < 0 || (lines[0] != '\0' && feed(bed, lines, err) < 0))
        return -1;
    unlink(path);
    return 0;
}
