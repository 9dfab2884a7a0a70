// Key rings: what is taken, and one clear error for what is not.
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libssh/libssh.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "wire/keyring.h"

static char root[] = "/tmp/muster-keyring-XXXXXX";

static void make_root(void)
{
    cr_assert_not_null(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static void remove_root(void)
{
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(keyring, .init = make_root, .fini = remove_root, .timeout = 60);

static char *in_root(const char *name)
{
    return xasprintf("%s/%s", root, name);
}

static void put_file(const char *name, mode_t mode, const char *text)
{
    CLEANUP_FREE char *path = in_root(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(fchmod(fd, mode), 0);
    close(fd);
}

// A fresh private key as text. Caller frees.
static char *key_text(enum ssh_keytypes_e type, int bits, const char *passphrase)
{
    ssh_key key = NULL;
    char *text = NULL;
    cr_assert_eq(ssh_pki_generate(type, bits, &key), SSH_OK);
    cr_assert_eq(ssh_pki_export_privkey_base64(key, passphrase, NULL, NULL, &text),
                 SSH_OK);
    ssh_key_free(key);
    return text;
}

static char *read_text(const char *path)
{
    char *text = xcalloc(1, 8192);
    int fd = open(path, O_RDONLY);
    cr_assert_geq(fd, 0);
    cr_assert_gt(read(fd, text, 8191), 0);
    close(fd);
    return text;
}

static void expect_error(const char *dir, const char *part)
{
    ERR_AUTO err = ERR_INIT;
    struct keyring *ring = keyring_load(dir, NULL, &err);
    cr_assert_null(ring);
    cr_assert_str_eq(err.kind, "KEYRING");
    cr_assert_not_null(strstr(err.text, part), "'%s' is not in: %s", part, err.text);
    cr_assert_not_null(strstr(err.text, dir), "no path in: %s", err.text);
}

Test(keyring, what_keygen_makes_can_be_read_and_by_nobody_else)
{
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *dir = in_root("ring");
    CLEANUP_FREE char *private = in_root("ring/ssh-privatekey");
    CLEANUP_FREE char *public = in_root("ring/ssh-publickey");
    cr_assert_eq(keyring_generate(dir, &err), 0, "%s", err_text(&err));
    struct stat st;
    cr_assert_eq(stat(dir, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0700);
    cr_assert_eq(stat(private, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0600);
    cr_assert_eq(st.st_nlink, 1);
    CLEANUP_FREE char *text = read_text(private);
    cr_assert_eq(strncmp(text, "-----BEGIN OPENSSH PRIVATE KEY-----\n", 36), 0);
    CLEANUP_FREE char *public_text = read_text(public);
    cr_assert_eq(strncmp(public_text, "ssh-ed25519 AAAA", 16), 0);
    struct keyring *ring = keyring_load(dir, NULL, &err);
    cr_assert_not_null(ring, "%s", err_text(&err));
    cr_assert_eq(strncmp(keyring_fingerprint(ring), "SHA256:", 7), 0);
    cr_assert(keyring_accepts(ring, keyring_private(ring, 0)));
    cr_assert_null(keyring_private(ring, 1));
    keyring_destroy(ring);
}

Test(keyring, keygen_never_overwrites)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(keyring_generate(root, &err), 0);
    CLEANUP_FREE char *path = in_root("ssh-privatekey");
    CLEANUP_FREE char *before = read_text(path);
    cr_assert_eq(keyring_generate(root, &err), -1);
    cr_assert_not_null(strstr(err.text, path));
    CLEANUP_FREE char *after = read_text(path);
    cr_assert_str_eq(before, after);
    unlink(path);
    put_file("id_rsa", 0600, "x");
    cr_assert_eq(keyring_generate(root, &err), -1);
    cr_assert_neq(access(path, F_OK), 0);
}

Test(keyring, keygen_says_where_it_could_not_write)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(keyring_generate("/proc/no/such", &err), -1);
    cr_assert_not_null(strstr(err.text, "/proc/no/such"));
}

Test(keyring, takes_the_pem_keys_of_mpi_operator)
{
    ERR_AUTO err = ERR_INIT;
    char *pkcs8 = key_text(SSH_KEYTYPE_ECDSA_P521, 521, NULL);
    cr_assert_not_null(strstr(pkcs8, "-----BEGIN PRIVATE KEY-----"));
    put_file("id_rsa", 0600, pkcs8);
    ssh_string_free_char(pkcs8);
    struct keyring *ring = keyring_load(root, NULL, &err);
    cr_assert_not_null(ring, "%s", err_text(&err));
    cr_assert_eq(strncmp(keyring_hostkey_types(ring), "ecdsa-sha2-nistp521,", 20), 0);
    keyring_destroy(ring);
}

// The format that Go's x509.MarshalECPrivateKey writes (SEC 1), and OpenSSH's own.
Test(keyring, takes_every_format_that_ssh_keygen_writes)
{
    if (system("command -v ssh-keygen >/dev/null") != 0)
        cr_skip_test("ssh-keygen (openssh-client) is not there");
    static const char *const formats[] = {"PEM", "PKCS8", "RFC4716"};
    for (size_t i = 0; i < 3; i++) {
        ERR_AUTO err = ERR_INIT;
        CLEANUP_FREE char *path = in_root("id_rsa");
        CLEANUP_FREE char *command = xasprintf(
            "ssh-keygen -q -t ecdsa -b 521 -N '' -m %s -f %s", formats[i], path);
        unlink(path);
        cr_assert_eq(system(command), 0);
        struct keyring *ring = keyring_load(root, NULL, &err);
        cr_assert_not_null(ring, "%s: %s", formats[i], err_text(&err));
        keyring_destroy(ring);
    }
}

Test(keyring, the_usual_name_goes_before_id_rsa)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(keyring_generate(root, &err), 0);
    put_file("id_rsa", 0600, "not looked at");
    struct keyring *ring = keyring_load(root, NULL, &err);
    cr_assert_not_null(ring, "%s", err_text(&err));
    keyring_destroy(ring);
}

Test(keyring, a_key_that_others_can_read_is_refused_with_the_remedy)
{
    char *text = key_text(SSH_KEYTYPE_ED25519, 0, NULL);
    put_file("ssh-privatekey", 0640, text);
    CLEANUP_FREE char *remedy = xasprintf("chmod 600 %s/ssh-privatekey", root);
    expect_error(root, remedy);
    expect_error(root, "0640");
    put_file("ssh-privatekey", 0604, text);
    expect_error(root, "0604");
    put_file("ssh-privatekey", 0600, text);
    put_file("ssh-privatekey-previous", 0644, text);
    expect_error(root, "ssh-privatekey-previous");
    ssh_string_free_char(text);
}

static bool write_proc(const char *path, const char *text)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

// In a child with a mount namespace of its own: 0 loaded with the warning, 77 not
// allowed to mount here, else what went wrong.
static int load_from_read_only_mount(const char *text, mode_t mode, bool warns)
{
    char uids[64], gids[64];
    snprintf(uids, sizeof uids, "0 %d 1", (int)getuid());
    snprintf(gids, sizeof gids, "0 %d 1", (int)getgid());
    if (unshare(CLONE_NEWNS) < 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            return 77;
        if (!write_proc("/proc/self/uid_map", uids) ||
            !write_proc("/proc/self/setgroups", "deny") ||
            !write_proc("/proc/self/gid_map", gids))
            return 77;
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", root, "tmpfs", 0, NULL) < 0)
        return 77;
    CLEANUP_FREE char *path = in_root("ssh-privatekey");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
        return 1;
    close(fd);
    if (mount(NULL, root, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return 77;
    char said[1024] = "";
    int pipefd[2];
    if (pipe(pipefd) < 0)
        return 1;
    struct log *log = log_create(pipefd[1], "test", LOG_LEVEL_WARN);
    struct keyring *ring = keyring_load(root, log, NULL);
    log_destroy(log);
    close(pipefd[1]);
    if (ring == NULL)
        return 2;
    keyring_destroy(ring);
    if (read(pipefd[0], said, sizeof said - 1) <= 0)
        return warns ? 3 : 0;
    return warns && strstr(said, "0644") && strstr(said, "read-only") ? 0 : 4;
}

static void expect_from_read_only_mount(mode_t mode, bool warns)
{
    char *text = key_text(SSH_KEYTYPE_ED25519, 0, NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(load_from_read_only_mount(text, mode, warns));
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    ssh_string_free_char(text);
    cr_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        cr_skip_test("this machine does not let us mount");
    cr_assert_eq(WEXITSTATUS(status), 0, "step %d", WEXITSTATUS(status));
}

Test(keyring, in_a_read_only_mount_a_loose_mode_is_a_warning)
{
    expect_from_read_only_mount(0644, true);
}

Test(keyring, in_a_read_only_mount_the_group_may_read_as_fsGroup_has_it)
{
    expect_from_read_only_mount(0440, false);
}

Test(keyring, a_passphrase_is_named_as_such_in_both_formats)
{
    char *openssh = key_text(SSH_KEYTYPE_ED25519, 0, "secret");
    put_file("ssh-privatekey", 0600, openssh);
    expect_error(root, "passphrase");
    ssh_string_free_char(openssh);
    char *pem = key_text(SSH_KEYTYPE_ECDSA_P521, 521, "secret");
    put_file("ssh-privatekey", 0600, pem);
    expect_error(root, "passphrase");
    ssh_string_free_char(pem);
}

Test(keyring, missing_malformed_and_unreadable_are_told_apart)
{
    expect_error("/no/such/ring", "No such file or directory");
    expect_error(root, "neither ssh-privatekey nor id_rsa");
    put_file("ssh-privatekey", 0600, "");
    expect_error(root, "not a private key");
    put_file("ssh-privatekey", 0600, "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn");
    expect_error(root, "not a private key");
    CLEANUP_FREE char *path = in_root("ssh-privatekey");
    unlink(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    expect_error(root, "Is a directory");
    rmdir(path);
    cr_assert_eq(mkfifo(path, 0600), 0); // must not block
    expect_error(root, "cannot be read");
    unlink(path);
    cr_assert_eq(symlink("gone", path), 0);
    expect_error(root, "neither ssh-privatekey nor id_rsa");
    expect_error("/dev/null", "Not a directory");
}

Test(keyring, an_endless_file_is_not_read_to_its_end)
{
    CLEANUP_FREE char *path = in_root("ssh-privatekey");
    put_file("ssh-privatekey", 0600, "x");
    cr_assert_eq(truncate(path, 1 << 30), 0);
    expect_error(root, "bigger than");
}

// As kubelet lays a Secret out: names point through ..data to a dated directory.
static void put_secret(const char *version, const char *key)
{
    CLEANUP_FREE char *dir = in_root(version);
    CLEANUP_FREE char *file = xasprintf("%s/ssh-privatekey", version);
    CLEANUP_FREE char *next = in_root("..data_tmp");
    CLEANUP_FREE char *data = in_root("..data");
    CLEANUP_FREE char *name = in_root("ssh-privatekey");
    cr_assert_eq(mkdir(dir, 0755), 0);
    put_file(file, 0600, key);
    cr_assert_eq(symlink(version, next), 0);
    cr_assert_eq(rename(next, data), 0);
    if (symlink("..data/ssh-privatekey", name) < 0)
        cr_assert_eq(errno, EEXIST);
}

Test(keyring, follows_the_links_of_a_secret_volume)
{
    ERR_AUTO err = ERR_INIT;
    char *one = key_text(SSH_KEYTYPE_ED25519, 0, NULL);
    char *two = key_text(SSH_KEYTYPE_ED25519, 0, NULL);
    put_secret("..2024_01_01", one);
    struct keyring *before = keyring_load(root, NULL, &err);
    cr_assert_not_null(before, "%s", err_text(&err));
    put_secret("..2024_01_02", two);
    struct keyring *after = keyring_load(root, NULL, &err);
    cr_assert_not_null(after, "%s", err_text(&err));
    cr_assert_str_neq(keyring_fingerprint(before), keyring_fingerprint(after));
    cr_assert_not(keyring_accepts(after, keyring_private(before, 0)));
    keyring_destroy(before);
    keyring_destroy(after);
    ssh_string_free_char(one);
    ssh_string_free_char(two);
}

Test(keyring, accepts_what_authorized_keys_lists)
{
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *other = in_root("other");
    CLEANUP_FREE char *other_public = in_root("other/ssh-publickey");
    cr_assert_eq(keyring_generate(root, &err), 0);
    cr_assert_eq(keyring_generate(other, &err), 0);
    struct keyring *stranger = keyring_load(other, NULL, &err);
    struct keyring *ring = keyring_load(root, NULL, &err);
    cr_assert_not(keyring_accepts(ring, keyring_private(stranger, 0)));
    keyring_destroy(ring);
    CLEANUP_FREE char *line = read_text(other_public);
    CLEANUP_FREE char *text = xasprintf("# more keys\n\n%s", line);
    put_file("authorized_keys", 0644, text);
    ring = keyring_load(root, NULL, &err);
    cr_assert_not_null(ring, "%s", err_text(&err));
    cr_assert(keyring_accepts(ring, keyring_private(stranger, 0)));
    keyring_destroy(ring);
    keyring_destroy(stranger);
    put_file("authorized_keys", 0644, "# fine\nno-pty ssh-ed25519 AAAA\n");
    expect_error(root, "authorized_keys:2");
    put_file("authorized_keys", 0644, "ssh-ed25519 AAAAnonsense\n");
    expect_error(root, "authorized_keys:1");
}
