// The launcher as a child of the agent.
#include "agent/lead.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/sha256.h"
#include "wire/claim.h"

enum { LOOK_MS = 200 }; // whether others still have ranks here

enum lead_state { LEAD_RUNNING, LEAD_PAUSE, LEAD_ENDING, LEAD_LEAVING, LEAD_OVER };

struct lead {
    struct lead_conf conf;
    enum lead_state state;
    pid_t pid; // 0: none runs
    struct agent_child *child;
    struct event *timer;
    struct lead_tries tries;
    uint64_t started_ms;
    int code;
    bool told; // that ranks of others are waited for
};

bool lead_again(struct lead_tries *t, int status, uint64_t ran_ms, uint32_t *pause_ms)
{
    if (!WIFSIGNALED(status))
        return false;
    t->crashes = ran_ms >= LEAD_HEALTHY_MS ? 1 : t->crashes + 1;
    if (t->crashes > LEAD_CRASHES_MAX)
        return false;
    *pause_ms = LEAD_PAUSE_FIRST_MS;
    for (unsigned i = 1; i < t->crashes && *pause_ms < LEAD_PAUSE_MAX_MS; i++)
        *pause_ms *= 2;
    if (*pause_ms > LEAD_PAUSE_MAX_MS)
        *pause_ms = LEAD_PAUSE_MAX_MS;
    return true;
}

// ---- the child --------------------------------------------------------------------

// A script may run more than one job: only `muster run` itself gets a key, and what tells the
// launchers of this agent that a --rerun of theirs is the same one.
static bool is_muster_run(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    return strcmp(name, "muster") == 0 && argv[1] != NULL &&
           strcmp(argv[1], "run") == 0;
}

static void set_key(const struct lead *l)
{
    const ProtobufCBinaryData *own = &agent_conf(l->conf.agent)->hello->incarnation;
    char host[CLAIM_KEY_MAX + 1] = "", order[SHA256_HEX];
    unsetenv(CLAIM_LEAD_ENV);
    unsetenv(CLAIM_ORDER_ENV);
    if (!is_muster_run(l->conf.argv))
        return;
    if (gethostname(host, sizeof host - 1) == 0)
        setenv(CLAIM_LEAD_ENV, host, 1);
    sha256_hex(own->data, own->len, order);
    setenv(CLAIM_ORDER_ENV, order, 1);
}

static _Noreturn void become(const struct lead *l, pid_t parent)
{
    char *const *argv = l->conf.argv;
    static const int defaults[] = {SIGPIPE, SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        signal(defaults[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // Without its agent nobody would start it again: the next musterd's takes over.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(128 + SIGKILL);
    set_key(l);
    execvp(argv[0], argv);
    dprintf(2, "musterd: --lead: cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void on_gone(void *arg, int status);

static void start(struct lead *l)
{
    // All signals wait while the child still has our handlers, and our loop to tell of them.
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(l, parent);
    int why = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    l->started_ms = loop_now_ms();
    l->state = LEAD_RUNNING;
    if (pid < 0) { // no process to be had now: as one that was killed at once
        log_warn(l->conf.log, "cannot start the launcher: %s", strerror(why));
        on_gone(l, SIGKILL);
        return;
    }
    l->pid = pid;
    l->child = agent_watch_child(l->conf.agent, pid, on_gone, l);
    log_info(l->conf.log, "launcher %s started, pid %d", l->conf.argv[0], (int)pid);
}

// ---- states ------------------------------------------------------------------------

static void over(struct lead *l)
{
    l->state = LEAD_OVER;
    l->conf.done(l->conf.arg, l->code);
}

// Another launcher may have taken the job over, and have ranks on this pod.
static void leave(struct lead *l)
{
    l->state = LEAD_LEAVING;
    if (!agent_is_held(l->conf.agent)) {
        over(l);
        return;
    }
    if (!l->told)
        log_warn(l->conf.log,
                 "the launcher ended with %d; this agent stays while another launcher "
                 "holds it",
                 l->code);
    l->told = true;
    loop_timer_arm(l->timer, LOOK_MS);
}

static void on_gone(void *arg, int status)
{
    struct lead *l = arg;
    CLEANUP_FREE char *how = proc_status_text(status);
    uint32_t pause = 0;
    l->pid = 0;
    l->child = NULL;
    l->code = proc_status_code(status);
    if (l->state == LEAD_ENDING) {
        over(l);
    } else if (lead_again(&l->tries, status, loop_now_ms() - l->started_ms, &pause)) {
        log_warn(l->conf.log, "the launcher ended with %s: started again in %.1f s",
                 how, pause / 1e3);
        l->state = LEAD_PAUSE;
        loop_timer_arm(l->timer, pause);
    } else {
        if (WIFSIGNALED(status))
            log_warn(l->conf.log,
                     "the launcher ended with %s, %u times in a row: given up", how,
                     l->tries.crashes);
        leave(l);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct lead *l = arg;
    if (l->state == LEAD_PAUSE)
        start(l);
    else if (l->state == LEAD_LEAVING)
        leave(l);
}

void lead_terminate(struct lead *l, int signo)
{
    bool again = l->state == LEAD_ENDING;
    if (l->state == LEAD_OVER)
        return;
    l->code = 128 + signo;
    l->state = LEAD_ENDING;
    loop_timer_disarm(l->timer);
    if (l->pid > 0)
        kill(l->pid, signo);
    if (l->pid == 0 || again)
        over(l);
}

struct lead *lead_create(const struct lead_conf *conf)
{
    struct lead *l = xcalloc(1, sizeof *l);
    l->conf = *conf;
    l->timer = loop_timer(conf->base, on_timer, l);
    start(l);
    return l;
}

void lead_destroy(struct lead *l)
{
    if (l == NULL)
        return;
    agent_tell_child(l->child, NULL, NULL);
    if (l->pid > 0)
        kill(l->pid, SIGKILL);
    loop_timer_free(l->timer);
    free(l);
}
