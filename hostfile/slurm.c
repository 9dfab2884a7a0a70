// Slurm's and pdsh's host ranges.
#include "hostfile/slurm.h"

#include "hostfile/dialect_impl.h"
#include "hostfile/squeeze.h"

static const struct gather_rules rules = {
    .tool = "Slurm or pdsh",
    .forms = GATHER_USER | GATHER_COMMA | GATHER_RANGE | GATHER_WORDS,
    .repeat = GATHER_KEEP,
    .bare = -1,
    .instead = "a list holds names and ranges only",
};

static int write_ranges(const struct members *m, struct buf *out, struct strv *warnings,
                        struct err *err)
{
    STRV_AUTO names = STRV_INIT;
    for (size_t i = 0; i < m->n; i++)
        strv_addf(&names, "%s%s", m->v[i].name, m->v[i].absolute ? "." : "");
    squeeze(names.v, names.n, out);
    buf_append_str(out, "\n");
    dialect_tell_losses(m, LOSS_SLOTS | LOSS_MAX_SLOTS | LOSS_PORT | LOSS_USER,
                        warnings);
    return 0;
}

const struct dialect *slurm_dialect(void)
{
    static const struct dialect d = {
        .name = "slurm",
        .alias = "pdsh",
        .help = "Slurm, pdsh: node[01-16,20]-ib,login; no counts",
        .rules = &rules,
        .write = write_ranges,
    };
    return &d;
}
