// muster run: start a program on the ranks of a group and see it through.
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"
#include "launcher/cmd.h"
#include "launcher/events.h"
#include "launcher/job.h"
#include "launcher/verdict.h"
#include "wire/keyring.h"
#include "wire/self.h"

enum { LAST_WORD_MS = 1000 };

struct run {
    struct opts opts;
    struct log *log;
    struct event_base *base;
    struct keyring *keys;
    char *key_dir;
    struct events *events;
    struct self *self;
    struct job *job;
    struct event *signals[8];
    size_t nsignals;
};

static const int to_ranks[] = {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
static const int to_end[] = {SIGINT, SIGTERM, SIGHUP};

static void on_interrupt(evutil_socket_t signo, short what, void *arg)
{
    struct run *r = arg;
    job_interrupt(r->job, (int)signo);
}

// Ctrl-Z stops the ranks; the launcher goes on, or its links would be lost. In sessions of
// their own the ranks have nobody to continue them, so the kernel would ignore a SIGTSTP.
static void on_forward(evutil_socket_t signo, short what, void *arg)
{
    struct run *r = arg;
    job_signal(r->job, signo == SIGTSTP ? SIGSTOP : (int)signo);
    if (signo == SIGTSTP && !r->opts.quiet)
        log_warn(r->log, "the ranks are stopped; `kill -CONT %d` lets them go on",
                 (int)getpid());
}

static void watch(struct run *r, int signo, event_callback_fn fn)
{
    struct event *ev = evsignal_new(r->base, signo, fn, r);
    event_add(ev, NULL);
    r->signals[r->nsignals++] = ev;
}

static void on_done(void *arg)
{
    struct run *r = arg;
    event_base_loopbreak(r->base);
}

static int load_keys(struct run *r, struct err *err)
{
    if (r->opts.source.kind == SOURCE_LOCAL)
        return 0;
    CLEANUP_FREE char *dir = keyring_default_dir(r->opts.key);
    r->key_dir = realpath(dir, NULL); // inner members look for it there too
    r->keys = keyring_load(dir, r->log, err);
    return r->keys != NULL ? 0 : -1;
}

static int start(struct run *r, struct err *err)
{
    r->events = events_open(r->opts.events, r->log, err);
    if (r->events == NULL || output_make_dir(&r->opts.output, err) < 0 ||
        load_keys(r, err) < 0)
        return -1;
    r->base = loop_create();
    r->self = self_create("launcher");
    struct job_conf conf = {.base = r->base,
                            .opts = &r->opts,
                            .keys = r->keys,
                            .key_dir = r->key_dir,
                            .hello = self_hello(r->self),
                            .events = r->events,
                            .log = r->log,
                            .done = on_done,
                            .arg = r};
    r->job = job_create(&conf, err);
    if (r->job == NULL)
        return -1;
    for (size_t i = 0; i < sizeof to_ranks / sizeof *to_ranks; i++)
        watch(r, to_ranks[i], on_forward);
    for (size_t i = 0; i < sizeof to_end / sizeof *to_end; i++)
        watch(r, to_end[i], on_interrupt);
    return 0;
}

static int end(struct run *r)
{
    int code = job_code(r->job);
    if (job_text(r->job) != NULL) {
        CLEANUP_FREE char *text = xasprintf("muster: %s\n", job_text(r->job));
        std_write(STDERR_FILENO, text, strlen(text), LAST_WORD_MS);
    }
    json_t *fields = json_pack("{s:i, s:s?}", "code", code, "cause", job_text(r->job));
    events_write(r->events, "end", fields);
    return code;
}

static void tear_down(struct run *r)
{
    for (size_t i = 0; i < r->nsignals; i++)
        event_free(r->signals[i]);
    job_destroy(r->job);
    self_destroy(r->self);
    loop_destroy(r->base);
    keyring_destroy(r->keys);
    free(r->key_dir);
    events_close(r->events);
    log_destroy(r->log);
    opts_free(&r->opts);
}

int cmd_run(int argc, char **argv)
{
    struct run r = {0};
    ERR_AUTO err = ERR_INIT;
    int code = VERDICT_OWN_FAILURE;
    if (opts_parse(&r.opts, argc, argv, &code) < 0)
        return code;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN); // in the background stdin waits, nobody is stopped
    signal(SIGTTOU, SIG_IGN); // in the background of a terminal: go on
    r.log = log_create(2, "muster", r.opts.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
    if (start(&r, &err) < 0) {
        fprintf(stderr, "muster: %s\n", err_text(&err));
    } else {
        event_base_dispatch(r.base);
        code = end(&r);
    }
    tear_down(&r);
    return code;
}
