// libFuzzer target for lists of keys: lines of known_hosts, and authorized_keys of a ring.
#include <libssh/libssh.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"
#include "demand.h"
#include "scratch.h"
#include "wire/keyring.h"
#include "wire/link_hostkeys.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { RING_EACH = 8 }; // a ring is slow to read: not every input is tried as one

static struct keyring *stranger; // whose key no input has

static void clean(void)
{
    keyring_destroy(stranger);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    ERR_AUTO err = ERR_INIT;
    demand(keyring_generate(scratch_dir(), &err) == 0, err_text(&err));
    atexit(clean);
    stranger = keyring_load(scratch_dir(), NULL, &err);
    demand(stranger != NULL, err_text(&err));
    return 0;
}

static void try_ring(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    free(scratch_put("authorized_keys", data, size));
    struct keyring *ring = keyring_load(scratch_dir(), NULL, &err);
    if (ring == NULL) {
        demand_error(&err);
        return;
    }
    demand(keyring_accepts(ring, keyring_private(ring, 0)), "its own key");
    keyring_destroy(ring);
}

static void try_known_hosts(const uint8_t *data, size_t size, ssh_key key)
{
    static const char *const names[] = {"train-1.train", "10.0.0.2"};
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO lines = STRV_INIT;
    CLEANUP_FREE char *text = xstrndup((const char *)data, size);
    strv_add_split(&lines, text, '\n');
    struct link_hostkeys *h =
        link_hostkeys_create(LINK_HOSTKEYS_FILE, lines.v, lines.n, "known", &err);
    if (h == NULL) {
        demand_error(&err);
        return;
    }
    demand(!link_hostkeys_trust(h, names, 2, 22, key), "a stranger's key is trusted");
    free(link_hostkeys_types(h, names, 2, 2222));
    link_hostkeys_destroy(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_known_hosts(data, size, keyring_private(stranger, 0));
    if (size % RING_EACH == 0)
        try_ring(data, size);
    return 0;
}
