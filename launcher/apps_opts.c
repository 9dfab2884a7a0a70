// argp reads the options of the first program among those of the run, and those of each
// further one by themselves.
#include "launcher/apps_opts.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/opt_number.h"
#include "launcher/map.h"
#include "wire/placeholders.h"

enum { KEY_WDIR = 0x3100, KEY_ROLE, KEY_GRID, KEY_SPARES };

static const struct argp_option options[] = {
    {NULL, 'n', "N", 0, "Number of ranks (default: one for each slot)", 2},
    {"np", 'n', NULL, OPTION_ALIAS, NULL, 2},
    {"grid", KEY_GRID, "tp=T,pp=P,dp=D", 0,
     "Tensor, pipeline and data parallel ranks, the fastest axis first", 2},
    {NULL, 'x', "NAME[=VALUE]", 0,
     "Set NAME for the ranks; without a value: as it is here", 3},
    {"wdir", KEY_WDIR, "DIR", 0,
     "Working directory of the ranks (default: the agent's)", 3},
    {"spares", KEY_SPARES, "K", 0,
     "The last K members get no ranks: a restart puts them in the place of lost ones "
     "(default: 0)",
     4},
    {0, 0, 0, 0, "Roles, such as prefill and decode:", 7}, // further ones: roles_opts.c
    {"role", KEY_ROLE, "NAME", 0,
     "The program is a role with members and a world of its own", 7},
    {0},
};

void apps_opts_init(struct apps_opts *a)
{
    *a = (struct apps_opts){.v = xcalloc(1, sizeof *a->v), .n = 1};
}

void apps_opts_free(struct apps_opts *a)
{
    for (size_t i = 0; i < a->n; i++) {
        strv_free(&a->v[i].env);
        strv_free(&a->v[i].here);
    }
    free(a->v);
    *a = (struct apps_opts){0};
}

static struct app_opts *newest(struct apps_opts *a)
{
    return &a->v[a->n - 1];
}

// ---- options ----------------------------------------------------------------

static void set_here(struct app_opts *app, const char *name, const char *value)
{
    strv_setenv(&app->env, name, value);
    strv_setenv(&app->here, name, "");
}

static void set_value(struct app_opts *app, const char *entry)
{
    CLEANUP_FREE char *name = xstrndup(entry, strcspn(entry, "="));
    strv_putenv(&app->env, entry);
    strv_unsetenv(&app->here, name);
}

static void forward(struct argp_state *state, struct app_opts *app, const char *text)
{
    if (text[0] == '=' || text[0] == '\0')
        argp_error(state, "-x %s: the name is empty", text);
    if (strchr(text, '=') != NULL) {
        set_value(app, text);
        return;
    }
    const char *value = getenv(text), *comma = strchr(text, ',');
    if (value == NULL && comma != NULL)
        argp_error(state, "-x %s: one name each, such as -x %.*s -x %s", text,
                   (int)(comma - text), text, comma + 1);
    else if (value == NULL)
        argp_error(state, "-x %s: not set in this environment; give -x %s=VALUE", text,
                   text);
    else
        set_here(app, text, value);
}

// "": none, where the first program has one (cmd_roles.c).
static void take_grid(struct argp_state *state, struct app_opts *app, const char *text)
{
    ERR_AUTO err = ERR_INIT;
    app->has_grid = text[0] != '\0';
    if (app->has_grid && grid_parse(text, &app->grid, &err) < 0)
        argp_error(state, "--grid %s: %s", text, err_text(&err));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct app_opts *app = newest(state->input);
    switch (key) {
    case 'n': app->ranks = opt_number(state, "-n", arg, 1, MAP_RANKS_MAX); return 0;
    case 'x': forward(state, app, arg); return 0;
    case KEY_WDIR: app->wdir = arg; return 0;
    case KEY_ROLE: app->role = arg; return 0;
    case KEY_GRID: take_grid(state, app, arg); return 0;
    case KEY_SPARES:
        app->spares = opt_number(state, "--spares", arg, 0, UINT16_MAX);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp *apps_opts_argp(void)
{
    static const struct argp argp = {.options = options, .parser = parse};
    return &argp;
}

// ---- further programs -------------------------------------------------------

// Where the program begins behind its options.
static error_t parse_further(int key, char *arg, struct argp_state *state)
{
    struct app_opts *app = newest(state->input);
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = state->input; return 0;
    case ARGP_KEY_ARG:
        app->argv = &state->argv[state->next - 1];
        app->argc = (size_t)state->argc - (size_t)state->next + 1;
        app->words = &state->argv[1];
        app->nwords = (size_t)state->next - 2;
        if (state->quoted > 0 && app->nwords > 0)
            app->nwords--; // the "--": what is made of these puts its own
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which program follows ':'?"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// The words of one program, behind a ':' that words[0] is.
static void take_further(struct apps_opts *a, char *name, char **words, int n)
{
    const struct argp_child children[] = {
        {apps_opts_argp(), 0, "Options of a program behind ':':", 0}, {0}};
    const struct argp argp = {
        .parser = parse_further, .args_doc = "PROGRAM [ARG...]", .children = children};
    a->v = xrealloc(a->v, a->n + 1, sizeof *a->v);
    a->v[a->n++] = (struct app_opts){0};
    char *colon = words[0];
    words[0] = name; // whose errors these are
    argp_parse(&argp, n, words, ARGP_IN_ORDER | ARGP_LONG_ONLY, NULL, a);
    words[0] = colon;
}

static int next_colon(char **words, int from, int n)
{
    while (from < n && strcmp(words[from], ":") != 0)
        from++;
    return from;
}

void apps_opts_take(struct apps_opts *a, struct argp_state *state, char **words, int n,
                    bool whole)
{
    int end = whole ? n : next_colon(words, 1, n);
    a->v[0].argv = words;
    a->v[0].argc = (size_t)end;
    while (end < n) {
        int from = end;
        end = next_colon(words, from + 1, n);
        take_further(a, state->name, words + from, end - from);
    }
}

// ---- settling ---------------------------------------------------------------

bool apps_opts_have_spares(const struct apps_opts *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].spares > 0)
            return true;
    return false;
}

int apps_opts_settle(struct apps_opts *a, uint32_t *ranks, struct err *err)
{
    size_t open = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < a->n; i++) {
        open += a->v[i].ranks == 0 ? 1 : 0;
        sum += a->v[i].ranks;
    }
    *ranks = open > 0 ? 0 : (uint32_t)sum;
    if (open <= 1 && sum <= MAP_RANKS_MAX)
        return 0;
    if (open > 1)
        err_set(
            err,
            "%zu of %zu programs have no -n: one of them can take the ranks that are "
            "left over, the others need a number",
            open, a->n);
    else
        err_set(err, "the programs' -n are %llu ranks: at most %d",
                (unsigned long long)sum, MAP_RANKS_MAX);
    return -1;
}

// Values that come from here; all others are checked.
static int settle_env(struct app_opts *app, struct err *err)
{
    for (size_t i = 0; i < app->env.n; i++) {
        char *entry = app->env.v[i];
        size_t len = strcspn(entry, "=");
        CLEANUP_FREE char *name = xstrndup(entry, len);
        if (strv_getenv(&app->here, name) != NULL) {
            app->env.v[i] = placeholders_escape(entry);
            free(entry);
        } else if (placeholders_check(entry, err) < 0) {
            err_prefix(err, "-x %s", entry);
            return -1;
        }
    }
    return 0;
}

int apps_opts_settle_texts(struct apps_opts *a, struct err *err)
{
    for (size_t i = 0; i < a->n; i++) {
        struct app_opts *app = &a->v[i];
        for (size_t k = 1; k < app->argc; k++) {
            if (placeholders_check(app->argv[k], err) == 0)
                continue;
            err_prefix(err, "argument %zu of %s, '%s'", k, app->argv[0], app->argv[k]);
            return -1;
        }
        if (settle_env(app, err) < 0)
            return -1;
    }
    return 0;
}

int apps_opts_share(const struct apps_opts *a, uint32_t total, uint32_t *out,
                    struct err *err)
{
    uint64_t said = 0;
    for (size_t i = 0; i < a->n; i++)
        said += a->v[i].ranks;
    for (size_t i = 0; i < a->n; i++) {
        out[i] = a->v[i].ranks;
        if (out[i] > 0)
            continue;
        if (said >= total) {
            err_set(err,
                    "no rank is left for %s: there are %u, and the other programs' -n "
                    "are %llu; give it an -n, or more slots",
                    a->v[i].argv[0], total, (unsigned long long)said);
            return -1;
        }
        out[i] = total - (uint32_t)said;
    }
    return 0;
}
