// Making a new key ring.
#include "wire/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/mem.h"

enum { CONFIG_ERROR = 125 };

// The two halves as texts; the private one is wiped when freed.
struct halves {
    char *private, *public;
};

static void halves_free(struct halves *h)
{
    if (h->private != NULL)
        explicit_bzero(h->private, strlen(h->private));
    ssh_string_free_char(h->private);
    free(h->public);
}

static int make_halves(struct halves *h, struct err *err)
{
    ssh_key key = NULL;
    char *base64 = NULL;
    int rc = -1;
    if (ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) == SSH_OK &&
        ssh_pki_export_privkey_base64(key, NULL, NULL, NULL, &h->private) == SSH_OK &&
        ssh_pki_export_pubkey_base64(key, &base64) == SSH_OK) {
        h->public = xasprintf("ssh-ed25519 %s muster\n", base64);
        rc = 0;
    } else {
        err_set_kind(err, "KEYRING", CONFIG_ERROR, "cannot generate an Ed25519 key");
    }
    ssh_string_free_char(base64);
    ssh_key_free(key);
    return rc;
}

// Whole or not at all: a temporary file takes the name only once it is on the disk, and
// only if nothing has that name (unless `replace`).
static int write_file(int dir, const char *name, mode_t mode, const char *text,
                      bool replace)
{
    CLEANUP_FREE char *temp = xasprintf(".%s.%d", name, (int)getpid());
    CLEANUP_CLOSE int fd =
        openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    int rc =
        fd_write(fd, text, strlen(text)) < 0 || fsync(fd) < 0 || fchmod(fd, mode) < 0
            ? -1
        : replace ? renameat(dir, temp, dir, name)
                  : linkat(dir, temp, dir, name, 0);
    int saved = errno;
    if (rc < 0 || !replace)
        unlinkat(dir, temp, 0);
    errno = saved;
    return rc;
}

static int refuse(const char *dir, const char *name, struct err *err)
{
    err_set_kind(
        err, "KEYRING", CONFIG_ERROR,
        "%s/%s is there already and is not overwritten; take another directory, "
        "or move the old key to ssh-privatekey-previous to rotate it",
        dir, name);
    return -1;
}

static int write_ring(int fd, const char *dir, const struct halves *h, struct err *err)
{
    if (faccessat(fd, "id_rsa", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse(dir, "id_rsa", err);
    if (write_file(fd, "ssh-privatekey", 0600, h->private, false) < 0) {
        if (errno == EEXIST)
            return refuse(dir, "ssh-privatekey", err);
        err_set_kind(err, "KEYRING", CONFIG_ERROR, "cannot write %s/ssh-privatekey: %s",
                     dir, strerror(errno));
        return -1;
    }
    if (write_file(fd, "ssh-publickey", 0644, h->public, true) == 0)
        return 0;
    err_set_kind(err, "KEYRING", CONFIG_ERROR, "cannot write %s/ssh-publickey: %s", dir,
                 strerror(errno));
    unlinkat(fd, "ssh-privatekey", 0);
    return -1;
}

// As mkdir -p; what is made above the ring itself is for everybody to enter.
static int make_dirs(const char *dir)
{
    CLEANUP_FREE char *path = xstrdup(dir);
    for (char *p = path + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(dir, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

int keyring_generate(const char *dir, struct err *err)
{
    CLEANUP_CLOSE int fd = -1;
    if (make_dirs(dir) < 0 ||
        (fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        err_set_kind(err, "KEYRING", CONFIG_ERROR, "cannot make the directory %s: %s",
                     dir, strerror(errno));
        return -1;
    }
    struct halves h = {0};
    int rc = make_halves(&h, err);
    if (rc == 0)
        rc = write_ring(fd, dir, &h, err);
    halves_free(&h);
    return rc;
}
