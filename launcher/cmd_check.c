// muster check: inspects the members of a group, and starts no rank.
#include "launcher/cmd.h"

#include <argp.h>
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
#include "common/opt_number.h"
#include "common/seconds.h"
#include "common/std.h"
#include "launcher/check_print.h"
#include "launcher/events.h"
#include "launcher/inspection.h"
#include "launcher/job.h"
#include "wire/keyring.h"
#include "wire/self.h"

enum {
    KEY_JSON = 0x3b00,
    KEY_FULL,
    KEY_KEY,
    KEY_WAIT,
    KEY_FANOUT,
    KEY_EVENTS,
    KEY_NO_PAIRS
};
enum { USAGE = 125, WAIT_MS = 60000, LAST_WORD_MS = 1000 };

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON, one line, instead of a table", 2},
    {"full", KEY_FULL, NULL, 0, "Checks may take their time, and look at all there is",
     2},
    {"no-pairs", KEY_NO_PAIRS, NULL, 0, "Leave the network between members out", 2},
    {"key", KEY_KEY, "DIR", 0,
     "Key ring of the group (default: $MUSTER_KEY_DIR, else /etc/muster/ssh)", 3},
    {"wait", KEY_WAIT, "SECONDS", 0,
     "How long to wait for members that are missing (default: 60)", 3},
    {"fanout", KEY_FANOUT, "K", 0, "Children of a vertex of the tree (default: 64)", 3},
    {"events", KEY_EVENTS, "FILE", 0, "Write every state change as a JSON line", 3},
    {"quiet", 'q', NULL, 0, "No progress: warnings and errors only", 3},
    {"verbose", 'v', NULL, 0, "Log what happens", 3},
    {0},
};

struct check {
    struct opts opts;
    bool json;
    struct log *log;
    struct event_base *base;
    struct keyring *keys;
    char *key_dir;
    struct events *events;
    struct self *self;
    struct job *job;
    struct event *signals[3];
};

static uint32_t seconds(struct argp_state *state, const char *option, const char *text)
{
    uint32_t ms = 0;
    if (!seconds_parse(text, &ms))
        argp_error(state, "%s %s: give seconds, 0 to %d", option, text, SECONDS_MAX);
    return ms;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct check *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &c->opts.from;
        state->child_inputs[1] = &c->opts.via;
        state->child_inputs[2] = &c->opts.check;
        return 0;
    case KEY_JSON: c->json = true; return 0;
    case KEY_FULL: c->opts.check.full = true; return 0;
    case KEY_NO_PAIRS: c->opts.check.pairs = false; return 0;
    case KEY_KEY: c->opts.key = arg; return 0;
    case KEY_WAIT: c->opts.wait_ms = seconds(state, "--wait", arg); return 0;
    case KEY_FANOUT:
        c->opts.fanout = opt_number(state, "--fanout", arg, 1, 65536);
        return 0;
    case KEY_EVENTS: c->opts.events = arg; return 0;
    case 'q': c->opts.quiet = true; return 0;
    case 'v': c->opts.verbose = true; return 0;
    case ARGP_KEY_ARG:
        argp_error(state,
                   "'%s' is no option; host lists are comma separated: --host a,b",
                   arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// ---- what a job without ranks is ------------------------------------------------------

// A member has one rank that is never prepared. Who is lost is dialed again.
static void set_defaults(struct opts *o)
{
    opts_init(o);
    o->wait_ms = WAIT_MS;
    o->check.only = true;
    o->check.pairs = true;
    o->check.when = INSPECTION_BEFORE;
    o->policy.on_failure = POLICY_RESTART;
    o->map.ppn = 1;
    o->map.oversubscribe = true;
    o->input = 0;
    o->pmi = "none";
}

static int settle(struct opts *o, struct err *err)
{
    const char *stray = via_opts_stray(&o->via);
    if (source_opts_settle(&o->from, false, err) < 0)
        return -1;
    o->source = o->from.spec;
    o->members = o->from.members;
    if (stray != NULL) {
        err_set(err,
                "%s is about members that are reached through sshd: give --via "
                "ssh[:PORT] with it",
                stray);
        return -1;
    }
    if (!source_can_grow(&o->source) || o->members > 0)
        return 0;
    err_set(err,
            "--dns %s: a Service does not tell how many members the group has; "
            "give --members M",
            o->source.text);
    return -1;
}

// ---- the run ----------------------------------------------------------------------------

static void on_signal(evutil_socket_t signo, short what, void *arg)
{
    struct check *c = arg;
    job_interrupt(c->job, (int)signo);
}

static void on_done(void *arg)
{
    struct check *c = arg;
    event_base_loopbreak(c->base);
}

static int load_keys(struct check *c, struct err *err)
{
    if (c->opts.source.kind == SOURCE_LOCAL)
        return 0;
    CLEANUP_FREE char *dir = keyring_default_dir(c->opts.key);
    c->key_dir = realpath(dir, NULL); // inner members look for it there too
    c->keys = keyring_load(dir, c->log, err);
    return c->keys != NULL ? 0 : -1;
}

static void watch_signals(struct check *c)
{
    static const int to_end[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof to_end / sizeof *to_end; i++) {
        c->signals[i] = evsignal_new(c->base, to_end[i], on_signal, c);
        event_add(c->signals[i], NULL);
    }
}

static int start(struct check *c, struct err *err)
{
    CLEANUP_FREE char *line = source_opts_line(&c->opts.from);
    if (line != NULL && !c->opts.quiet)
        fprintf(stderr, "muster check: %s\n", line);
    c->events = events_open(c->opts.events, false, c->log, err);
    if (c->events == NULL || load_keys(c, err) < 0)
        return -1;
    c->base = loop_create();
    c->self = self_create("launcher");
    const struct job_conf conf = {.base = c->base,
                                  .opts = &c->opts,
                                  .keys = c->keys,
                                  .key_dir = c->key_dir,
                                  .hello = self_hello(c->self),
                                  .events = c->events,
                                  .log = c->log,
                                  .done = on_done,
                                  .arg = c};
    c->job = job_create(&conf, err);
    if (c->job == NULL)
        return -1;
    watch_signals(c);
    return 0;
}

static void tear_down(struct check *c)
{
    for (size_t i = 0; i < sizeof c->signals / sizeof *c->signals; i++)
        if (c->signals[i] != NULL)
            event_free(c->signals[i]);
    job_destroy(c->job);
    self_destroy(c->self);
    loop_destroy(c->base);
    keyring_destroy(c->keys);
    free(c->key_dir);
    events_close(c->events);
    log_destroy(c->log);
    opts_free(&c->opts);
}

// ---- its word -----------------------------------------------------------------------------

static int code_of(enum finding_verdict v)
{
    return v == FINDING_PASS ? 0 : v == FINDING_FAIL ? 1 : 2;
}

static int print(const struct check *c)
{
    BUF_AUTO text = BUF_INIT;
    json_t *report = job_inspection(c->job);
    enum finding_verdict sum = check_print_sum(report);
    const char *cause = job_text(c->job);
    json_object_set_new(report, "verdict", jsonpack_text(finding_verdict_name(sum)));
    CLEANUP_FREE char *json =
        json_dumps(report, JSON_COMPACT | JSON_REAL_PRECISION(10));
    if (cause != NULL)
        fprintf(stderr, "muster check: %s\n", cause);
    else if (c->json)
        buf_printf(&text, "%s\n", json);
    else
        check_print_table(report, &text);
    json_decref(report);
    std_write(STDOUT_FILENO, buf_data(&text), buf_len(&text), LAST_WORD_MS);
    return cause != NULL ? 2 : code_of(sum);
}

int cmd_check(int argc, char **argv)
{
    const struct argp_child children[] = {
        {source_opts_argp(), 0, "Where the members come from (default: --auto):", 1},
        {via_opts_argp(), 0, "Pods with a stock sshd instead of agents:", 6},
        {check_opts_argp(), 0, "Checks:", 4},
        {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Find out whether the members of a group are fit for ranks.\vExit code 0: "
            "all passed; 1: a member or a link is at fault; 2: none, but some could "
            "not be "
            "inspected; 125: wrong options.",
        .children = children};
    struct check c = {0};
    ERR_AUTO err = ERR_INIT;
    int code = 2;
    set_defaults(&c.opts);
    argp_err_exit_status = USAGE;
    argv[0] = (char[]){"muster check"};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_LONG_ONLY, NULL, &c);
    signal(SIGPIPE, SIG_IGN);
    c.log = log_create(2, "muster check",
                       c.opts.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN);
    if (settle(&c.opts, &err) < 0) {
        code = USAGE;
    } else if (start(&c, &err) == 0) {
        event_base_dispatch(c.base);
        code = print(&c);
    }
    if (err.text != NULL)
        fprintf(stderr, "muster check: %s\n", err_text(&err));
    tear_down(&c);
    return code;
}
