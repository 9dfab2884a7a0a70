// The table of dialects, and reading and writing by it.
#include "hostfile/dialect.h"

#include <string.h>

#include "common/mem.h"
#include "hostfile/deepspeed.h"
#include "hostfile/dialect_impl.h"
#include "hostfile/horovod.h"
#include "hostfile/hydra.h"
#include "hostfile/jsonform.h"
#include "hostfile/linekeys.h"
#include "hostfile/openmpi.h"
#include "hostfile/plainlist.h"
#include "hostfile/slurm.h"

// ---- the table ------------------------------------------------------------------

static const struct gather_rules rules_auto = {
    .tool = "Muster",
    .forms = GATHER_USER | GATHER_COLON | GATHER_COMMA | GATHER_RANGE | GATHER_CARET,
    .keys = LINEKEYS_OPENMPI | LINEKEYS_USER,
    .repeat = GATHER_COUNT_BARE,
    .bare = -1,
};

const struct dialect *dialect_auto(void)
{
    static const struct dialect d = {
        .name = "auto",
        .help = "The forms of all dialects where none contradicts; the default",
        .rules = &rules_auto,
    };
    return &d;
}

static const struct gather_rules rules_filter = {
    .tool = "Muster",
    .forms = GATHER_USER | GATHER_COLON | GATHER_COMMA | GATHER_RANGE | GATHER_RELATIVE,
    .keys = LINEKEYS_OPENMPI | LINEKEYS_USER,
    .repeat = GATHER_COUNT_BARE,
    .bare = -1,
    .instead = "a list that chooses holds names, +nK and +e",
};

const struct dialect *dialect_filter(void)
{
    static const struct dialect d = {.name = "filter", .rules = &rules_filter};
    return &d;
}

static const struct dialect *(*const table[])(void) = {
    dialect_auto,      openmpi_dialect,   openmpi_prrte,   hydra_dialect,
    hydra_intel,       deepspeed_dialect, horovod_dialect, slurm_dialect,
    plainlist_dialect, jsonform_dialect,
};
enum { NDIALECTS = sizeof table / sizeof *table };

static bool fits(const struct dialect *d, bool writes)
{
    return writes ? d->write != NULL : d->rules != NULL;
}

static bool is_called(const struct dialect *d, const char *name)
{
    return strcmp(d->name, name) == 0 ||
           (d->alias != NULL && strcmp(d->alias, name) == 0);
}

const struct dialect *dialect_find(const char *name, const char *option, bool writes,
                                   struct err *err)
{
    BUF_AUTO all = BUF_INIT;
    for (size_t i = 0; i < NDIALECTS; i++) {
        const struct dialect *d = table[i]();
        if (fits(d, writes) && is_called(d, name))
            return d;
        if (fits(d, writes))
            buf_printf(&all, "%s%s", buf_len(&all) > 0 ? ", " : "", d->name);
    }
    CLEANUP_FREE char *names = buf_steal_str(&all);
    err_set(err, "%s is '%s', not a dialect that can be %s: %s", option, name,
            writes ? "written" : "read", names);
    return NULL;
}

const char *dialect_name(const struct dialect *d)
{
    return d->name;
}

void dialect_list(FILE *out)
{
    for (size_t i = 0; i < NDIALECTS; i++)
        fprintf(out, "  %-10s %s\n", table[i]()->name, table[i]()->help);
}

// ---- reading ----------------------------------------------------------------------

// Which dialect has just these forms.
static const struct dialect *recognize(unsigned seen)
{
    const unsigned list = GATHER_COMMA | GATHER_RANGE;
    seen &= ~(unsigned)GATHER_USER;
    if ((seen & (list | GATHER_COLON)) == 0 &&
        (seen & (GATHER_SLOTS | GATHER_CARET | GATHER_AGAIN)) != 0)
        return (seen & GATHER_CARET) != 0 ? openmpi_prrte() : openmpi_dialect();
    if (seen == GATHER_COLON)
        return hydra_dialect();
    if (seen == (GATHER_COLON | GATHER_COMMA))
        return horovod_dialect();
    if (seen == GATHER_BARE)
        return plainlist_dialect();
    if ((seen & ~list) == GATHER_BARE)
        return slurm_dialect();
    return dialect_auto();
}

static int read_lines(struct gather *g, const char *text, size_t len, const char *file,
                      struct err *err)
{
    struct textlines lines = textlines_start(text, len, file, gather_warnings(g));
    struct textline line;
    int rc;
    while ((rc = textlines_next(&lines, &line, err)) > 0)
        if (gather_line(g, &line, err) < 0)
            return -1;
    return rc;
}

int dialect_read(const struct dialect *d, const char *text, size_t len,
                 const char *file, const char *self, struct members *out,
                 const struct dialect **as, struct err *err)
{
    struct gather *g = gather_create(file, d->rules);
    int rc = read_lines(g, text, len, file, err);
    if (rc == 0)
        rc = gather_finish(g, self, out, err);
    if (rc == 0 && as != NULL)
        *as = d == dialect_auto() ? recognize(gather_seen(g)) : d;
    gather_destroy(g);
    return rc;
}

int dialect_words(const struct dialect *d, const char *text, size_t len,
                  const char *file, struct gather_words *words, struct err *err)
{
    struct gather *g = gather_create(file, d->rules);
    gather_watch(g, words);
    int rc = read_lines(g, text, len, file, err);
    gather_destroy(g);
    return rc;
}

// ---- writing ----------------------------------------------------------------------

void dialect_put_name(const struct member *m, bool user, struct buf *out)
{
    if (user && m->user != NULL) {
        buf_append_str(out, m->user);
        buf_append_str(out, "@");
    }
    buf_append_str(out, m->name);
    if (m->absolute)
        buf_append_str(out, ".");
}

static bool has(const struct member *m, unsigned loss)
{
    switch (loss) {
    case LOSS_SLOTS: return m->slots >= 0;
    case LOSS_MAX_SLOTS: return m->max_slots >= 0;
    case LOSS_USER: return m->user != NULL;
    case LOSS_PORT: return m->port >= 0;
    default: return m->slots < 0;
    }
}

void dialect_tell_losses(const struct members *m, unsigned losses,
                         struct strv *warnings)
{
    static const char *const what[] = {"counts", "max_slots", "users", "ports"};
    for (unsigned i = 0; i < 5; i++) {
        size_t n = 0, first = 0;
        for (size_t k = m->n; (losses & 1U << i) != 0 && k-- > 0;) {
            n += has(&m->v[k], 1U << i) ? 1 : 0;
            first = has(&m->v[k], 1U << i) ? k : first;
        }
        if (n > 0 && 1U << i == LOSS_NO_SLOTS)
            strv_addf(warnings,
                      "%s (of %zu members) has no count, which will be read as 1",
                      m->v[first].name, n);
        else if (n > 0)
            strv_addf(
                warnings,
                "the dialect has no place for %s: left out at %s (of %zu members)",
                what[i], m->v[first].name, n);
    }
}

// The members with each name once, for dialects that know no repeats.
static int write_merged(const struct dialect *d, const struct members *m,
                        struct buf *out, struct strv *warnings, struct err *err)
{
    MEMBERS_AUTO each = MEMBERS_INIT;
    members_copy(&each, m);
    strv_free(&each.warnings);
    if (members_merge(&each, d->name, err) < 0)
        return -1;
    strv_add_all(warnings, each.warnings.v, each.warnings.n);
    return d->write(&each, out, warnings, err);
}

// Only JSON says which slots a filter has chosen.
static void tell_of_slot_ids(const struct members *m, struct strv *warnings)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].slot_ids != NULL) {
            strv_addf(
                warnings,
                "the dialect has no place for which slots are meant (%s:%s): only "
                "their number is written",
                m->v[i].name, m->v[i].slot_ids);
            return;
        }
}

int dialect_write(const struct dialect *d, const struct members *m, struct buf *out,
                  struct strv *warnings, struct err *err)
{
    size_t before = buf_len(out);
    bool merges = d->rules != NULL && (d->rules->repeat == GATHER_COUNT_BARE ||
                                       d->rules->repeat == GATHER_REFUSE);
    int rc = merges ? write_merged(d, m, out, warnings, err)
                    : d->write(m, out, warnings, err);
    if (rc < 0)
        out->end = out->start + before;
    else if (d != jsonform_dialect())
        tell_of_slot_ids(m, warnings);
    return rc;
}
