// musterd: the agent in each pod. Creates, wires, runs, destroys in reverse.
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/inspector.h"
#include "agent/keeper_main.h"
#include "agent/lead.h"
#include "agent/opts.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"
#include "common/watch.h"
#include "config.h"
#include "hostfile/roll_json.h"
#include "sidecar/keep.h"
#include "wire/keyring.h"
#include "wire/remote.h"
#include "wire/self.h"

struct musterd {
    struct agent_opts opts;
    struct log *log;
    struct keyring *keys;
    struct event_base *base;
    struct self *self;
    struct watch *watch; // NULL: no files are kept
    struct keep *keep;
    struct agent *agent;
    struct lead *lead; // NULL: this agent leads none
    int code;
    struct event *signals[3];
};

static void on_terminate(evutil_socket_t signo, short what, void *arg)
{
    struct musterd *d = arg;
    if (d->lead != NULL) {
        lead_terminate(d->lead, (int)signo);
        return;
    }
    d->code = 128 + (int)signo; // a Job makes another pod only for one that failed
    agent_terminate(d->agent, signo == SIGTERM  ? "SIGTERM"
                              : signo == SIGINT ? "SIGINT"
                                                : "SIGHUP");
}

// As container runtimes do: Open MPI and libpmix crash where neither the environment nor
// passwd has a home for them.
static void find_home(void)
{
    const struct passwd *pw = getenv("HOME") == NULL ? getpwuid(getuid()) : NULL;
    setenv("HOME", pw != NULL ? pw->pw_dir : "/", 0);
}

// The frames' fds leave 0 and 1, so that nothing else can write among them.
static int move_stdio(int *in, int *out, struct err *err)
{
    *in = fcntl(0, F_DUPFD_CLOEXEC, 3);
    *out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (*in < 0 || *out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0) {
        err_set(err, "--stdio needs open stdin, stdout and stderr");
        return -1;
    }
    return 0;
}

// For an ssh session, in which shells may have printed things before.
static int announce(int out, struct err *err)
{
    size_t len = strlen(REMOTE_FRAMES);
    if (write(out, REMOTE_FRAMES, len) == (ssize_t)len)
        return 0;
    err_set_errno(err, errno, "--announce: nobody reads stdout");
    return -1;
}

static void on_lead_over(void *arg, int code)
{
    struct musterd *d = arg;
    d->code = code;
    event_base_loopbreak(d->base);
}

static int serve(struct musterd *d, struct err *err)
{
    int in, out;
    if (!d->opts.stdio) {
        if (agent_listen(d->agent, (struct sockaddr *)&d->opts.addr, d->opts.addr_len,
                         err) < 0)
            return -1;
        log_info(d->log, "%s listens on %s, key %s", MUSTER_VERSION, d->opts.listen,
                 keyring_fingerprint(d->keys));
        return 0;
    }
    if (move_stdio(&in, &out, err) < 0 || (d->opts.announce && announce(out, err) < 0))
        return -1;
    agent_serve_fds(d->agent, in, out);
    return 0;
}

// For pods without a sidecar.
static int keep_files(struct musterd *d, struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    if (!write_opts_any(&d->opts.files))
        return 0;
    d->watch = watch_create(d->base, &why);
    if (d->watch == NULL)
        log_warn(d->log, "%s: polling instead", err_text(&why));
    struct keep_conf conf = {.base = d->base, .watch = d->watch, .log = d->log};
    write_opts_conf(&d->opts.files, &conf);
    d->keep = keep_create(&conf, err);
    return d->keep != NULL ? 0 : -1;
}

static const char *find_run_dir(const struct musterd *d, struct err *err)
{
    const char *dir = d->opts.run_dir;
    if (dir == NULL)
        return ROLL_DIR_DEFAULT;
    if (dir[0] == '\0' || access(dir, X_OK) == 0)
        return dir;
    err_set_errno(err, errno,
                  "--run-dir %s: a directory that the sidecar shares is needed "
                  "(mount an emptyDir in both containers)",
                  dir);
    return NULL;
}

// Whether this pod is the one that leads, of all that have the same command.
static bool leads(const struct musterd *d)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (!d->opts.lead || d->opts.lead_pod == NULL)
        return d->opts.lead;
    gethostname(host, sizeof host - 1);
    if (strcmp(host, d->opts.lead_pod) == 0)
        return true;
    dprintf(2, "musterd: pod %s waits for the launcher of %s (--lead)\n", host,
            d->opts.lead_pod);
    return false;
}

static int start(struct musterd *d, struct err *err)
{
    const char *shared = find_run_dir(d, err);
    if (shared == NULL)
        return -1;
    CLEANUP_FREE char *dir = keyring_default_dir(d->opts.key);
    if (!d->opts.stdio && (d->keys = keyring_load(dir, d->log, err)) == NULL)
        return -1;
    d->base = loop_create();
    if (keep_files(d, err) < 0)
        return -1;
    d->self = self_create("agent");
    struct agent_conf conf = {.base = d->base,
                              .log = d->log,
                              .keys = d->keys,
                              .hello = self_hello(d->self),
                              .environ = environ,
                              .run_dir = shared[0] != '\0' ? shared : NULL,
                              .keep = d->keep,
                              .once = d->opts.stdio,
                              .standby = !d->opts.stdio && !d->opts.no_standby};
    d->agent = agent_create(&conf);
    static const int to_end[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof to_end / sizeof *to_end; i++) {
        d->signals[i] = evsignal_new(d->base, to_end[i], on_terminate, d);
        event_add(d->signals[i], NULL);
    }
    if (serve(d, err) < 0)
        return -1;
    struct lead_conf lead = {.base = d->base,
                             .log = d->log,
                             .agent = d->agent,
                             .argv = d->opts.launcher,
                             .done = on_lead_over,
                             .arg = d};
    if (leads(d))
        d->lead = lead_create(&lead);
    return 0;
}

static void tear_down(struct musterd *d)
{
    for (size_t i = 0; i < sizeof d->signals / sizeof *d->signals; i++)
        if (d->signals[i] != NULL)
            event_free(d->signals[i]);
    lead_destroy(d->lead);
    agent_destroy(d->agent);
    keep_destroy(d->keep);
    watch_destroy(d->watch);
    self_destroy(d->self);
    loop_destroy(d->base);
    keyring_destroy(d->keys);
    log_destroy(d->log);
}

int main(int argc, char **argv)
{
    struct musterd d = {0};
    ERR_AUTO err = ERR_INIT;
    std_fill();
    if (argc > 1 && strcmp(argv[1], "keeper") == 0)
        return keeper_main(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "inspector") == 0)
        return inspector_main(argc - 1, argv + 1);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("musterd %s\n", MUSTER_VERSION);
        return 0;
    }
    agent_opts_parse(&d.opts, argc, argv);
    find_home();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN); // meant for ranks, and sent to all of a pod's processes
    signal(SIGUSR2, SIG_IGN);
    enum log_level level = d.opts.verbose ? LOG_LEVEL_DEBUG
                           : d.opts.stdio ? LOG_LEVEL_WARN
                                          : LOG_LEVEL_INFO;
    d.log = log_create(2, "musterd", level);
    if (start(&d, &err) == 0) {
        event_base_dispatch(d.base);
    } else {
        fprintf(stderr, "musterd: %s\n", err_text(&err));
        d.code = 125;
    }
    tear_down(&d);
    return d.code;
}
