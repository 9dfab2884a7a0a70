// Trusted host keys, in the format of known_hosts.
#include "wire/link_hostkeys.h"

#include <libssh/libssh.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"

enum { CONFIG_ERROR = 125, SSH_PORT = 22 };

struct link_hostkeys {
    enum link_hostkeys_mode mode;
    struct strv lines; // without blanks and comments
};

static int refuse(struct err *err, const char *file, size_t line, const char *why)
{
    err_set_kind(err, "HOST_KEYS", CONFIG_ERROR,
                 "--host-keys %s:%zu: %s; a line is NAMES TYPE BASE64, as `ssh-keyscan "
                 "-p PORT HOST` prints it",
                 file, line, why);
    return -1;
}

// NAMES TYPE BASE64 [COMMENT]
static int check(const char *line, const char *file, size_t number, struct err *err)
{
    CLEANUP_FREE char *copy = xstrdup(line);
    char *save = NULL;
    strtok_r(copy, " \t", &save);
    const char *type = strtok_r(NULL, " \t", &save);
    const char *data = strtok_r(NULL, " \t", &save);
    ssh_key key = NULL;
    if (line[0] == '@')
        return refuse(err, file, number, "markers such as @revoked are not supported");
    if (type == NULL || data == NULL)
        return refuse(err, file, number, "a word is missing");
    enum ssh_keytypes_e kind = ssh_key_type_from_name(type);
    if (kind == SSH_KEYTYPE_UNKNOWN)
        return refuse(err, file, number, "the second word is no key type");
    if (ssh_pki_import_pubkey_base64(data, kind, &key) != SSH_OK)
        return refuse(err, file, number, "the key is malformed");
    ssh_key_free(key);
    return 0;
}

struct link_hostkeys *link_hostkeys_create(enum link_hostkeys_mode mode,
                                           char *const *lines, size_t n,
                                           const char *file, struct err *err)
{
    struct link_hostkeys *h = xcalloc(1, sizeof *h);
    h->mode = mode;
    for (size_t i = 0; i < n; i++) {
        size_t blank = strspn(lines[i], " \t");
        size_t len = strcspn(lines[i] + blank, "\r\n");
        CLEANUP_FREE char *line = xstrndup(lines[i] + blank, len);
        if (len == 0 || line[0] == '#')
            continue;
        if (check(line, file, i + 1, err) < 0) {
            link_hostkeys_destroy(h);
            return NULL;
        }
        strv_add(&h->lines, line);
    }
    if (mode == LINK_HOSTKEYS_FILE && h->lines.n == 0) {
        err_set_kind(err, "HOST_KEYS", CONFIG_ERROR,
                     "--host-keys %s: holds no host key; fill it with `ssh-keyscan -p "
                     "PORT HOST`",
                     file);
        link_hostkeys_destroy(h);
        return NULL;
    }
    return h;
}

void link_hostkeys_destroy(struct link_hostkeys *h)
{
    if (h == NULL)
        return;
    strv_free(&h->lines);
    free(h);
}

enum link_hostkeys_mode link_hostkeys_mode(const struct link_hostkeys *h)
{
    return h->mode;
}

// The entry of a line when the line is about one of the names; NULL: it is not.
static struct ssh_knownhosts_entry *
entry_for(const char *line, const char *const *names, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++) {
        struct ssh_knownhosts_entry *entry = NULL;
        // Port 22 has no brackets in the file; any other always has.
        CLEANUP_FREE char *name =
            port == SSH_PORT ? xstrdup(names[i]) : xasprintf("[%s]:%u", names[i], port);
        if (ssh_known_hosts_parse_line(name, line, &entry) == SSH_OK)
            return entry;
    }
    return NULL;
}

bool link_hostkeys_trust(const struct link_hostkeys *h, const char *const *names,
                         size_t nnames, uint16_t port, struct ssh_key_struct *key)
{
    if (h->mode == LINK_HOSTKEYS_ANY)
        return true;
    for (size_t i = 0; i < h->lines.n; i++) {
        struct ssh_knownhosts_entry *e = entry_for(h->lines.v[i], names, nnames, port);
        bool same =
            e != NULL && ssh_key_cmp(e->publickey, key, SSH_KEY_CMP_PUBLIC) == 0;
        ssh_knownhosts_entry_free(e);
        if (same)
            return true;
    }
    return false;
}

char *link_hostkeys_types(const struct link_hostkeys *h, const char *const *names,
                          size_t nnames, uint16_t port)
{
    static const struct {
        enum ssh_keytypes_e type;
        const char *algorithms;
    } known[] = {
        {SSH_KEYTYPE_ED25519, "ssh-ed25519"},
        {SSH_KEYTYPE_ECDSA_P256, "ecdsa-sha2-nistp256"},
        {SSH_KEYTYPE_ECDSA_P384, "ecdsa-sha2-nistp384"},
        {SSH_KEYTYPE_ECDSA_P521, "ecdsa-sha2-nistp521"},
        {SSH_KEYTYPE_RSA, "rsa-sha2-512,rsa-sha2-256"},
    };
    enum { NKNOWN = sizeof known / sizeof *known };
    bool has[NKNOWN] = {false}, any = false;
    for (size_t i = 0; i < h->lines.n; i++) {
        struct ssh_knownhosts_entry *e = entry_for(h->lines.v[i], names, nnames, port);
        for (size_t k = 0; e != NULL && k < NKNOWN; k++)
            has[k] = has[k] || ssh_key_type(e->publickey) == known[k].type;
        any = any || e != NULL;
        ssh_knownhosts_entry_free(e);
    }
    BUF_AUTO list = BUF_INIT;
    for (int wanted = 1; any && wanted >= 0; wanted--)
        for (size_t k = 0; k < NKNOWN; k++)
            if (has[k] == (wanted == 1))
                buf_printf(&list, "%s%s", buf_len(&list) > 0 ? "," : "",
                           known[k].algorithms);
    return any ? buf_steal_str(&list) : NULL;
}
