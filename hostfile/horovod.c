// Horovod.
#include "hostfile/horovod.h"

#include <sys/socket.h>

#include "hostfile/dialect_impl.h"
#include "hostfile/linekeys.h"

static const struct gather_rules rules = {
    .tool = "Horovod",
    .forms = GATHER_COLON | GATHER_COMMA,
    .keys = LINEKEYS_SLOTS,
    .repeat = GATHER_KEEP,
    .bare = 1,
    .instead = "write NAME:N,NAME:N or lines of NAME slots=N",
};

static int write_list(const struct members *m, struct buf *out, struct strv *warnings,
                      struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct member *one = &m->v[i];
        if (one->addr.ss_family == AF_INET6) {
            err_set_kind(
                err, "HF_CANNOT_WRITE", 0,
                "HF_CANNOT_WRITE: Horovod refuses the IPv6 address %s: give it "
                "a name in /etc/hosts and list that",
                one->name);
            return -1;
        }
        buf_append_str(out, i > 0 ? "," : "");
        dialect_put_name(one, false, out);
        buf_printf(out, ":%d", one->slots >= 0 ? one->slots : 1);
    }
    buf_append_str(out, "\n");
    dialect_tell_losses(m, LOSS_NO_SLOTS | LOSS_MAX_SLOTS | LOSS_PORT | LOSS_USER,
                        warnings);
    return 0;
}

const struct dialect *horovod_dialect(void)
{
    static const struct dialect d = {
        .name = "horovod",
        .help = "Horovod -H: NAME:N,NAME:N",
        .rules = &rules,
        .write = write_list,
    };
    return &d;
}
