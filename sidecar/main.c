// muster-sidecar: keeps /etc/hosts and the hostfiles current in a pod.
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/httpd.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"
#include "common/watch.h"
#include "config.h"
#include "hostfile/follow.h"
#include "hostfile/roll_json.h"
#include "sidecar/hook.h"
#include "sidecar/keep.h"
#include "sidecar/lease.h"
#include "sidecar/opts.h"
#include "sidecar/page.h"

enum { FAILED = 125, INCOMPLETE = 1, TICK_MS = 1000, TICK_ONCE_MS = 20 };

struct sidecar {
    struct sidecar_opts opts;
    struct keep_conf conf;
    struct log *log;
    struct event_base *base;
    struct watch *watch;
    struct keep *keep;     // NULL: --diff
    struct lease *lease;   // NULL: no run directory
    struct follow *follow; // NULL: a launcher's roll counts
    struct hook *hook;     // NULL: no --on-change
    struct httpd *httpd;   // NULL: no --listen
    struct page page;
    bool led;   // a roll did count: what fails is tried again
    bool again; // it failed since: tried with each tick
    struct event *term, *intr, *tick;
    struct members members; // --diff: newest
    uint64_t begun;
    struct err err; // why it ends
    int code;
};

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
    struct sidecar *s = arg;
    event_base_loopbreak(s->base);
}

// The hook is told what the files say, not what is known.
static void tell_hook(struct sidecar *s)
{
    if (s->hook != NULL && keep_is_written(s->keep))
        hook_tell(s->hook, keep_members(s->keep), keep_generation(s->keep));
}

static void on_update(void *arg, const struct members *members)
{
    struct sidecar *s = arg;
    s->again = false;
    for (size_t i = 0; i < members->warnings.n; i++)
        log_warn(s->log, "%s", members->warnings.v[i]);
    if (s->keep == NULL) {
        members_copy(&s->members, members);
        return;
    }
    keep_update(s->keep, members);
    tell_hook(s);
}

// At first a source that cannot be used is a mistake of the user's; later, of the moment.
static void source_failed(struct sidecar *s, const struct err *err)
{
    if (s->led) {
        if (!s->again)
            log_warn(s->log, "%s; what was known before stays", err_text(err));
        s->again = true;
        follow_stop(STEAL(s->follow));
        return;
    }
    err_copy(&s->err, err);
    s->code = FAILED;
    event_base_loopbreak(s->base);
}

static void on_failed(void *arg, const struct err *err)
{
    struct sidecar *s = arg;
    source_failed(s, err);
}

static void start_follow(struct sidecar *s)
{
    ERR_AUTO err = ERR_INIT;
    struct follow_conf follow = {.base = s->base,
                                 .watch = s->watch,
                                 .log = s->log,
                                 .spec = &s->opts.source.spec,
                                 .interval_ms = s->opts.interval_ms,
                                 .patient = !s->opts.diff,
                                 .ops = {.update = on_update, .failed = on_failed},
                                 .arg = s};
    s->follow = follow_start(&follow, &err);
    if (s->follow == NULL) {
        source_failed(s, &err);
        return;
    }
    CLEANUP_FREE char *source = source_describe(&s->opts.source.spec);
    CLEANUP_FREE char *found = source_opts_line(&s->opts.source);
    if (found != NULL)
        log_info(s->log, "%s", found);
    log_info(s->log, "%s follows %s", MUSTER_VERSION, source);
}

// While a launcher's roll counts nobody else is asked.
static void on_lease(void *arg, bool held)
{
    struct sidecar *s = arg;
    s->led = s->led || held;
    if (held)
        follow_stop(STEAL(s->follow));
    else
        start_follow(s);
}

static void on_applied(void *arg)
{
    tell_hook(arg);
}

// ---- --once and --diff end --------------------------------------------------------

static bool is_complete(const struct sidecar *s)
{
    const struct members *m = &s->members;
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].addr.ss_family == 0)
            return false;
    return m->n > 0 && m->n >= s->opts.source.members;
}

static void check_end(struct sidecar *s, bool late)
{
    CLEANUP_FREE char *why = NULL;
    bool done = s->keep != NULL ? keep_is_done(s->keep, &why) : is_complete(s);
    if (!done && !late)
        return;
    if (!done && s->keep != NULL) {
        struct follow_health source = {0};
        if (s->follow != NULL)
            follow_health(s->follow, &source);
        err_set(&s->err, "not done after %u s: %s", s->opts.wait_ms / 1000,
                source.said != NULL ? source.said : why);
        s->code = INCOMPLETE;
    }
    event_base_loopbreak(s->base);
}

static void on_tick(int fd, short what, void *arg)
{
    struct sidecar *s = arg;
    bool ends = s->opts.once || s->opts.diff;
    if (s->keep != NULL)
        keep_retry(s->keep);
    tell_hook(s);
    if (s->again && s->follow == NULL && !lease_is_held(s->lease))
        start_follow(s);
    if (ends)
        check_end(s, loop_now_ms() - s->begun >= s->opts.wait_ms);
    loop_timer_arm(s->tick, ends ? TICK_ONCE_MS : TICK_MS);
}

// ---- life -------------------------------------------------------------------------

static struct event *catch_signal(struct sidecar *s, int signo)
{
    struct event *e = evsignal_new(s->base, signo, on_signal, s);
    event_add(e, NULL);
    return e;
}

static void start_loop(struct sidecar *s)
{
    ERR_AUTO why = ERR_INIT;
    s->base = loop_create();
    s->begun = loop_now_ms();
    s->term = catch_signal(s, SIGTERM);
    s->intr = catch_signal(s, SIGINT);
    s->watch = watch_create(s->base, &why);
    if (s->watch == NULL)
        log_warn(s->log, "%s: files are looked at again and again instead",
                 err_text(&why));
    s->tick = loop_timer(s->base, on_tick, s);
    loop_timer_arm(s->tick, TICK_ONCE_MS);
}

static void make_conf(struct sidecar *s)
{
    const struct sidecar_opts *o = &s->opts;
    s->conf = (struct keep_conf){.base = s->base,
                                 .watch = s->watch,
                                 .log = s->log,
                                 .spec = &o->source.spec,
                                 .nmembers = o->source.members};
    write_opts_conf(&o->files, &s->conf);
}

// Where the run directory is not used: --once, --diff, or nobody shares one.
static int open_lease(struct sidecar *s)
{
    ERR_AUTO err = ERR_INIT;
    const char *dir = s->opts.run_dir != NULL ? s->opts.run_dir : ROLL_DIR_DEFAULT;
    struct lease_conf conf = {.base = s->base,
                              .watch = s->watch,
                              .log = s->log,
                              .dir = dir,
                              .keep = s->keep,
                              .changed = on_lease,
                              .applied = on_applied,
                              .arg = s};
    if (s->opts.once || s->opts.diff || dir[0] == '\0')
        return 0;
    s->lease = lease_create(&conf, &err);
    if (s->lease != NULL)
        return 0;
    if (s->opts.run_dir != NULL) {
        err_copy(&s->err, &err);
        return -1;
    }
    if (strcmp(err.kind, "OUT_NO_DIRECTORY") != 0)
        log_warn(s->log, "%s; launchers' rolls are not followed", err_text(&err));
    return 0;
}

static int start_serving(struct sidecar *s)
{
    const struct sidecar_opts *o = &s->opts;
    struct hook_conf hook = {.base = s->base,
                             .log = s->log,
                             .program = o->on_change,
                             .limit_ms = o->on_change_ms};
    if (o->on_change != NULL && (s->hook = hook_create(&hook, &s->err)) == NULL)
        return -1;
    s->page = (struct page){
        .keep = s->keep, .follow = &s->follow, .led = &s->led, .hook = s->hook};
    if (o->listen != NULL)
        s->httpd = page_serve(s->base, o->listen, &s->page, s->log, &s->err);
    return o->listen == NULL || s->httpd != NULL ? 0 : -1;
}

static int start(struct sidecar *s)
{
    start_loop(s);
    make_conf(s);
    if (!s->opts.diff && (s->keep = keep_create(&s->conf, &s->err)) == NULL)
        return -1;
    if (start_serving(s) < 0 || open_lease(s) < 0)
        return -1;
    if (s->lease == NULL)
        start_follow(s);
    return s->code == 0 ? 0 : -1;
}

static void print_diff(struct sidecar *s)
{
    BUF_AUTO out = BUF_INIT;
    if (keep_diff(&s->conf, &s->members, &out, &s->err) < 0) {
        s->code = FAILED;
        return;
    }
    fwrite(buf_data(&out), 1, buf_len(&out), stdout);
    if (fflush(stdout) != 0) {
        err_set(&s->err, "stdout cannot be written");
        s->code = FAILED;
    }
}

static void tear_down(struct sidecar *s)
{
    httpd_destroy(s->httpd);
    hook_destroy(s->hook);
    lease_destroy(s->lease);
    follow_stop(s->follow);
    keep_destroy(s->keep);
    members_free(&s->members);
    loop_timer_free(s->tick);
    watch_destroy(s->watch);
    event_free(s->intr);
    event_free(s->term);
    loop_destroy(s->base);
    log_destroy(s->log);
    source_opts_free(&s->opts.source);
    err_clear(&s->err);
}

int main(int argc, char **argv)
{
    struct sidecar s = {0};
    std_fill();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("muster-sidecar %s\n", MUSTER_VERSION);
        return 0;
    }
    sidecar_opts_parse(&s.opts, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    s.log = log_create(2, "muster-sidecar",
                       s.opts.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    log_set_json(s.log, s.opts.json_log);
    if (start(&s) == 0)
        event_base_dispatch(s.base);
    else
        s.code = FAILED;
    if (s.opts.diff && s.code == 0)
        print_diff(&s);
    if (s.err.text != NULL)
        log_error(s.log, "%s", s.err.text);
    int code = s.code;
    tear_down(&s);
    return code;
}
