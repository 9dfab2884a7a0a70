// muster run: start a program on the ranks of a group and see it through.
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"
#include "launcher/cmd.h"
#include "launcher/cmd_roles.h"
#include "launcher/events.h"
#include "launcher/job.h"
#include "launcher/source_json.h"
#include "launcher/streams.h"
#include "launcher/verdict.h"
#include "wire/keyring.h"
#include "wire/self.h"

enum { LAST_WORD_MS = 1000 };

struct run {
    struct opts opts;
    const char *name; // before its texts
    struct log *log;
    struct event_base *base;
    struct keyring *keys;
    char *key_dir;
    struct events *events;
    struct streams *streams;
    struct output_places places;
    struct self *self;
    struct job *job;
    struct event *signals[8];
    size_t nsignals;
    int file_ms; // how long files may take at the end
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

static void on_output_failed(void *arg, const char *name, int errnum)
{
    struct run *r = arg;
    job_output_failed(r->job, name, errnum);
}

// First of all: from here on writing to fds 1 and 2 never blocks.
static int open_streams(struct run *r, struct err *err)
{
    r->streams = streams_open(r->opts.output.dir, err);
    if (r->streams == NULL)
        return -1;
    r->places = (struct output_places){.out = STDOUT_FILENO,
                                       .err = STDERR_FILENO,
                                       .out_is_file = streams_is_file(r->streams, 1),
                                       .err_is_file = streams_is_file(r->streams, 2),
                                       .dir = streams_dir_fd(r->streams)};
    return 0;
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

// What was chosen though no option says so.
static void tell_source(struct run *r)
{
    CLEANUP_FREE char *line = source_opts_line(&r->opts.from);
    if (line != NULL && !r->opts.quiet) {
        CLEANUP_FREE char *text = xasprintf("muster: %s\n", line);
        std_write(STDERR_FILENO, text, strlen(text), LAST_WORD_MS);
    }
    events_write(r->events, "source", source_json(&r->opts.from));
}

static bool is_in_a_line(void *arg)
{
    const struct run *r = arg;
    return r->job != NULL && job_wants_newline(r->job);
}

// A missing key ring is told last: it would hide what is wrong on the command line.
static int create_job(struct run *r, struct err *err)
{
    ERR_AUTO keyless = ERR_INIT;
    bool keys = load_keys(r, &keyless) == 0;
    if (!keys && r->opts.via.ssh) { // which needs their place at once
        err_copy(err, &keyless);
        return -1;
    }
    r->base = loop_create();
    r->self = self_create("launcher");
    struct job_conf conf = {.base = r->base,
                            .opts = &r->opts,
                            .keys = r->keys,
                            .key_dir = r->key_dir,
                            .hello = self_hello(r->self),
                            .places = &r->places,
                            .events = r->events,
                            .log = r->log,
                            .done = on_done,
                            .arg = r};
    r->job = job_create(&conf, err);
    if (r->job != NULL && keys)
        return 0;
    if (r->job != NULL)
        err_copy(err, &keyless);
    return -1;
}

static int start(struct run *r, struct err *err)
{
    if (open_streams(r, err) < 0)
        return -1;
    r->events = events_open(r->opts.events, r->opts.job != NULL, r->log, err);
    if (r->events == NULL)
        return -1;
    tell_source(r);
    if (create_job(r, err) < 0)
        return -1;
    log_set_begin(r->log, is_in_a_line, r);
    streams_watch(r->streams, r->base, on_output_failed, r);
    for (size_t i = 0; i < sizeof to_ranks / sizeof *to_ranks; i++)
        watch(r, to_ranks[i], on_forward);
    for (size_t i = 0; i < sizeof to_end / sizeof *to_end; i++)
        watch(r, to_end[i], on_interrupt);
    return 0;
}

static void unwatch_signals(struct run *r)
{
    for (size_t i = 0; i < r->nsignals; i++)
        event_free(r->signals[i]);
    r->nsignals = 0;
}

// From here on a signal ends us. The job's hold on the streams ends before their files can be complete.
static int end(struct run *r)
{
    ERR_AUTO err = ERR_INIT;
    int code = job_code(r->job);
    CLEANUP_FREE char *cause =
        job_text(r->job) != NULL ? xstrdup(job_text(r->job)) : NULL;
    const char *before = job_wants_newline(r->job) ? "\n" : "";
    r->file_ms = job_output_is_left(r->job) ? LAST_WORD_MS : JOB_FILE_BOUND_MS;
    unwatch_signals(r);
    streams_unwatch(r->streams);
    job_destroy(STEAL(r->job));
    if (streams_finish(r->streams, r->file_ms, &err) < 0 && code == 0) {
        code = VERDICT_OWN_FAILURE;
        cause = xasprintf(JOB_OUTPUT_LOST, err_text(&err));
    }
    if (cause != NULL) {
        CLEANUP_FREE char *text = xasprintf("%s%s: %s\n", before, r->name, cause);
        std_write(STDERR_FILENO, text, strlen(text), LAST_WORD_MS);
    }
    events_write(r->events, "end",
                 jsonpack("{s:i, s:s?}", "code", code, "cause", cause));
    return code;
}

static void tear_down(struct run *r)
{
    unwatch_signals(r);
    job_destroy(r->job);
    self_destroy(r->self);
    loop_destroy(r->base);
    keyring_destroy(r->keys);
    free(r->key_dir);
    events_close(r->events);
    log_destroy(r->log);
    opts_free(&r->opts);
}

// Nothing can be told any more but by the code.
static int end_stderr(struct run *r, int code)
{
    int rc =
        r->streams != NULL ? streams_finish_stderr(r->streams, r->file_ms, NULL) : 0;
    streams_destroy(r->streams);
    return rc < 0 && code == 0 ? VERDICT_OWN_FAILURE : code;
}

static char *own_name(const struct opts *o)
{
    const char *role = o->apps.v[0].role;
    return role != NULL ? xasprintf("muster: role %s", role) : xstrdup("muster");
}

int cmd_run(int argc, char **argv)
{
    struct run r = {.file_ms = LAST_WORD_MS};
    ERR_AUTO err = ERR_INIT;
    int code = VERDICT_OWN_FAILURE;
    if (opts_parse(&r.opts, argc, argv, &code) < 0)
        return code;
    if (r.opts.apps.v[0].role != NULL && !r.opts.roles.is_part) {
        code = cmd_roles(&r.opts, argv);
        opts_free(&r.opts);
        return code;
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN); // in the background stdin waits, nobody is stopped
    signal(SIGTTOU, SIG_IGN); // in the background of a terminal: go on
    CLEANUP_FREE char *name = own_name(&r.opts);
    r.name = name;
    r.log = log_create(2, name, r.opts.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
    if (start(&r, &err) < 0) {
        fprintf(stderr, "%s: %s\n", r.name, err_text(&err));
    } else {
        event_base_dispatch(r.base);
        code = end(&r);
    }
    tear_down(&r);
    return end_stderr(&r, code);
}
