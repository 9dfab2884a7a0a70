// muster replace: a member of a running job is replaced, or gets another address in a hostfile
// or ConfigMap.
#include "launcher/cmd.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"
#include "common/putfile.h"
#include "hostfile/rewrite.h"
#include "hostfile/slurp.h"
#include "launcher/ask_opts.h"
#include "launcher/configmap.h"

enum { KEY_ADDRESS = 0x3200, KEY_HOSTFILE, KEY_DIALECT, KEY_CONFIGMAP, KEY_KEY };
enum { KEY_REASON = 0x3380 };
enum { KEY_HOOK = 0x3300, KEY_DRY_RUN };
enum { USAGE = 125, REFUSED = 1 };

struct order {
    struct ask_opts ask;
    const char *member, *address;
    const char *reason;                      // NULL: it is about a hostfile
    const char *hostfile, *configmap, *hook; // NULL: not given
    const char *dialect, *key;
    bool dry_run;
};

static const struct argp_option options[] = {
    {"reason", KEY_REASON, "TEXT", 0,
     "Restart the running job without the agent that the member has now", 1},
    {"address", KEY_ADDRESS, "IP", 0,
     "In a hostfile: the member's new address, IPv4 or IPv6", 2},
    {"hostfile", KEY_HOSTFILE, "FILE", 0, "Change the member's word in this file", 2},
    {"machinefile", KEY_HOSTFILE, NULL, OPTION_ALIAS, NULL, 2},
    {"dialect", KEY_DIALECT, "NAME", 0,
     "How it is written (default: auto); see muster hostfile --help", 2},
    {"hook", KEY_HOOK, "PROGRAM", 0,
     "Let this program write it where the hostfile comes from, such as a ConfigMap", 3},
    {"configmap", KEY_CONFIGMAP, "FILE", 0,
     "Read a ConfigMap as JSON (- is stdin) and print the patch for it", 3},
    {"key", KEY_KEY, "KEY", 0,
     "The hostfile's key in the ConfigMap (default: hostfile); with --reason: the "
     "directory of the group's key ring, as of muster run",
     3},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Print what would change, and change nothing", 4},
    {0},
};

// ---- the command line -------------------------------------------------------------

static void check_job(const struct order *o, struct argp_state *state)
{
    if (o->address != NULL || o->hostfile != NULL || o->configmap != NULL ||
        o->hook != NULL || o->dry_run)
        argp_error(state, "--reason is about a running job, and goes with none of the "
                          "options about hostfiles");
}

static void check_file(const struct order *o, struct argp_state *state)
{
    ERR_AUTO err = ERR_INIT;
    if (o->member == NULL)
        argp_error(state, "which member? muster replace MEMBER --address IP "
                          "--hostfile FILE, or MEMBER --reason TEXT for a running job");
    if (o->ask.job != NULL || o->ask.at != NULL)
        argp_error(state, "--job and --agent are about a running job: give --reason "
                          "TEXT with them");
    if (o->address == NULL)
        argp_error(state,
                   "--address IP is missing: where is %s now? (For a running job: "
                   "--reason TEXT)",
                   o->member);
    if (rewrite_check_address(o->address, &err) < 0)
        argp_error(state, "%s", err_text(&err));
    if (o->hostfile == NULL && o->configmap == NULL && o->hook == NULL)
        argp_error(state,
                   "where is %s listed? --hostfile FILE, or --hook PROGRAM where "
                   "the hostfile comes from elsewhere (a running job follows its "
                   "source)",
                   o->member);
    if (o->configmap != NULL && (o->hostfile != NULL || o->hook != NULL))
        argp_error(state, "--configmap goes neither with --hostfile nor with --hook");
    if (o->key != NULL && o->configmap == NULL)
        argp_error(state, "--key names a key of --configmap, which is missing");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct order *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->ask; return 0;
    case KEY_REASON: o->reason = arg; return 0;
    case KEY_ADDRESS: o->address = arg; return 0;
    case KEY_HOSTFILE: o->hostfile = arg; return 0;
    case KEY_DIALECT: o->dialect = arg; return 0;
    case KEY_CONFIGMAP: o->configmap = arg; return 0;
    case KEY_KEY: o->key = arg; return 0;
    case KEY_HOOK: o->hook = arg; return 0;
    case KEY_DRY_RUN: o->dry_run = true; return 0;
    case ARGP_KEY_ARG:
        if (o->member != NULL)
            argp_error(state, "one member at a time: %s, or %s?", o->member, arg);
        o->member = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->reason != NULL && o->member != NULL)
            check_job(o, state);
        else
            check_file(o, state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// ---- what would change ------------------------------------------------------------

static size_t line_length(const char *s, size_t len)
{
    const char *end = memchr(s, '\n', len);
    return end != NULL ? (size_t)(end - s) + 1 : len;
}

static void put_line(char sign, const char *s, size_t len)
{
    printf("%c%.*s", sign, (int)len, s);
    if (len == 0 || s[len - 1] != '\n')
        fputs("\n\\ No newline at end of file\n", stdout);
}

// The changed lines as diff(1) -U0 shows them; both texts have the same number of lines.
static void print_diff(const char *file, const char *old, size_t old_len,
                       const struct buf *text)
{
    const char *now = (const char *)buf_data(text);
    size_t now_len = buf_len(text);
    printf("--- %s\n+++ %s\n", file, file);
    for (size_t line = 1; old_len > 0; line++) {
        size_t a = line_length(old, old_len), b = line_length(now, now_len);
        if (a != b || memcmp(old, now, a) != 0) {
            printf("@@ -%zu +%zu @@\n", line, line);
            put_line('-', old, a);
            put_line('+', now, b);
        }
        old += a, old_len -= a;
        now += b, now_len -= b;
    }
}

static void say(const struct order *o, const char *file, const struct rewrite *r)
{
    if (!r->changed)
        fprintf(stderr, "muster replace: %s: %s has the address %s already\n", file,
                r->name, o->address);
    else if (!o->dry_run)
        fprintf(stderr, "muster replace: %s: %s is %s now%s\n", file, r->name,
                o->address, r->places > 1 ? " (wherever it is listed)" : "");
}

static int flush(struct err *err)
{
    if (fflush(stdout) == 0)
        return 0;
    err_set(err, "cannot write to stdout: %m");
    return -1;
}

// ---- the three ways ---------------------------------------------------------------

static int rewrite(const struct order *o, const char *text, size_t len,
                   const char *file, struct rewrite *r, struct err *err)
{
    const struct dialect *d = dialect_find(o->dialect, "--dialect", false, err);
    if (d == NULL ||
        rewrite_member(d, text, len, file, o->member, o->address, r, err) < 0)
        return -1;
    if (r->changed && o->dry_run)
        print_diff(file, text, len, &r->text);
    return 0;
}

static void hint_at_hook(struct err *err)
{
    if (err->kind == NULL || strcmp(err->kind, "PUT_READONLY") != 0)
        return;
    CLEANUP_FREE char *text = xstrdup(err_text(err));
    err_set_kind(err, err->kind, 0,
                 "%s: a ConfigMap is changed where it lives, with --hook (see "
                 "contrib/k8s), and its mounts follow",
                 text);
}

static int change_file(const struct order *o, struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    REWRITE_AUTO r = {0};
    struct putfile *p = putfile_open(o->hostfile, err);
    int rc = p != NULL ? slurp(o->hostfile, &text, err) : -1;
    if (rc == 0)
        rc = rewrite(o, (const char *)buf_data(&text), buf_len(&text), o->hostfile, &r,
                     err);
    if (rc == 0 && r.changed && !o->dry_run)
        rc = putfile_write(p, &r.text, err);
    putfile_close(p);
    hint_at_hook(err);
    if (rc == 0)
        say(o, o->hostfile, &r);
    return rc < 0 ? -1 : flush(err);
}

static int patch_configmap(const struct order *o, struct err *err)
{
    BUF_AUTO json = BUF_INIT;
    BUF_AUTO patch = BUF_INIT;
    REWRITE_AUTO r = {0};
    CONFIGMAP_AUTO c = {0};
    bool in = strcmp(o->configmap, "-") == 0;
    if (slurp(in ? "/dev/stdin" : o->configmap, &json, err) < 0 ||
        configmap_read((const char *)buf_data(&json), buf_len(&json), o->configmap,
                       o->key != NULL ? o->key : "hostfile", &c, err) < 0 ||
        rewrite(o, c.text, c.len, c.what, &r, err) < 0)
        return -1;
    if (!r.changed)
        say(o, c.what, &r);
    if (r.changed && !o->dry_run) {
        configmap_patch(&c, (const char *)buf_data(&r.text), buf_len(&r.text), &patch);
        fwrite(buf_data(&patch), 1, buf_len(&patch), stdout);
    }
    return flush(err);
}

// Becomes the hook: its exit code is ours.
static int become_hook(const struct order *o, struct err *err)
{
    CLEANUP_FREE char *self = proc_self();
    CLEANUP_FREE char *path = proc_resolve(o->hook, getenv("PATH"), NULL, err);
    const char *const env[][2] = {
        {"MUSTER_MEMBER", o->member},
        {"MUSTER_ADDRESS", o->address},
        {"MUSTER_DIALECT", o->dialect},
        {"MUSTER_HOSTFILE", o->hostfile},
        {"MUSTER_DRY_RUN", o->dry_run ? "1" : NULL},
        {"MUSTER", self},
    };
    if (path == NULL) {
        err_prefix(err, "--hook");
        return -1;
    }
    for (size_t i = 0; i < sizeof env / sizeof *env; i++)
        if (env[i][1] != NULL)
            setenv(env[i][0], env[i][1], 1);
        else
            unsetenv(env[i][0]);
    execv(path, (char *[]){(char *)(uintptr_t)o->hook, NULL});
    err_set_errno(err, errno, "--hook: %s cannot be started", path);
    return -1;
}

int cmd_replace(int argc, char **argv)
{
    const struct argp_child children[] = {{.argp = ask_opts_argp_keyless()}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .args_doc = "MEMBER --reason TEXT\nMEMBER --address IP",
        .doc =
            "Restart a running job without the agent that a member has now (--reason), "
            "as if it had failed: the next attempt takes a spare, or another agent of "
            "that "
            "member. Or give one member of a hostfile another address (--address). "
            "There MEMBER is its name, or the "
            "address that stands there for one. Exactly that word of the file changes, "
            "or nothing does."
            "\vA job that follows the file takes the change up. For a ConfigMap use "
            "--hook with contrib/k8s/configmap-hook. Exit code 0: done, or so already; "
            "1: refused, with one line that says why, or there is no job; 125: wrong "
            "options, or nobody could be asked; with --hook, the hook's.",
    };
    struct order o = {.dialect = "auto"};
    ERR_AUTO err = ERR_INIT;
    argp_err_exit_status = USAGE;
    argv[0] = (char[]){"muster replace"};
    argp_parse(&argp, argc, argv, ARGP_LONG_ONLY, NULL, &o);
    if (o.reason != NULL) {
        o.ask.key = o.key;
        return ask_opts_order(&o.ask, "muster replace", MUSTER__ASK__OP__REPLACE,
                              o.member, o.reason);
    }
    int rc = o.hook != NULL        ? become_hook(&o, &err)
             : o.configmap != NULL ? patch_configmap(&o, &err)
                                   : change_file(&o, &err);
    if (rc == 0)
        return 0;
    fprintf(stderr, "muster replace: %s\n", err_text(&err));
    return REFUSED;
}
