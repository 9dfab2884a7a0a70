// Keys and ways for the children of an inner vertex.
#include "agent/inner.h"

#include "common/mem.h"
#include "common/proc.h"
#include "wire/keyring.h"
#include "wire/via.h"

static int read_keys(struct inner *in, const Muster__Attach *a, struct log *log,
                     struct err *err)
{
    in->own = keyring_load(a->via->key_dir, log, err);
    in->keys = in->own;
    if (in->own == NULL)
        err_prefix(err, "an inner member of the tree needs the group's key to dial on "
                        "(--fanout N with N >= members needs none)");
    return in->own != NULL ? 0 : -1;
}

static int make_via(struct inner *in, const Muster__Attach *a, struct err *err)
{
    CLEANUP_FREE char *self = proc_self();
    in->via = via_create(a->via, self, err);
    return in->via != NULL ? 0 : -1;
}

int inner_open(struct inner *in, const Muster__Attach *a, const struct keyring *keys,
               struct log *log, struct err *err)
{
    *in = (struct inner){.keys = keys};
    if (a->via == NULL)
        return 0;
    if ((keys != NULL || read_keys(in, a, log, err) == 0) && make_via(in, a, err) == 0)
        return 0;
    inner_close(in);
    return -1;
}

void inner_close(struct inner *in)
{
    via_destroy(in->via);
    keyring_destroy(in->own);
    *in = (struct inner){0};
}
