// The options that name a source.
#include "hostfile/source_opts.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/dialect.h"
#include "hostfile/hostword.h"

enum { KEY_HOSTFILE = 0x1000, KEY_DNS, KEY_PODS, KEY_SLOTS, KEY_SERVER, KEY_DIALECT };

static const struct argp_option options[] = {
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
    {"dns-server", KEY_SERVER, "ADDR[:PORT]", 0,
     "Ask this DNS server instead of those of resolv.conf", 1},
    {0},
};

void source_opts_init(struct source_opts *opts)
{
    *opts = (struct source_opts){.spec = {.kind = SOURCE_LOCAL, .slots = -1}};
}

static void take_source(struct source_opts *o, enum source_kind kind,
                        const char *option, const char *text, struct argp_state *state)
{
    if (o->option != NULL)
        argp_error(
            state,
            "%s %s and %s %s: the members come from one source; give one of the two",
            o->option, o->spec.text, option, text);
    if (text[0] == '\0')
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

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct source_opts *o = state->input;
    switch (key) {
    case KEY_HOSTFILE:
        take_source(o, SOURCE_HOSTFILE, "--hostfile", arg, state);
        return 0;
    case 'H': take_source(o, SOURCE_HOSTS, "--host", arg, state); return 0;
    case KEY_DNS: take_source(o, SOURCE_DNS, "--dns", arg, state); return 0;
    case KEY_PODS: take_source(o, SOURCE_PODS, "--pods", arg, state); return 0;
    case KEY_SERVER: o->spec.dns_servers = arg; return 0;
    case KEY_DIALECT: take_dialect(o, arg, state); return 0;
    case KEY_SLOTS:
        o->spec.slots = (int)hostword_number(arg, strlen(arg), HOSTWORD_SLOTS_MAX);
        if (o->spec.slots < 0)
            argp_error(state, "--slots is '%s', not a whole number from 0 to %d", arg,
                       HOSTWORD_SLOTS_MAX);
        return 0;
    case ARGP_KEY_END:
        if (o->spec.dialect != NULL && o->spec.kind != SOURCE_HOSTFILE)
            argp_error(state,
                       "--dialect says how a hostfile is written, but there is no "
                       "--hostfile");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *source_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}
