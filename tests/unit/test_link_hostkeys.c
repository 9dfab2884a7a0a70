// Trust in host keys: known_hosts lines, names, ports, modes.
#include <criterion/criterion.h>
#include <libssh/libssh.h>
#include <string.h>

#include "common/mem.h"
#include "wire/link_hostkeys.h"

static ssh_key key, other;
static char *text; // base64 of key

static void setup(void)
{
    ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key);
    ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &other);
    ssh_pki_export_pubkey_base64(key, &text);
}

static void teardown(void)
{
    ssh_string_free_char(text);
    ssh_key_free(key);
    ssh_key_free(other);
}

TestSuite(link_hostkeys, .init = setup, .fini = teardown, .timeout = 10);

static struct link_hostkeys *of_line(const char *names)
{
    ERR_AUTO err = ERR_INIT;
    char comment[] = "# comment", blank[] = "  ";
    CLEANUP_FREE char *line = xasprintf("%s ssh-ed25519 %s a comment\r", names, text);
    char *lines[] = {comment, blank, line};
    struct link_hostkeys *h =
        link_hostkeys_create(LINK_HOSTKEYS_FILE, lines, 3, "known", &err);
    cr_assert_not_null(h, "%s", err_text(&err));
    return h;
}

static bool trusts(struct link_hostkeys *h, uint16_t port, ssh_key k)
{
    const char *names[] = {"train-1.train", "10.0.0.2"};
    return link_hostkeys_trust(h, names, 2, port, k);
}

static void expect(const char *names, uint16_t port, bool yes)
{
    struct link_hostkeys *h = of_line(names);
    cr_assert_eq(trusts(h, port, key), yes, "%s port %u", names, port);
    cr_assert_not(trusts(h, port, other));
    link_hostkeys_destroy(h);
}

Test(link_hostkeys, a_host_is_known_by_name_or_address)
{
    expect("train-1.train", 22, true);
    expect("10.0.0.2", 22, true);
    expect("a,10.0.0.2,b", 22, true);
    expect("train-2.train", 22, false);
    expect("*.train", 22, true);
}

Test(link_hostkeys, another_port_stands_in_brackets)
{
    expect("[10.0.0.2]:2222", 2222, true);
    expect("[10.0.0.2]:2222", 22, false);
    expect("[10.0.0.2]:2222", 2223, false);
    expect("[train-1.train]:2222", 2222, true);
}

Test(link_hostkeys, any_trusts_all)
{
    struct link_hostkeys *h =
        link_hostkeys_create(LINK_HOSTKEYS_ANY, NULL, 0, "", NULL);
    cr_assert(trusts(h, 22, key));
    cr_assert(trusts(h, 22, other));
    link_hostkeys_destroy(h);
}

static void refused(const char *line, const char *why)
{
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *copy = xstrdup(line);
    char comment[] = "# one";
    char *lines[] = {comment, copy};
    cr_assert_null(link_hostkeys_create(LINK_HOSTKEYS_FILE, lines, 2, "known", &err));
    cr_assert_str_eq(err.kind, "HOST_KEYS");
    cr_assert_not_null(strstr(err_text(&err), why), "%s", err_text(&err));
}

Test(link_hostkeys, bad_lines_are_named)
{
    refused("host", "known:2: a word is missing");
    refused("host ssh-ed25519", "known:2: a word is missing");
    refused("host ssh-pigeon AAAA", "known:2: the second word is no key type");
    refused("host ssh-ed25519 AAAA", "known:2: the key is malformed");
    refused("@revoked * ssh-ed25519 AAAA", "known:2: markers");
    refused("", "known: holds no host key");
}

Test(link_hostkeys, the_types_that_the_file_has_are_asked_for_first)
{
    const char *names[] = {"train-1.train"}, *foreign[] = {"x"};
    struct link_hostkeys *h = of_line("train-1.train");
    CLEANUP_FREE char *types = link_hostkeys_types(h, names, 1, 22);
    cr_assert_not_null(types);
    cr_assert_eq(strncmp(types, "ssh-ed25519,", 12), 0);
    cr_assert_null(link_hostkeys_types(h, foreign, 1, 22));
    link_hostkeys_destroy(h);
}
