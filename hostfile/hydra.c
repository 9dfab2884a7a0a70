// MPICH's Hydra and Intel MPI.
#include "hostfile/hydra.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "hostfile/dialect_impl.h"
#include "hostfile/linekeys.h"

static const struct gather_rules rules_hydra = {
    .tool = "Hydra",
    .forms = GATHER_COLON,
    .keys = LINEKEYS_USER | LINEKEYS_BINDING,
    .repeat = GATHER_ADJACENT,
    .bare = 1,
    .instead = "write one NAME:N a line (dialect auto takes more forms)",
};

static const struct gather_rules rules_intel = {
    .tool = "Intel MPI",
    .forms = GATHER_COLON,
    .keys = LINEKEYS_USER | LINEKEYS_BINDING,
    .repeat = GATHER_ADJACENT,
    .bare = -1,
    .instead = "write one NAME:N a line (dialect auto takes more forms)",
};

static bool same_user(const struct member *a, const struct member *b)
{
    return (a->user == NULL) == (b->user == NULL) &&
           (a->user == NULL || strcmp(a->user, b->user) == 0);
}

// What Hydra would read as something else.
static int check(const struct member *m, const struct member *before, struct err *err)
{
    const char *why = NULL;
    if (m->addr.ss_family == AF_INET6)
        why = "Hydra cuts an IPv6 address at its first ':': give it a name in "
              "/etc/hosts and list that";
    else if (before != NULL && strcasecmp(m->name, before->name) == 0 &&
             !same_user(m, before))
        why = "Hydra takes two lines of one host as one, but their users differ";
    if (why != NULL)
        err_set_kind(err, "HF_CANNOT_WRITE", 0, "HF_CANNOT_WRITE: %s: %s", m->name,
                     why);
    return why != NULL ? -1 : 0;
}

static int write_lines(const struct members *m, struct buf *out, struct strv *warnings,
                       struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct member *one = &m->v[i];
        if (check(one, i > 0 ? &m->v[i - 1] : NULL, err) < 0)
            return -1;
        dialect_put_name(one, false, out);
        if (one->slots >= 0)
            buf_printf(out, ":%d", one->slots);
        if (one->user != NULL)
            buf_printf(out, " user=%s", one->user);
        buf_append_str(out, "\n");
    }
    dialect_tell_losses(m, LOSS_MAX_SLOTS | LOSS_PORT, warnings);
    return 0;
}

static int write_hydra(const struct members *m, struct buf *out, struct strv *warnings,
                       struct err *err)
{
    if (write_lines(m, out, warnings, err) < 0)
        return -1;
    dialect_tell_losses(m, LOSS_NO_SLOTS, warnings);
    return 0;
}

const struct dialect *hydra_dialect(void)
{
    static const struct dialect d = {
        .name = "hydra",
        .alias = "mpich",
        .help = "MPICH: NAME:N user=U; a bare NAME has 1 slot",
        .rules = &rules_hydra,
        .write = write_hydra,
    };
    return &d;
}

const struct dialect *hydra_intel(void)
{
    static const struct dialect d = {
        .name = "intel",
        .alias = "impi",
        .help = "Intel MPI: NAME:N; a bare NAME has as many slots as cores",
        .rules = &rules_intel,
        .write = write_lines,
    };
    return &d;
}
