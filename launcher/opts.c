// Options of `muster run`.
#include "launcher/opts.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/listener.h"
#include "common/mem.h"
#include "common/opt_number.h"
#include "common/seconds.h"
#include "common/signame.h"
#include "config.h"
#include "hostfile/source_opts.h"
#include "launcher/foreign_opts.h"
#include "launcher/input.h"
#include "launcher/inspection.h"
#include "launcher/opts_layout.h"
#include "wire/claim.h"
#include "wire/link.h"
#include "wire/tree.h"

#ifdef HAVE_PMIX
#define PMI_DEFAULT "auto" // PMIx and PMI-1
#else
#define PMI_DEFAULT "pmi1" // built without muster-pmixd
#endif

enum {
    KEY_PPN = 0x100,
    KEY_OVERSUBSCRIBE,
    KEY_JOB,
    KEY_RERUN,
    KEY_ADOPT,
    KEY_KEY,
    KEY_EVENTS,
    KEY_PMI,
    KEY_WAIT,
    KEY_GRACE,
    KEY_PRE_STOP_SIGNAL,
    KEY_PRE_STOP_GRACE,
    KEY_ORPHAN_GRACE,
    KEY_LINK_GRACE,
    KEY_HEARTBEAT,
    KEY_FANOUT,
    KEY_TAG,
    KEY_MAP_BY,
    KEY_STDIN,
    KEY_TIMESTAMP,
    KEY_OUTPUT,
    KEY_MERGE,
    KEY_TIMEOUT,
    KEY_ON_FAILURE,
    KEY_MAX_RESTARTS,
    KEY_RESTART_WINDOW,
    KEY_SAME_FAILURES,
    KEY_HEALTHY,
    KEY_REPLACE_TIMEOUT,
    KEY_AVOID,
    KEY_REPLACE_HOOK,
    KEY_STATUS,
    KEY_PER_NODE,
    KEY_GRID_SPLIT,
    KEY_GRID_SUBGROUP,
    KEY_CHECK,
};

static const struct argp_option options[] = {
    {"ppn", KEY_PPN, "K", 0, "K ranks on each member", 2},
    {"npernode", 'N', "K", 0, "The same, as mpirun names it", 2},
    {"map-by", KEY_MAP_BY, "slot|node|ppr:K:node", 0,
     "As mpirun: fill the members' slots in order (the default), go round the members, "
     "or "
     "K ranks on each",
     2},
    {"oversubscribe", KEY_OVERSUBSCRIBE, NULL, 0, "Allow more ranks than slots", 2},
    {"per-node", KEY_PER_NODE, NULL, 0,
     "One command on each member, with placeholders such as {node_rank} in its "
     "arguments "
     "and in -x",
     2},
    {"grid-allow-split", KEY_GRID_SPLIT, NULL, 0,
     "A tensor-parallel group may be on several members", 2},
    {"grid-subgroup", KEY_GRID_SUBGROUP, "K", 0,
     "K members in a row are near each other (default: $LWS_SUBGROUP_SIZE)", 2},
    {"pmi", KEY_PMI, "auto|pmix|pmi1|none", 0,
     "What ranks find each other with (default: " PMI_DEFAULT "; none with --per-node)",
     3},
    {"key", KEY_KEY, "DIR", 0,
     "Key ring of the group (default: $MUSTER_KEY_DIR, else /etc/muster/ssh)", 4},
    {"wait", KEY_WAIT, "SECONDS", 0,
     "How long to wait for members that are missing (default: 300)", 4},
    {"grace", KEY_GRACE, "SECONDS", 0, "Between SIGTERM and SIGKILL (default: 10)", 4},
    {"pre-stop-signal", KEY_PRE_STOP_SIGNAL, "SIGNAL", 0,
     "Send SIGNAL (such as USR1) before SIGTERM while all ranks live, so that they "
     "write "
     "a "
     "last checkpoint",
     4},
    {"pre-stop-grace", KEY_PRE_STOP_GRACE, "SECONDS", 0,
     "Between SIGNAL and SIGTERM, unless all ranks have ended (default: 30)", 4},
    {"orphan-grace", KEY_ORPHAN_GRACE, "SECONDS", 0,
     "How long agents keep the ranks of a launcher that is gone (default: 6)", 4},
    {"link-grace", KEY_LINK_GRACE, "SECONDS", 0,
     "How long a member whose connection is lost may come back (default: 5)", 4},
    {"heartbeat", KEY_HEARTBEAT, "SECONDS", 0,
     "How often links show that they live; three that do not come are a loss (default: "
     "1)",
     4},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "Stop the job after so long, counted from the start of the ranks; exit code 124",
     4},
    {"on-failure", KEY_ON_FAILURE, "abort|restart", 0,
     "A rank fails or a pod is lost: end the job (the default), or start all ranks "
     "again "
     "on the pods that are there and the replaced ones",
     4},
    {"max-restarts", KEY_MAX_RESTARTS, "N", 0,
     "Restarts within --restart-window (default: 10)", 4},
    {"restart-window", KEY_RESTART_WINDOW, "SECONDS", 0,
     "After so long a restart is forgotten (default: 3600)", 4},
    {"same-failures", KEY_SAME_FAILURES, "K", 0,
     "Give up when the same rank ends the same way K times in a row (default: 3; 0: "
     "never)",
     4},
    {"healthy", KEY_HEALTHY, "SECONDS", 0,
     "Ranks that ran so long made progress: no pause before the next attempt (default: "
     "300)",
     4},
    {"replace-timeout", KEY_REPLACE_TIMEOUT, "SECONDS", 0,
     "How long a restart waits for lost members and their replacements (default: 600)",
     4},
    {"avoid", KEY_AVOID, "SECONDS", 0,
     "A member that has failed is a restart's last choice for so long (default: 3600)",
     4},
    {"replace-hook", KEY_REPLACE_HOOK, "PROGRAM", 0,
     "Run PROGRAM for each member that is lost, so that it is replaced", 4},
    {"check", KEY_CHECK, "before,on-failure,replacement", 0,
     "Inspect members: all before the first attempt, all after a failure, new ones; "
     "who fails gets no ranks",
     4},
    {"job", KEY_JOB, "KEY", 0,
     "Name of the job: a launcher that comes with the same one goes on from where this "
     "one "
     "was (default: a new one for each run)",
     4},
    {"rerun", KEY_RERUN, NULL, 0,
     "With --job: begin the job anew, though it is done or has come far", 4},
    {"adopt", KEY_ADOPT, NULL, 0,
     "With --job: take it over without a majority of its last positions; only when it "
     "is "
     "sure that no other launcher has them",
     4},
    {"fanout", KEY_FANOUT, "K", 0, "Children of a vertex of the tree (default: 64)", 4},
    {"stdin", KEY_STDIN, "RANK|all|none", 0, "Who gets stdin (default: rank 0)", 5},
    {"tag-output", KEY_TAG, NULL, 0, "Begin each line with [RANK]<stdout>: ", 5},
    {"timestamp-output", KEY_TIMESTAMP, NULL, 0, "Begin each line with the time (UTC)",
     5},
    {"merge-stderr-to-stdout", KEY_MERGE, NULL, 0, "Ranks' stderr goes to stdout", 5},
    {"output", KEY_OUTPUT, "DIR", 0,
     "Write to DIR/rank.N.out and DIR/rank.N.err instead of stdout and stderr", 5},
    {"events", KEY_EVENTS, "FILE", 0, "Write every state change as a JSON line", 5},
    {"status", KEY_STATUS, "[ADDRESS:]PORT", 0,
     "Serve /status, /metrics and /healthz over HTTP, on loopback unless an address is "
     "given",
     5},
    {"quiet", 'q', NULL, 0, "No progress: warnings and errors only", 5},
    {"verbose", 'v', NULL, 0, "Log what happens", 5},
    {0},
};

static uint32_t seconds(struct argp_state *state, const char *option, const char *text)
{
    uint32_t ms = 0;
    if (!seconds_parse(text, &ms))
        argp_error(state, "%s %s: give seconds, 0 to %d", option, text, SECONDS_MAX);
    return ms;
}

static void check_pmi(struct argp_state *state, struct opts *o, const char *text)
{
    static const char *const known[] = {"auto", "pmix", "pmi1", "none"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i]) == 0)
            o->pmi = known[i];
    if (o->pmi == NULL || strcmp(text, o->pmi) != 0)
        argp_error(state, "--pmi %s: auto, pmix, pmi1 or none", text);
}

static void take_on_failure(struct argp_state *state, struct opts *o, const char *text)
{
    bool restart = strcmp(text, "restart") == 0;
    if (!restart && strcmp(text, "abort") != 0)
        argp_error(state, "--on-failure %s: abort or restart", text);
    o->policy.on_failure = restart ? POLICY_RESTART : POLICY_ABORT;
}

// Options that are of use only with --on-failure restart.
static bool take_restart(int key, char *arg, struct argp_state *state)
{
    struct opts *o = state->input;
    struct policy_conf *p = &o->policy;
    switch (key) {
    case KEY_MAX_RESTARTS:
        o->restart_option = "--max-restarts";
        p->max_restarts =
            opt_number(state, o->restart_option, arg, 0, POLICY_RESTARTS_MAX);
        return true;
    case KEY_RESTART_WINDOW:
        o->restart_option = "--restart-window";
        p->window_ms = seconds(state, o->restart_option, arg);
        return true;
    case KEY_SAME_FAILURES:
        o->restart_option = "--same-failures";
        p->same_failures = opt_number(state, o->restart_option, arg, 0, UINT16_MAX);
        return true;
    case KEY_HEALTHY:
        o->restart_option = "--healthy";
        p->healthy_ms = seconds(state, o->restart_option, arg);
        return true;
    case KEY_REPLACE_TIMEOUT:
        o->restart_option = "--replace-timeout";
        o->replace_timeout_ms = seconds(state, o->restart_option, arg);
        return true;
    case KEY_AVOID:
        o->restart_option = "--avoid";
        o->avoid_ms = seconds(state, o->restart_option, arg);
        return true;
    case KEY_REPLACE_HOOK:
        o->restart_option = "--replace-hook";
        o->replace_hook = arg;
        return true;
    default: return false;
    }
}

static void take_check(struct argp_state *state, struct opts *o, const char *text)
{
    ERR_AUTO err = ERR_INIT;
    if (inspection_parse(text, &o->check.when, &err) < 0)
        argp_error(state, "--check %s: %s", text, err_text(&err));
    if ((o->check.when & ~(unsigned)INSPECTION_BEFORE) != 0)
        o->restart_option = "--check on-failure,replacement";
}

static int check_checks(const struct opts *o)
{
    if (o->check.stray == NULL || o->check.when != 0)
        return 0;
    fprintf(stderr, "muster run: %s is about inspections: give --check with it\n",
            o->check.stray);
    return -1;
}

static int check_restart(const struct opts *o)
{
    const char *option = o->restart_option;
    if (option == NULL && apps_opts_have_spares(&o->apps))
        option = "--spares";
    if (option == NULL || o->policy.on_failure == POLICY_RESTART)
        return 0;
    fprintf(stderr,
            "muster run: %s is about restarts: give --on-failure restart with it\n",
            option);
    return -1;
}

static void take_stdin(struct argp_state *state, struct opts *o, const char *text)
{
    if (strcmp(text, "all") == 0)
        o->input = INPUT_ALL;
    else if (strcmp(text, "none") == 0)
        o->input = INPUT_NOBODY;
    else
        o->input = opt_number(state, "--stdin", text, 0, MAP_RANKS_MAX - 1) + 1;
}

static void take_status(struct argp_state *state, struct opts *o, const char *text)
{
    ERR_AUTO err = ERR_INIT;
    if (listener_check(text, &err) < 0)
        argp_error(state, "--status %s: %s", text, err_text(&err));
    o->status = text;
}

static void take_map_by(struct argp_state *state, struct opts *o, const char *text)
{
    const char *end = strrchr(text, ':');
    o->map.by_node = strcmp(text, "node") == 0;
    if (o->map.by_node || strcmp(text, "slot") == 0)
        return;
    if (strncmp(text, "ppr:", 4) != 0 || end == text + 3 || strcmp(end, ":node") != 0)
        argp_error(state, "--map-by %s: slot, node or ppr:K:node", text);
    CLEANUP_FREE char *k =
        xstrndup(text + 4, end > text + 4 ? (size_t)(end - text - 4) : 0);
    o->map.ppn = opt_number(state, "--map-by ppr", k, 1, 65536);
}

static void take_heartbeat(struct argp_state *state, struct opts *o, const char *text)
{
    o->heartbeat_ms = seconds(state, "--heartbeat", text);
    if (o->heartbeat_ms < LINK_HEARTBEAT_MIN_MS ||
        o->heartbeat_ms > LINK_HEARTBEAT_MAX_MS)
        argp_error(state, "--heartbeat %s: give seconds, %g to %g", text,
                   LINK_HEARTBEAT_MIN_MS / 1e3, LINK_HEARTBEAT_MAX_MS / 1e3);
}

static void take_job(struct argp_state *state, struct opts *o, const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._:/-";
    size_t n = strlen(text);
    if (n == 0 || n > CLAIM_KEY_MAX || strspn(text, allowed) != n)
        argp_error(state, "--job '%s': give 1 to %d letters, digits and . _ : / -",
                   text, CLAIM_KEY_MAX);
    o->job = text;
}

// "--host a:2 b:2 program": the second host would be the program.
static void refuse_host(struct argp_state *state, const struct opts *o,
                        const char *program)
{
    if (o->from.spec.kind == SOURCE_HOSTS && strchr(program, '/') == NULL &&
        strchr(program, ':') != NULL)
        argp_error(
            state,
            "'%s' would be the program: a list of hosts has commas and no blanks, "
            "such as %s %s,%s",
            program, o->from.option, o->from.spec.text, program);
}

static void take_program(struct argp_state *state, struct opts *o)
{
    const char *program = state->argv[state->next - 1];
    if (program[0] == '\0')
        argp_error(state, "the program's name is empty (a variable that is not set?)");
    refuse_host(state, o, program);
    o->argv = &state->argv[state->next - 1];
    o->argc = state->argc - state->next + 1;
    state->next = state->argc;
    apps_opts_take(&o->apps, state, o->argv, o->argc, state->quoted > 0);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct opts *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->from;
        state->child_inputs[1] = &o->via;
        state->child_inputs[2] = &o->apps;
        state->child_inputs[3] = &o->roles;
        state->child_inputs[5] = &o->check;
        return 0;
    case 'q': o->quiet = true; return 0;
    case 'v': o->verbose = true; return 0;
    case 'N':
    case KEY_PPN: o->map.ppn = opt_number(state, "--ppn", arg, 1, 65536); return 0;
    case KEY_OVERSUBSCRIBE: o->map.oversubscribe = true; return 0;
    case KEY_JOB: take_job(state, o, arg); return 0;
    case KEY_CHECK: take_check(state, o, arg); return 0;
    case KEY_RERUN: o->rerun = true; return 0;
    case KEY_ADOPT: o->adopt = true; return 0;
    case KEY_KEY: o->key = arg; return 0;
    case KEY_EVENTS: o->events = arg; return 0;
    case KEY_STATUS: take_status(state, o, arg); return 0;
    case KEY_PMI: check_pmi(state, o, arg); return 0;
    case KEY_WAIT: o->wait_ms = seconds(state, "--wait", arg); return 0;
    case KEY_GRACE: o->grace_ms = seconds(state, "--grace", arg); return 0;
    case KEY_PRE_STOP_SIGNAL:
        o->pre_stop_signal = (uint32_t)opt_signal(state, "--pre-stop-signal", arg);
        return 0;
    case KEY_PRE_STOP_GRACE:
        o->pre_stop_ms = seconds(state, "--pre-stop-grace", arg);
        return 0;
    case KEY_ORPHAN_GRACE:
        o->orphan_grace_ms = seconds(state, "--orphan-grace", arg);
        return 0;
    case KEY_LINK_GRACE:
        o->link_grace_ms = seconds(state, "--link-grace", arg);
        return 0;
    case KEY_FANOUT: o->fanout = opt_number(state, "--fanout", arg, 1, 65536); return 0;
    case KEY_HEARTBEAT: take_heartbeat(state, o, arg); return 0;
    case KEY_TIMEOUT: o->timeout_ms = seconds(state, "--timeout", arg); return 0;
    case KEY_PER_NODE: o->per_node = true; return 0;
    case KEY_GRID_SPLIT: o->map.grid_split = true; return 0;
    case KEY_GRID_SUBGROUP:
        o->subgroup = opt_number(state, "--grid-subgroup", arg, 1, UINT16_MAX);
        return 0;
    case KEY_MAP_BY: take_map_by(state, o, arg); return 0;
    case KEY_STDIN: take_stdin(state, o, arg); return 0;
    case KEY_TAG: o->output.tag = true; return 0;
    case KEY_TIMESTAMP: o->output.timestamp = true; return 0;
    case KEY_MERGE: o->output.merge = true; return 0;
    case KEY_OUTPUT: o->output.dir = arg; return 0;
    case KEY_ON_FAILURE: take_on_failure(state, o, arg); return 0;
    case ARGP_KEY_ARG: take_program(state, o); return 0;
    case ARGP_KEY_END:
        if (o->quiet && o->verbose)
            argp_error(state, "-q and -v contradict each other: give one of the two");
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which program? none was given"); return 0;
    default: return take_restart(key, arg, state) ? 0 : ARGP_ERR_UNKNOWN;
    }
}

static int settle_layout(struct opts *o)
{
    ERR_AUTO err = ERR_INIT;
    if (o->pmi == NULL)
        o->pmi = o->per_node ? "none" : PMI_DEFAULT;
    if (opts_layout_settle(o, &err) == 0)
        return 0;
    fprintf(stderr, "muster run: %s\n", err_text(&err));
    return -1;
}

// How many members a headless Service must show before the group is whole.
static int settle_members(struct opts *o)
{
    uint32_t each = opts_layout_each(o);
    if (o->source.kind == SOURCE_LOCAL && o->members > 1) {
        fprintf(stderr,
                "muster run: --members %u: without a source the group is this machine "
                "alone; give --hostfile, --host, --dns or --pods\n",
                o->members);
        return -1;
    }
    if (o->members > 0 && o->spares >= o->members) {
        fprintf(stderr,
                "muster run: --spares %u of --members %u: none is left for the ranks\n",
                o->spares, o->members);
        return -1;
    }
    if (!source_can_grow(&o->source) || o->members > 0)
        return 0;
    if (o->map.ranks == 0 || each == 0) {
        fprintf(
            stderr,
            "muster run: --dns %s: a Service does not tell how many members the group "
            "has; give --members M, or -n N with --ppn K or --slots K\n",
            o->source.text);
        return -1;
    }
    o->members = (o->map.ranks + each - 1) / each + o->spares;
    return 0;
}

static int settle_source(struct opts *o)
{
    ERR_AUTO err = ERR_INIT;
    int rc = source_opts_settle(&o->from, false, &err);
    o->source = o->from.spec;
    o->members = o->from.members;
    if (rc < 0)
        fprintf(stderr, "muster run: %s\n", err_text(&err));
    return rc;
}

static int check_via(const struct opts *o)
{
    const char *stray = via_opts_stray(&o->via);
    if (stray != NULL)
        fprintf(stderr,
                "muster run: %s is about members that are reached through sshd: "
                "give --via ssh[:PORT] with it\n",
                stray);
    else if (o->via.ssh && o->source.kind == SOURCE_LOCAL)
        fprintf(stderr, "muster run: --via ssh needs members: give --hostfile, --host, "
                        "--dns or --pods\n");
    else
        return 0;
    return -1;
}

// Only agents that stay can remember a job.
static int settle_job(struct opts *o)
{
    bool stay = o->source.kind != SOURCE_LOCAL && !o->via.ssh;
    const char *option = o->rerun ? "--rerun" : "--adopt";
    if (o->job != NULL && !stay)
        fprintf(
            stderr,
            "muster run: --job %s: %s, and remember nothing; --job needs agents that "
            "stay (musterd)\n",
            o->job,
            o->via.ssh ? "agents below sshd end with their launcher"
                       : "without a source the agent ends with its launcher");
    else if (o->job == NULL && getenv(CLAIM_LEAD_ENV) == NULL && (o->rerun || o->adopt))
        fprintf(stderr, "muster run: %s: which job? give --job KEY with it\n", option);
    else {
        o->job = o->job == NULL && stay ? getenv(CLAIM_LEAD_ENV) : o->job;
        o->order = o->rerun ? getenv(CLAIM_ORDER_ENV) : NULL;
        return 0;
    }
    return -1;
}

void opts_init(struct opts *o)
{
    *o = (struct opts){.input = 1, // rank 0, as mpirun does
                       .wait_ms = 300000,
                       .grace_ms = 10000,
                       .pre_stop_ms = 30000,
                       .heartbeat_ms = LINK_HEARTBEAT_MS,
                       .orphan_grace_ms = 6000,
                       .link_grace_ms = 5000,
                       .policy = {.max_restarts = 10,
                                  .window_ms = 3600000,
                                  .healthy_ms = 300000,
                                  .same_failures = 3},
                       .replace_timeout_ms = 600000,
                       .avoid_ms = 3600000,
                       .fanout = TREE_FANOUT_DEFAULT};
    source_opts_init(&o->from);
    via_opts_init(&o->via);
    apps_opts_init(&o->apps);
    check_opts_init(&o->check);
}

int opts_parse(struct opts *o, int argc, char **argv, int *code)
{
    const struct argp_child children[] = {
        {source_opts_argp(), 0, "Where the members come from (default: --auto):", 1},
        {via_opts_argp(), 0, "Pods with a stock sshd instead of agents:", 6},
        {apps_opts_argp(), 0, NULL, 0},
        {roles_opts_argp(), 0, NULL, 0},
        {foreign_opts_argp(), 0, NULL, 0},
        {check_opts_argp(), 0, "Health checks:", 8},
        {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROGRAM [ARG...] [: [-n N] [-x ...] PROGRAM [ARG...]]...",
        .doc = "Start PROGRAM on the ranks of a pod group and see it through.",
        .children = children};
    opts_init(o);
    argp_err_exit_status = 125;
    char name[] = "muster run";
    argv[0] = name;
    error_t rc = argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_LONG_ONLY, NULL, o);
    if (rc == 0 && settle_source(o) == 0 && settle_layout(o) == 0 &&
        settle_members(o) == 0 && check_via(o) == 0 && check_restart(o) == 0 &&
        check_checks(o) == 0 && settle_job(o) == 0)
        return 0;
    *code = 125;
    opts_free(o);
    return -1;
}

void opts_free(struct opts *o)
{
    source_opts_free(&o->from);
    apps_opts_free(&o->apps);
    check_opts_free(&o->check);
}
