// Reading the group's key ring from a directory.
#include "wire/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"

enum { KEY_FILE_MAX = 64 * 1024, PRIVATE_MAX = 2, CONFIG_ERROR = 125 };

struct keyring {
    ssh_key private[PRIVATE_MAX]; // current, then previous
    size_t privates;
    ssh_key *accepted; // further public keys
    size_t naccepted;
    char *fingerprint;
    char *hostkey_types;
};

// A directory that is being read, with its name for texts.
struct source {
    int fd; // of the version that "..data" points to, in a Secret volume
    const char *dir;
    struct log *log;
};

static void fail(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    err_set_kind(err, "KEYRING", CONFIG_ERROR, "%s", text);
}

static int source_open(struct source *s, const char *dir, struct log *log,
                       struct err *err)
{
    *s = (struct source){.dir = dir, .log = log};
    CLEANUP_CLOSE int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) {
        fail(err,
             "key ring %s: %s; mount the group's Secret there, name another place "
             "(--key DIR, MUSTER_KEY_DIR), or make a ring with `muster keygen %s`",
             dir, strerror(errno), dir);
        return -1;
    }
    s->fd = openat(top, "..data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->fd < 0)
        s->fd = mem_steal_fd(&top);
    return 0;
}

// The whole file. Returns -1 with err, or with errno ENOENT and no err set.
static int read_file(const struct source *s, const char *name, struct buf *text,
                     struct stat *st, struct err *err)
{
    CLEANUP_CLOSE int fd = openat(s->fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *st = (struct stat){0};
    if (fd < 0 && errno == ENOENT)
        return -1;
    int why = fd < 0 || fstat(fd, st) < 0 ? errno : 0;
    if (why == 0 && !S_ISREG(st->st_mode))
        why = S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
    ssize_t n = 0;
    while (why == 0 && buf_len(text) <= KEY_FILE_MAX) {
        n = read(fd, buf_reserve(text, 4096), 4096);
        if (n <= 0)
            break;
        buf_commit(text, (size_t)n);
    }
    why = n < 0 ? errno : why;
    if (why != 0)
        fail(err, "key file %s/%s: cannot be read: %s%s", s->dir, name, strerror(why),
             why == EACCES ? " (it must belong to the user that runs this program)"
                           : "");
    else if (buf_len(text) > KEY_FILE_MAX)
        fail(err, "key file %s/%s: bigger than %d bytes, this is no key", s->dir, name,
             KEY_FILE_MAX);
    else
        return 0;
    errno = EIO;
    return -1;
}

// A private key that others can read is none, unless nobody can change its mode.
static int check_mode(const struct source *s, const char *name, const struct stat *st,
                      struct err *err)
{
    unsigned mode = st->st_mode & 07777;
    struct statvfs fs;
    if ((mode & 077) == 0)
        return 0;
    if (fstatvfs(s->fd, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0) {
        if ((mode & 037) == 0)
            return 0; // what kubelet makes of defaultMode 0400 for a pod with an fsGroup
        log_warn(s->log,
                 "key file %s/%s: mode %04o lets group or others read the private key; "
                 "the mount is read-only, so it is used: set defaultMode: 0400 in the "
                 "Secret volume",
                 s->dir, name, mode);
        return 0;
    }
    fail(err,
         "key file %s/%s: mode %04o lets group or others read the private key; run "
         "`chmod 600 %s/%s`",
         s->dir, name, mode, s->dir, name);
    return -1;
}

// libssh calls this only for a key that wants a passphrase.
static int on_passphrase(const char *prompt, char *out, size_t len, int echo,
                         int verify, void *wanted)
{
    *(bool *)wanted = true;
    return -1;
}

// Some formats (Ed25519 in PKCS#8) are read but cannot be used: find that out now.
static bool usable(ssh_key key)
{
    ssh_key public = NULL;
    char *text = NULL;
    bool ok = ssh_pki_export_privkey_to_pubkey(key, &public) == SSH_OK &&
              ssh_pki_export_pubkey_base64(public, &text) == SSH_OK;
    ssh_string_free_char(text);
    ssh_key_free(public);
    return ok;
}

static ssh_key parse_private(const struct source *s, const char *name, struct buf *text,
                             struct err *err)
{
    ssh_key key = NULL;
    bool wants_passphrase = false;
    buf_append(text, "", 1);
    int rc = ssh_pki_import_privkey_base64((char *)buf_data(text), NULL, on_passphrase,
                                           &wants_passphrase, &key);
    if (wants_passphrase)
        fail(err,
             "key file %s/%s: protected by a passphrase; a group's key has none: make "
             "one with `muster keygen`, or take it off with `ssh-keygen -p -N ''`",
             s->dir, name);
    else if (rc != SSH_OK)
        fail(err,
             "key file %s/%s: not a private key in OpenSSH or PEM format (is it cut "
             "off, "
             "or the public half?)",
             s->dir, name);
    else if (!usable(key))
        fail(err,
             "key file %s/%s: a key in a format that cannot be used (Ed25519 in "
             "PKCS#8?); "
             "convert it with `ssh-keygen -p -N ''`, or make one with `muster keygen`",
             s->dir, name);
    else
        return key;
    ssh_key_free(key);
    return NULL;
}

// Adds a private key: 1 when done, 0 when there is no such file, -1 with err.
static int add_private(struct keyring *ring, const struct source *s, const char *name,
                       struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    struct stat st;
    if (read_file(s, name, &text, &st, err) < 0)
        return errno == ENOENT ? 0 : -1;
    int rc = -1;
    ssh_key key = NULL;
    if (check_mode(s, name, &st, err) == 0 &&
        (key = parse_private(s, name, &text, err)) != NULL) {
        ring->private[ring->privates++] = key;
        rc = 1;
    }
    explicit_bzero(text.mem, text.cap);
    return rc;
}

// One line "TYPE BASE64 [COMMENT]"; blank lines and comments are passed over.
static int add_accepted(struct keyring *ring, char *line, struct err *err)
{
    char *save = NULL, *type = strtok_r(line, " \t\r", &save);
    if (type == NULL || type[0] == '#')
        return 0;
    const char *data = strtok_r(NULL, " \t\r", &save);
    enum ssh_keytypes_e kind = ssh_key_type_from_name(type);
    ssh_key key = NULL;
    if (kind == SSH_KEYTYPE_UNKNOWN) {
        fail(err,
             "'%.64s' is no key type; a line is TYPE BASE64 [COMMENT], without "
             "options",
             type);
        return -1;
    }
    if (data == NULL || ssh_pki_import_pubkey_base64(data, kind, &key) != SSH_OK) {
        fail(err, "malformed %s public key", type);
        return -1;
    }
    ring->accepted = xrealloc(ring->accepted, ring->naccepted + 1, sizeof(ssh_key));
    ring->accepted[ring->naccepted++] = key;
    return 0;
}

static int add_all_accepted(struct keyring *ring, const struct source *s,
                            struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    struct stat st;
    if (read_file(s, "authorized_keys", &text, &st, err) < 0)
        return errno == ENOENT ? 0 : -1;
    buf_append(&text, "", 1);
    unsigned number = 1;
    char *rest = (char *)buf_data(&text);
    for (char *line; (line = strsep(&rest, "\n")) != NULL; number++)
        if (add_accepted(ring, line, err) < 0) {
            err_prefix(err, "key file %s/authorized_keys:%u", s->dir, number);
            return -1;
        }
    return 0;
}

static int read_ring(struct keyring *ring, const struct source *s, struct err *err)
{
    int got = add_private(ring, s, "ssh-privatekey", err);
    if (got == 0)
        got = add_private(ring, s, "id_rsa", err);
    if (got == 0)
        fail(err,
             "key ring %s: holds neither ssh-privatekey nor id_rsa; mount the group's "
             "Secret there, or make a ring with `muster keygen %s`",
             s->dir, s->dir);
    if (got != 1 || add_private(ring, s, "ssh-privatekey-previous", err) < 0)
        return -1;
    return add_all_accepted(ring, s, err);
}

// ---- what links ask ---------------------------------------------------------

static bool holds_type(const struct keyring *ring, enum ssh_keytypes_e type)
{
    for (size_t i = 0; i < ring->privates; i++)
        if (ssh_key_type(ring->private[i]) == type)
            return true;
    for (size_t i = 0; i < ring->naccepted; i++)
        if (ssh_key_type(ring->accepted[i]) == type)
            return true;
    return false;
}

// The ring's types first. The others follow, so that a stranger's key is met with a
// text that shows its fingerprint rather than with a failed negotiation.
static char *hostkey_types(const struct keyring *ring)
{
    static const struct {
        enum ssh_keytypes_e type;
        const char *names;
    } known[] = {
        {SSH_KEYTYPE_ED25519, "ssh-ed25519"},
        {SSH_KEYTYPE_ECDSA_P521, "ecdsa-sha2-nistp521"},
        {SSH_KEYTYPE_ECDSA_P384, "ecdsa-sha2-nistp384"},
        {SSH_KEYTYPE_ECDSA_P256, "ecdsa-sha2-nistp256"},
        {SSH_KEYTYPE_RSA, "rsa-sha2-512,rsa-sha2-256"},
    };
    BUF_AUTO list = BUF_INIT;
    for (int ours = 1; ours >= 0; ours--)
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (holds_type(ring, known[i].type) == (ours == 1))
                buf_printf(&list, "%s%s", buf_len(&list) > 0 ? "," : "",
                           known[i].names);
    return buf_steal_str(&list);
}

struct keyring *keyring_load(const char *dir, struct log *log, struct err *err)
{
    struct source s;
    if (source_open(&s, dir, log, err) < 0)
        return NULL;
    struct keyring *ring = xcalloc(1, sizeof *ring);
    int rc = read_ring(ring, &s, err);
    close(s.fd);
    if (rc < 0) {
        keyring_destroy(ring);
        return NULL;
    }
    ring->fingerprint = keyring_fingerprint_of(ring->private[0]);
    ring->hostkey_types = hostkey_types(ring);
    return ring;
}

void keyring_destroy(struct keyring *ring)
{
    if (ring == NULL)
        return;
    for (size_t i = 0; i < ring->privates; i++)
        ssh_key_free(ring->private[i]);
    for (size_t i = 0; i < ring->naccepted; i++)
        ssh_key_free(ring->accepted[i]);
    free(ring->accepted);
    free(ring->fingerprint);
    free(ring->hostkey_types);
    free(ring);
}

const char *keyring_fingerprint(const struct keyring *ring)
{
    return ring->fingerprint;
}

struct ssh_key_struct *keyring_private(const struct keyring *ring, size_t i)
{
    return i < ring->privates ? ring->private[i] : NULL;
}

bool keyring_accepts(const struct keyring *ring, struct ssh_key_struct *key)
{
    for (size_t i = 0; i < ring->privates; i++)
        if (ssh_key_cmp(ring->private[i], key, SSH_KEY_CMP_PUBLIC) == 0)
            return true;
    for (size_t i = 0; i < ring->naccepted; i++)
        if (ssh_key_cmp(ring->accepted[i], key, SSH_KEY_CMP_PUBLIC) == 0)
            return true;
    return false;
}

const char *keyring_hostkey_types(const struct keyring *ring)
{
    return ring->hostkey_types;
}

char *keyring_fingerprint_of(struct ssh_key_struct *key)
{
    unsigned char *hash = NULL;
    size_t len = 0;
    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) != SSH_OK)
        return xstrdup("SHA256:?");
    char *text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);
    char *copy = xstrdup(text != NULL ? text : "SHA256:?");
    ssh_string_free_char(text);
    ssh_clean_pubkey_hash(&hash);
    return copy;
}

char *keyring_default_dir(const char *given)
{
    const char *env = getenv("MUSTER_KEY_DIR");
    if (given != NULL)
        return xstrdup(given);
    return xstrdup(env != NULL && env[0] != '\0' ? env : "/etc/muster/ssh");
}
