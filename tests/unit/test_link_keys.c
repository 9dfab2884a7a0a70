// Who is let in: rings that match, rotate and differ, on either side.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/unit/link_pair.h"

TestSuite(link_keys, .init = pair_keys_make, .fini = pair_keys_remove, .timeout = 60);

static void copy_file(const char *from_ring, const char *from, const char *to_ring,
                      const char *to)
{
    char text[8192];
    CLEANUP_FREE char *source = pair_ring_path(from_ring, from);
    CLEANUP_FREE char *target = pair_ring_path(to_ring, to);
    CLEANUP_CLOSE int in = open(source, O_RDONLY);
    CLEANUP_CLOSE int out = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n = read(in, text, sizeof text);
    cr_assert_gt(n, 0);
    cr_assert_eq(write(out, text, (size_t)n), n);
}

static void make_rings(void)
{
    keyring_destroy(pair_ring_new("old"));
    keyring_destroy(pair_ring_new("new"));
}

// Dials with one ring, listens with the other.
static void connect_with(struct pair *p, const char *dialler, const char *listener)
{
    pair_init(p, pair_ring_load(dialler), pair_ring_load(listener));
    pair_connect(p, PAIR_OVER_SSH);
}

static void expect_up(const char *dialler, const char *listener)
{
    struct pair p;
    connect_with(&p, dialler, listener);
    pair_run(&p, pair_both_up);
    pair_free(&p);
}

static void expect_key_error(const char *dialler, const char *listener,
                             const char *part)
{
    struct pair p;
    connect_with(&p, dialler, listener);
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "KEY", "%s", p.dialler.text);
    cr_assert_not_null(strstr(p.dialler.text, part), "%s", p.dialler.text);
    cr_assert_eq(p.accepts, 0);
    pair_free(&p);
}

Test(link_keys, a_listener_with_a_foreign_key_is_not_trusted)
{
    make_rings();
    struct keyring *foreign = pair_ring_load("new");
    expect_key_error("old", "new", keyring_fingerprint(foreign));
    expect_key_error("old", "new",
                     "the peer's key is not in the key ring of this group");
    keyring_destroy(foreign);
}

Test(link_keys, a_dialler_with_a_foreign_key_is_refused)
{
    make_rings();
    // The dialler would take the listener, but not the other way round.
    copy_file("old", "ssh-publickey", "new", "authorized_keys");
    expect_key_error("new", "old", "the peer refused our key");
}

Test(link_keys, a_rotated_ring_gets_on_with_the_one_before_both_ways)
{
    make_rings();
    copy_file("old", "ssh-privatekey", "new", "ssh-privatekey-previous");
    expect_up("new", "old");
    expect_up("old", "new");
    expect_up("new", "new");
}

Test(link_keys, the_last_step_of_a_rotation_has_no_gap_either)
{
    make_rings();
    keyring_destroy(pair_ring_new("fresh"));
    copy_file("old", "ssh-privatekey", "new", "ssh-privatekey-previous");
    copy_file("new", "ssh-privatekey", "fresh", "ssh-privatekey");
    expect_key_error("fresh", "new", "not in the key ring"); // skipping a step
    copy_file("old", "ssh-publickey", "fresh", "authorized_keys");
    expect_up("fresh", "new");
    expect_up("new", "fresh");
}

static void put_p521(const char *ring)
{
    ssh_key key = NULL;
    CLEANUP_FREE char *dir = pair_ring_path(ring, "");
    CLEANUP_FREE char *path = pair_ring_path(ring, "id_rsa");
    mode_t mask = umask(077);
    mkdir(dir, 0700);
    cr_assert_eq(ssh_pki_generate(SSH_KEYTYPE_ECDSA_P521, 521, &key), SSH_OK);
    cr_assert_eq(ssh_pki_export_privkey_file(key, NULL, NULL, NULL, path), SSH_OK);
    ssh_key_free(key);
    umask(mask);
}

Test(link_keys, an_mpi_operator_ring_works_and_rotates_to_ed25519)
{
    make_rings();
    put_p521("mpi");
    expect_up("mpi", "mpi");
    expect_key_error("mpi", "new", "not in the key ring");
    expect_key_error("new", "mpi", "not in the key ring");
    // With two types the listener shows either: no step can be too early.
    copy_file("mpi", "id_rsa", "new", "ssh-privatekey-previous");
    expect_up("mpi", "new");
    expect_up("new", "mpi");
    expect_up("new", "new");
}

Test(link_keys, ipv6_works_and_looks_like_it)
{
    struct pair p;
    ERR_AUTO err = ERR_INIT;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    bool have = probe >= 0 && bind(probe, (struct sockaddr *)&any, sizeof any) == 0;
    close(probe);
    if (!have)
        cr_skip_test("no IPv6 loopback here");
    p.server = link_listen(&p.conf[1], (struct sockaddr *)&any, sizeof any, pair_accept,
                           &p, &err);
    cr_assert_not_null(p.server, "%s", err_text(&err));
    link_server_address(p.server, &p.address);
    p.dialler.link = link_dial(&p.conf[0], (struct sockaddr *)&p.address,
                               sizeof(struct sockaddr_in6), &pair_ops, &p.dialler);
    pair_run(&p, pair_both_up);
    cr_assert_eq(strncmp(link_peer_text(p.dialler.link), "[::1]:", 6), 0);
    cr_assert_str_eq(link_local_address(p.listener.link), "::1");
    pair_free(&p);
}
