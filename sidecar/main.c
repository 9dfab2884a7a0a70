// muster-sidecar: keeps /etc/hosts and the hostfiles current in a pod.
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/std.h"
#include "common/watch.h"
#include "config.h"
#include "hostfile/follow.h"
#include "sidecar/keep.h"
#include "sidecar/opts.h"

enum { FAILED = 125, INCOMPLETE = 1, TICK_MS = 1000, TICK_ONCE_MS = 20 };

struct sidecar {
    struct sidecar_opts opts;
    struct keep_conf conf;
    struct log *log;
    struct event_base *base;
    struct watch *watch;
    struct keep *keep; // NULL: --diff
    struct follow *follow;
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

static void on_update(void *arg, const struct members *members)
{
    struct sidecar *s = arg;
    for (size_t i = 0; i < members->warnings.n; i++)
        log_warn(s->log, "%s", members->warnings.v[i]);
    if (s->keep != NULL)
        keep_update(s->keep, members);
    else
        members_copy(&s->members, members);
}

static void on_failed(void *arg, const struct err *err)
{
    struct sidecar *s = arg;
    err_copy(&s->err, err);
    s->code = FAILED;
    event_base_loopbreak(s->base);
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
        err_set(&s->err, "not done after %u s: %s", s->opts.wait_ms / 1000, why);
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
        log_warn(s->log, "%s: polling instead", err_text(&why));
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
                                 .hosts = o->hosts,
                                 .any_hosts = o->any_hosts,
                                 .hostfiles = o->hostfiles,
                                 .nhostfiles = o->nhostfiles,
                                 .by_name = o->by_name,
                                 .nmembers = o->source.members};
}

static int start(struct sidecar *s)
{
    start_loop(s);
    make_conf(s);
    if (!s->opts.diff && (s->keep = keep_create(&s->conf, &s->err)) == NULL)
        return -1;
    struct follow_conf follow = {.base = s->base,
                                 .watch = s->watch,
                                 .log = s->log,
                                 .spec = &s->opts.source.spec,
                                 .interval_ms = s->opts.interval_ms,
                                 .ops = {.update = on_update, .failed = on_failed},
                                 .arg = s};
    s->follow = follow_start(&follow, &s->err);
    if (s->follow == NULL)
        return -1;
    CLEANUP_FREE char *source = source_describe(&s->opts.source.spec);
    CLEANUP_FREE char *found = source_opts_line(&s->opts.source);
    if (found != NULL)
        log_info(s->log, "%s", found);
    log_info(s->log, "%s follows %s", MUSTER_VERSION, source);
    return 0;
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
