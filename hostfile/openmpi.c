// Open MPI and PRRTE.
#include "hostfile/openmpi.h"

#include "hostfile/dialect_impl.h"
#include "hostfile/linekeys.h"

// Both pass over ":8" without a word and take "a,b" as one name; 4.1 stops at '^' and
// maps on what it has read so far.
static const struct gather_rules rules_openmpi = {
    .tool = "Open MPI 4.1",
    .forms = GATHER_USER,
    .keys = LINEKEYS_OPENMPI,
    .repeat = GATHER_COUNT_BARE,
    .bare = -1,
    .instead = "write one name a line, then slots=N (dialect auto takes more forms)",
};

static const struct gather_rules rules_prrte = {
    .tool = "PRRTE",
    .forms = GATHER_USER | GATHER_CARET,
    .keys = LINEKEYS_OPENMPI,
    .repeat = GATHER_COUNT_BARE,
    .bare = -1,
    .instead = "write one name a line, then slots=N (dialect auto takes more forms)",
};

static int write_lines(const struct members *m, struct buf *out, struct strv *warnings,
                       struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct member *one = &m->v[i];
        dialect_put_name(one, false, out);
        if (one->slots >= 0)
            buf_printf(out, " slots=%d", one->slots);
        if (one->max_slots >= 0)
            buf_printf(out, " max_slots=%d", one->max_slots);
        if (one->port >= 0)
            buf_printf(out, " port=%d", one->port);
        if (one->user != NULL)
            buf_printf(out, " username=%s", one->user);
        buf_append_str(out, "\n");
    }
    return 0;
}

const struct dialect *openmpi_dialect(void)
{
    static const struct dialect d = {
        .name = "openmpi",
        .alias = "ompi",
        .help = "Open MPI 4.1: NAME slots=N max_slots=M port=P",
        .rules = &rules_openmpi,
        .write = write_lines,
    };
    return &d;
}

const struct dialect *openmpi_prrte(void)
{
    static const struct dialect d = {
        .name = "prrte",
        .alias = "openmpi5",
        .help = "Open MPI 5 (PRRTE): as openmpi, and ^NAME leaves a host out",
        .rules = &rules_prrte,
        .write = write_lines,
    };
    return &d;
}
