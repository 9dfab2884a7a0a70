// muster hostfile: reads a hostfile in one dialect, filters it, writes it in another.
#include "launcher/cmd.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/seconds.h"
#include "hostfile/dialect.h"
#include "hostfile/filter.h"
#include "hostfile/hostname.h"
#include "hostfile/hostword.h"
#include "hostfile/slurp.h"
#include "launcher/look.h"

enum { KEY_FROM = 0x3000, KEY_IN, KEY_TO, KEY_INCLUDE, KEY_EXCLUDE, KEY_FILTER };
enum { KEY_SLOTS = 0x3100, KEY_WAIT, KEY_SERVER };
enum { USAGE = 125, REFUSED = 1 };

struct convert {
    const char *from, *in, *to;
    const char *include, *exclude, *filter; // NULL: none
    const char *dns_servers;                // as in struct source_spec
    int slots;                              // of hosts without a count, -1: none
    uint32_t wait_ms;
    bool quiet;
};

static const struct argp_option options[] = {
    {"from", KEY_FROM, "FILE|SOURCE", 0,
     "A file, - (stdin), hosts:LIST, env:VARIABLE or dns:SERVICE", 1},
    {"in", KEY_IN, "DIALECT", 0, "What the text is written in (default: auto)", 1},
    {"to", KEY_TO, "DIALECT", 0, "What to write (default: json)", 1},
    {"include", KEY_INCLUDE, "SPEC", 0,
     "Only these: NAME[:SLOT,...][@NAME...], as DeepSpeed; +nK is the K-th host", 2},
    {"exclude", KEY_EXCLUDE, "SPEC", 0, "All but these", 2},
    {"filter", KEY_FILTER, "FILE", 0,
     "Only what this hostfile names, as Open MPI: NAME, +nK, +e", 2},
    {"slots", KEY_SLOTS, "N", 0, "Slots of hosts without a count of their own", 2},
    {"wait", KEY_WAIT, "SECONDS", 0, "How long to wait for addresses (dns:)", 3},
    {"dns-server", KEY_SERVER, "ADDR[:PORT]", 0, "Ask this server (dns:)", 3},
    {"quiet", 'q', NULL, 0, "Do not tell what auto took the text for", 3},
    {0},
};

static long number(const char *option, const char *arg, long max,
                   struct argp_state *state)
{
    long n = hostword_number(arg, strlen(arg), max);
    if (n < 0)
        argp_error(state, "%s is '%s', not a whole number from 0 to %ld", option, arg,
                   max);
    return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct convert *c = state->input;
    switch (key) {
    case KEY_FROM: c->from = arg; return 0;
    case KEY_IN: c->in = arg; return 0;
    case KEY_TO: c->to = arg; return 0;
    case KEY_INCLUDE: c->include = arg; return 0;
    case KEY_EXCLUDE: c->exclude = arg; return 0;
    case KEY_FILTER: c->filter = arg; return 0;
    case KEY_SERVER: c->dns_servers = arg; return 0;
    case KEY_SLOTS:
        c->slots = (int)number("--slots", arg, HOSTWORD_SLOTS_MAX, state);
        return 0;
    case KEY_WAIT:
        if (!seconds_parse(arg, &c->wait_ms))
            argp_error(state, "--wait %s: give seconds, 0 to %d", arg, SECONDS_MAX);
        return 0;
    case 'q': c->quiet = true; return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is no option; the file goes to --from", arg);
        return 0;
    case ARGP_KEY_END:
        if (c->from == NULL)
            argp_error(state, "--from FILE is missing");
        if (c->include != NULL && c->exclude != NULL)
            argp_error(state, "--include and --exclude: give one of the two");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char *behind(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

// The text to read and what errors call it.
static int fetch(const struct convert *c, struct buf *text, const char **file,
                 struct err *err)
{
    const char *list = behind(c->from, "hosts:"), *variable = behind(c->from, "env:");
    *file = list != NULL ? "--from" : variable != NULL ? variable : c->from;
    if (variable != NULL) {
        list = getenv(variable);
        if (list == NULL) {
            err_set_kind(err, "HF_NOT_FOUND", 0,
                         "%s: HF_NOT_FOUND: there is no such variable", variable);
            return -1;
        }
    }
    if (list != NULL) {
        buf_append_str(text, list);
        return 0;
    }
    return slurp(strcmp(c->from, "-") == 0 ? "/dev/stdin" : c->from, text, err);
}

static int read_text(const struct convert *c, struct members *m, struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    CLEANUP_FREE char *self = hostname_own();
    const char *file;
    const struct dialect *as, *in = dialect_find(c->in, "--in", false, err);
    if (in == NULL || fetch(c, &text, &file, err) < 0 ||
        dialect_read(in, (const char *)buf_data(&text), buf_len(&text), file, self, m,
                     &as, err) < 0)
        return -1;
    if (in == dialect_auto() && !c->quiet)
        fprintf(stderr, "muster hostfile: %s: read as %s%s\n", file, dialect_name(as),
                as == in ? " (forms of several dialects)" : "");
    return 0;
}

static int read_members(const struct convert *c, struct members *m, struct err *err)
{
    const char *service = behind(c->from, "dns:");
    struct source_spec spec = {.kind = SOURCE_DNS,
                               .text = service,
                               .slots = -1,
                               .dns_servers = c->dns_servers};
    int rc =
        service != NULL ? look_up(&spec, 0, c->wait_ms, m, err) : read_text(c, m, err);
    for (size_t i = 0; rc == 0 && i < m->n; i++)
        if (m->v[i].slots < 0)
            m->v[i].slots = c->slots;
    if (rc == 0 && m->n == 0) {
        err_set_kind(err, "HF_EMPTY", 0, "%s: HF_EMPTY: it has no members now",
                     c->from);
        return -1;
    }
    return rc;
}

static int filter_file(const struct convert *c, struct members *m, struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    MEMBERS_AUTO list = MEMBERS_INIT;
    if (slurp(c->filter, &text, err) < 0 ||
        dialect_read(dialect_filter(), (const char *)buf_data(&text), buf_len(&text),
                     c->filter, NULL, &list, NULL, err) < 0)
        return -1;
    return filter_by_list(m, &list, c->filter, err);
}

static int filter(const struct convert *c, struct members *m, struct err *err)
{
    if (c->filter == NULL && c->include == NULL && c->exclude == NULL)
        return 0;
    if (members_merge(m, c->from, err) < 0 ||
        (c->filter != NULL && filter_file(c, m, err) < 0) ||
        (c->include != NULL && filter_include(m, c->include, err) < 0))
        return -1;
    return c->exclude != NULL ? filter_exclude(m, c->exclude, err) : 0;
}

static void tell(const struct strv *warnings)
{
    for (size_t i = 0; i < warnings->n; i++)
        fprintf(stderr, "muster hostfile: %s\n", warnings->v[i]);
}

static int convert(const struct convert *c, struct err *err)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    BUF_AUTO out = BUF_INIT;
    STRV_AUTO warnings = STRV_INIT;
    const struct dialect *to = dialect_find(c->to, "--to", true, err);
    if (to == NULL || read_members(c, &m, err) < 0 || filter(c, &m, err) < 0 ||
        dialect_write(to, &m, &out, &warnings, err) < 0)
        return -1;
    if (strcmp(dialect_name(to), "json") != 0)
        tell(&m.warnings); // JSON holds them
    tell(&warnings);
    if (fwrite(buf_data(&out), 1, buf_len(&out), stdout) == buf_len(&out) &&
        fflush(stdout) == 0)
        return 0;
    err_set(err, "cannot write to stdout: %m");
    return -1;
}

static char *help_filter(int key, const char *text, void *input)
{
    if (key != ARGP_KEY_HELP_EXTRA)
        return (char *)(uintptr_t)text;
    char *list = NULL;
    size_t size;
    FILE *f = open_memstream(&list, &size);
    fputs("Dialects:\n", f);
    dialect_list(f);
    fclose(f);
    return list;
}

int cmd_hostfile(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Read a hostfile whole or refuse it, and write it in another dialect."
               "\vExit code 0: written; 1: refused, with one line FILE:LINE:COLUMN: "
               "KIND: text; 125: wrong options.",
        .help_filter = help_filter,
    };
    struct convert c = {.in = "auto", .to = "json", .slots = -1};
    ERR_AUTO err = ERR_INIT;
    argp_err_exit_status = USAGE;
    argv[0] = (char[]){"muster hostfile"};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_LONG_ONLY, NULL, &c);
    if (convert(&c, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err_text(&err));
    return REFUSED;
}
