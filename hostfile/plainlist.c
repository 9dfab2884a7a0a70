// Plain lists of names.
#include "hostfile/plainlist.h"

#include "hostfile/dialect_impl.h"

static const struct gather_rules rules = {
    .tool = "a plain list",
    .forms = GATHER_COMMA | GATHER_WORDS,
    .repeat = GATHER_REFUSE,
    .bare = -1,
    .instead = "it holds names only (dialect auto takes more forms)",
};

static int write_lines(const struct members *m, struct buf *out, struct strv *warnings,
                       struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        dialect_put_name(&m->v[i], false, out);
        buf_append_str(out, "\n");
    }
    dialect_tell_losses(m, LOSS_SLOTS | LOSS_MAX_SLOTS | LOSS_PORT | LOSS_USER,
                        warnings);
    return 0;
}

const struct dialect *plainlist_dialect(void)
{
    static const struct dialect d = {
        .name = "plain",
        .help = "Names only, each once",
        .rules = &rules,
        .write = write_lines,
    };
    return &d;
}
