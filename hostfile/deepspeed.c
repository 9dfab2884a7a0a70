// DeepSpeed.
#include "hostfile/deepspeed.h"

#include "hostfile/dialect_impl.h"
#include "hostfile/linekeys.h"

// DeepSpeed passes over whatever follows slots=N; here it is refused.
static const struct gather_rules rules = {
    .tool = "DeepSpeed",
    .forms = GATHER_USER | GATHER_COUNTED,
    .keys = LINEKEYS_SLOTS,
    .repeat = GATHER_REFUSE,
    .bare = -1,
    .instead = "each line is NAME slots=N (dialect auto takes more forms)",
};

static int write_lines(const struct members *m, struct buf *out, struct strv *warnings,
                       struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct member *one = &m->v[i];
        if (one->slots < 0) {
            err_set_kind(err, "HF_CANNOT_WRITE", 0,
                         "HF_CANNOT_WRITE: %s has no count, and DeepSpeed needs one: "
                         "give --slots N for members without",
                         one->name);
            return -1;
        }
        dialect_put_name(one, true, out);
        buf_printf(out, " slots=%d\n", one->slots);
    }
    dialect_tell_losses(m, LOSS_MAX_SLOTS | LOSS_PORT, warnings);
    return 0;
}

const struct dialect *deepspeed_dialect(void)
{
    static const struct dialect d = {
        .name = "deepspeed",
        .help = "DeepSpeed: NAME slots=N, each host once",
        .rules = &rules,
        .write = write_lines,
    };
    return &d;
}
