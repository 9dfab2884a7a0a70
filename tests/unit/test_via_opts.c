// Options of --via ssh and their message.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/via_opts.h"
#include "wire/link_hostkeys.h"
#include "wire/msg.h"

static struct via_opts fresh(void)
{
    struct via_opts o;
    via_opts_init(&o);
    return o;
}

Test(via_opts, ways_with_and_without_a_port)
{
    struct via_opts o = fresh();
    cr_assert_eq(via_opts_parse_way(&o, "ssh"), 0);
    cr_assert(o.ssh);
    cr_assert_eq(o.port, 22);
    cr_assert_eq(via_opts_parse_way(&o, "ssh:2222"), 0);
    cr_assert_eq(o.port, 2222);
}

Test(via_opts, what_is_no_way)
{
    static const char *const bad[] = {
        "", "s", "sshd", "ssh:", "ssh:0", "ssh:65536", "ssh: 22", "ssh:22x", "ssh:-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct via_opts o = fresh();
        cr_assert_eq(via_opts_parse_way(&o, bad[i]), -1, "'%s'", bad[i]);
        cr_assert_not(o.ssh);
    }
}

Test(via_opts, an_option_without_its_way_is_named)
{
    struct via_opts o = fresh();
    cr_assert_null(via_opts_stray(&o));
    o.push = true;
    cr_assert_str_eq(via_opts_stray(&o), "--push-agent");
    o.ssh = true;
    cr_assert_null(via_opts_stray(&o));
}

Test(via_opts, agents_are_the_same_path_then_the_name)
{
    struct via_opts o = fresh();
    Muster__Via *m = via_opts_message(&o, "/opt/a b/musterd", "/keys", NULL);
    cr_assert_eq(m->n_agents, 2);
    cr_assert_str_eq(m->agents[0], "/opt/a b/musterd");
    cr_assert_str_eq(m->agents[1], "musterd");
    cr_assert_str_eq(m->key_dir, "/keys");
    cr_assert_eq(m->host_keys_mode, LINK_HOSTKEYS_GROUP);
    cr_assert_neq(m->user[0], '\0');
    msg_free(m);
    o.agent_path = "/x";
    o.user = "mpiuser";
    m = via_opts_message(&o, "/opt/musterd", "/keys", NULL);
    cr_assert_eq(m->n_agents, 1);
    cr_assert_str_eq(m->agents[0], "/x");
    cr_assert_str_eq(m->user, "mpiuser");
    msg_free(m);
}

Test(via_opts, host_keys_from_a_file_or_any)
{
    struct via_opts o = fresh();
    ERR_AUTO err = ERR_INIT;
    o.host_keys = "accept";
    Muster__Via *m = via_opts_message(&o, NULL, "/keys", NULL);
    cr_assert_eq(m->host_keys_mode, LINK_HOSTKEYS_ANY);
    cr_assert_eq(m->n_agents, 1);
    msg_free(m);
    char path[] = "/tmp/muster-known-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, "one\ntwo", 7), 7);
    close(fd);
    o.host_keys = path;
    m = via_opts_message(&o, NULL, "/keys", NULL);
    cr_assert_eq(m->host_keys_mode, LINK_HOSTKEYS_FILE);
    cr_assert_eq(m->n_host_keys, 2);
    cr_assert_str_eq(m->host_keys[1], "two");
    msg_free(m);
    unlink(path);
    cr_assert_null(via_opts_message(&o, NULL, "/keys", &err));
    cr_assert_not_null(strstr(err_text(&err), path));
}
