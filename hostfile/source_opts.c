// The options that name a source.
#include "hostfile/source_opts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/hostname.h"
#include "hostfile/hostword.h"

enum { KEY_HOSTFILE = 0x1000, KEY_DNS, KEY_PODS, KEY_SLOTS, KEY_SERVER, KEY_DIALECT };
enum { KEY_AUTO = 0x1100, KEY_LOCAL, KEY_MEMBERS };

static const struct argp_option options[] = {
    {"auto", KEY_AUTO, NULL, 0,
     "Members as the system that made this pod says: LeaderWorkerSet, JobSet, MPIJob, "
     "... "
     "(the default, which takes this machine alone when there is none)",
     1},
    {"local", KEY_LOCAL, NULL, 0, "This machine alone, whatever pod it is", 1},
    {"hostfile", KEY_HOSTFILE, "FILE", 0, "Members from a hostfile (name slots=N)", 1},
    {"machinefile", KEY_HOSTFILE, NULL, OPTION_ALIAS, NULL, 1},
    {"dialect", KEY_DIALECT, "NAME", 0,
     "How the hostfile is written: auto (the default), openmpi, prrte, hydra, intel, "
     "deepspeed, horovod, slurm, plain; see muster hostfile --help",
     1},
    {"host", 'H', "LIST", 0, "Members from a list: a:2,b:2,[fd00::5]:4", 1},
    {"dns", KEY_DNS, "SERVICE", 0, "Members: the pods of a headless Service", 1},
    {"pods", KEY_PODS, "RANGE", 0, "Members by pod name: train-[0-3].train", 1},
    {"slots", KEY_SLOTS, "N", 0, "Slots of members without a count of their own", 1},
    {"members", KEY_MEMBERS, "M", 0,
     "The group has M members (--dns: how many to wait for; an Indexed Job or a "
     "StatefulSet does not tell)",
     1},
    {"dns-server", KEY_SERVER, "ADDR[:PORT]", 0,
     "Ask this DNS server instead of those of resolv.conf", 1},
    {0},
};

void source_opts_init(struct source_opts *opts)
{
    *opts = (struct source_opts){.spec = {.kind = SOURCE_LOCAL, .slots = -1}};
}

void source_opts_free(struct source_opts *opts)
{
    detected_free(&opts->found);
}

static const char *or_nothing(const char *text)
{
    return text != NULL ? text : "";
}

// text: NULL for an option without a value.
static void take_source(struct source_opts *o, enum source_kind kind,
                        const char *option, const char *text, struct argp_state *state)
{
    if (o->option != NULL && (text != NULL || strcmp(o->option, option) != 0))
        argp_error(state,
                   "%s%s%s and %s%s%s: the members come from one source; give one of "
                   "the two",
                   o->option, o->spec.text != NULL ? " " : "", or_nothing(o->spec.text),
                   option, text != NULL ? " " : "", or_nothing(text));
    if (text != NULL && text[0] == '\0')
        argp_error(state, "%s has an empty value", option);
    o->option = option;
    o->spec.kind = kind;
    o->spec.text = text;
}

static void take_dialect(struct source_opts *o, const char *name,
                         struct argp_state *state)
{
    ERR_AUTO err = ERR_INIT;
    o->spec.dialect = dialect_find(name, "--dialect", false, &err);
    if (o->spec.dialect == NULL)
        argp_error(state, "%s", err_text(&err));
}

// A whole number; what is none is the end.
static long number(const char *option, const char *arg, long least, long most,
                   struct argp_state *state)
{
    long n = hostword_number(arg, strlen(arg), most);
    if (n < least)
        argp_error(state, "%s is '%s', not a whole number from %ld to %ld", option, arg,
                   least, most);
    return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct source_opts *o = state->input;
    switch (key) {
    case KEY_AUTO:
        take_source(o, SOURCE_LOCAL, "--auto", NULL, state);
        o->wants_group = true;
        return 0;
    case KEY_LOCAL: take_source(o, SOURCE_LOCAL, "--local", NULL, state); return 0;
    case KEY_HOSTFILE:
        take_source(o, SOURCE_HOSTFILE, "--hostfile", arg, state);
        return 0;
    case 'H': take_source(o, SOURCE_HOSTS, "--host", arg, state); return 0;
    case KEY_DNS: take_source(o, SOURCE_DNS, "--dns", arg, state); return 0;
    case KEY_PODS: take_source(o, SOURCE_PODS, "--pods", arg, state); return 0;
    case KEY_SERVER: o->spec.dns_servers = arg; return 0;
    case KEY_DIALECT: take_dialect(o, arg, state); return 0;
    case KEY_SLOTS:
        o->spec.slots = (int)number("--slots", arg, 0, HOSTWORD_SLOTS_MAX, state);
        return 0;
    case KEY_MEMBERS:
        o->members = (uint32_t)number("--members", arg, 1, DETECT_MEMBERS_MAX, state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *source_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}

// ---- what no option says ----------------------------------------------------------

static bool in_kubernetes(void)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    return host != NULL && host[0] != '\0';
}

static void add_remedy(const char *how, bool needs_group, struct err *err)
{
    CLEANUP_FREE char *text = xstrdup(err_text(err));
    err_set(err, "%s; %s the source with --hostfile, --host, --dns or --pods%s", text,
            how, needs_group ? "" : ", or give --local for this machine alone");
}

// What was found, but for what options say.
static void take_found(struct source_opts *o)
{
    const struct source_spec *found = &o->found.spec;
    o->spec.kind = found->kind;
    o->spec.text = found->text;
    if (o->spec.dialect == NULL)
        o->spec.dialect = found->dialect;
    if (o->spec.slots < 0)
        o->spec.slots = found->slots;
    if (o->members == 0)
        o->members = o->found.members;
}

static int find_source(struct source_opts *o, bool needs_group, struct err *err)
{
    CLEANUP_FREE char *self = hostname_own();
    const struct detect_view view = {.env = environ, .root = "", .hostname = self};
    bool wanted = needs_group || o->wants_group;
    if (detect(&view, o->members, wanted, &o->found, err) < 0) {
        add_remedy("or name", needs_group, err);
        return -1;
    }
    if (o->found.system != NULL) {
        take_found(o);
        return 0;
    }
    if (!wanted)
        return 0;
    err_set(err,
            "%s: nothing here says which group this is: neither LeaderWorkerSet, "
            "JobSet, Indexed Job, StatefulSet, MPIJob, TrainJob, Volcano Job nor "
            "/job/hostfile",
            o->wants_group ? "--auto" : "no source");
    add_remedy("name", needs_group, err);
    return -1;
}

int source_opts_settle(struct source_opts *o, bool needs_group, struct err *err)
{
    if (needs_group && o->option != NULL && strcmp(o->option, "--local") == 0) {
        err_set(err, "--local: this machine alone is no group");
        return -1;
    }
    if ((o->option == NULL || o->wants_group) && find_source(o, needs_group, err) < 0)
        return -1;
    if (o->spec.dialect == NULL || o->spec.kind == SOURCE_HOSTFILE)
        return 0;
    err_set(err,
            "--dialect says how a hostfile is written, but there is no --hostfile");
    return -1;
}

char *source_opts_line(const struct source_opts *o)
{
    if (o->option != NULL && !o->wants_group)
        return NULL;
    if (o->found.system != NULL) {
        CLEANUP_FREE char *found = detected_describe(&o->found);
        return xasprintf("source: %s", found);
    }
    if (o->found.hint != NULL)
        return xasprintf("source: this machine; %s", o->found.hint);
    return in_kubernetes() ? xstrdup("source: this machine; nothing says that this pod "
                                     "is one of a group")
                           : NULL;
}
