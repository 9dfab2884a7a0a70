// The Open MPI hostfile dialect: what the files of tests/cases do not show.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/slurp.h"

static int read_text(const char *text, struct members *m, struct err *err)
{
    return dialect_read(dialect_auto(), text, strlen(text), "F", "this-pod", m, NULL,
                        err);
}

static void expect_error(const char *text, const char *head)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    cr_assert_eq(read_text(text, &m, &err), -1, "'%s' was taken", text);
    cr_assert_eq(strncmp(err_text(&err), head, strlen(head)), 0, "'%s' gives '%s'",
                 text, err_text(&err));
    cr_assert_not_null(err.kind);
    cr_assert_not_null(strstr(head, err.kind));
    cr_assert_eq(m.n, 0);
}

Test(hostfile, errors_name_file_line_column_and_word)
{
    expect_error("a slots=4\nb lots=8\n",
                 "F:2:3: HF_UNKNOWN_KEY: there is no key 'lots'; "
                 "did you mean 'slots'?");
    expect_error("a slots=\n", "F:1:3: HF_BAD_COUNT: slots has no number");
    expect_error("a slots\n", "F:1:3: HF_BAD_COUNT: ");
    expect_error("a slots=-1\n", "F:1:3: HF_BAD_COUNT: slots is '-1'");
    expect_error("a slots=4.0\n", "F:1:3: HF_BAD_COUNT: ");
    expect_error("a slots=1000001\n", "F:1:3: HF_BAD_COUNT: ");
    expect_error("a slots=4 max_slots=2\n", "F:1:1: HF_BAD_COUNT: 4 slots are more");
    expect_error("a:4 slots=4\n", "F:1:1: HF_DUP_COUNT: ");
    expect_error("a port=0\n", "F:1:3: HF_BAD_PORT: ");
    expect_error("a port=70000\n", "F:1:3: HF_BAD_PORT: ");
    expect_error("a port=1 port=1\n", "F:1:10: HF_SYNTAX: ");
    expect_error("a user=\n", "F:1:3: HF_SYNTAX: ");
    expect_error("-oProxyCommand=x@a\n", "F:1:1: HF_BAD_NAME: '-oProxyCommand=x'");
    expect_error("a user=-x\n", "F:1:3: HF_BAD_NAME: '-x' is no name of a user");
    expect_error("u@a user=v\n", "F:1:1: HF_SYNTAX: ");
    expect_error("a b\n", "F:1:3: HF_SYNTAX: 'b' is no KEY=VALUE");
    expect_error("a, b\n", "F:1:4: HF_SYNTAX: 'b' is no KEY=VALUE");
    expect_error("a,\n", "F:1:3: HF_SYNTAX: ");
    expect_error("slots=4\n", "F:1:1: HF_SYNTAX: 'slots=4' stands where");
    expect_error("a/b\n", "F:1:2: HF_BAD_NAME: '/' in the name");
    expect_error("-oProxyCommand\n", "F:1:1: HF_BAD_NAME: ");
    expect_error("a..b\n", "F:1:3: HF_BAD_NAME: ");
    expect_error("a slots=2\rb slots=2\n", "F:1:10: HF_ENCODING: a carriage return");
    expect_error("\xff\xfe"
                 "a\n",
                 "F:1:1: HF_ENCODING: byte 0xFF");
    expect_error("b[1-\n", "F:1:5: HF_SYNTAX: ");
    expect_error("ok\n  gpu[001-100000] slots=2\n", "F:2:6: HF_RANGE_TOO_BIG: ");
}

Test(hostfile, repeats_must_agree)
{
    expect_error("a port=1\na port=2\n", "F:2:1: HF_CONFLICT: a has port 1 on line 1");
    expect_error("u@a\nv@a\n", "F:2:1: HF_CONFLICT: a has user u on line 1");
    expect_error("a slots=2\nb\na\n", "F:3:1: HF_DUP_COUNT: a stands on line 1");
    expect_error("a[1-3]:2\na2\n", "F:2:1: HF_DUP_COUNT: a2 stands on line 1");
    expect_error("a.\na slots=1\n", "F:2:1: HF_DUP_COUNT: ");
    expect_error("localhost\nthis-pod\n", "F:1:1: HF_DUP_COUNT: localhost is this");
}

Test(hostfile, exclusions)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(read_text("^n[2-3],x\nn[1-4] slots=2\n^n4 # sick\n", &m, &err), 0);
    cr_assert_eq(m.n, 1);
    cr_assert_str_eq(m.v[0].name, "n1");
    cr_assert_eq(m.warnings.n, 1);
    cr_assert_str_eq(m.warnings.v[0], "F:1:1: ^x leaves nothing out");
    cr_assert_eq(members_find(&m, "n2", 2), -1);
    expect_error("a\n^a\n", "F: HF_EMPTY: ");
    expect_error("a\n^a slots=1\n", "F:2:1: HF_SYNTAX: ");
    expect_error("a\n^\n", "F:2:2: HF_SYNTAX: ");
    expect_error("a,^b\n", "F:1:3: HF_SYNTAX: ");
    expect_error("a\n^a:2\n", "F:2:2: HF_SYNTAX: ");
}

Test(hostfile, comments_may_hold_anything_but_nul)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(read_text("# Kn\xc3\xb6ten \"\x01\na#b slots=9\n", &m, &err), 0, "%s",
                 err_text(&err));
    cr_assert_str_eq(m.v[0].name, "a");
    cr_assert_eq(m.v[0].slots, -1);
    static const char nul[] = "a # x\0y\n";
    cr_assert_eq(
        dialect_read(dialect_auto(), nul, sizeof nul - 1, "F", NULL, &m, NULL, &err),
        -1);
    cr_assert_eq(strncmp(err_text(&err), "F:1:6: HF_ENCODING", 18), 0, "%s",
                 err_text(&err));
}

Test(hostfile, users_ports_and_literals)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(
        read_text("u@[fd00::5]:4 port=22\n10.0.0.1 user=v slots=2 max-slots=3\n"
                  "fd00::6 slots=1\nb.c.\n",
                  &m, &err),
        0, "%s", err_text(&err));
    cr_assert_str_eq(m.v[0].name, "fd00::5");
    cr_assert_str_eq(m.v[0].user, "u");
    cr_assert_eq(m.v[0].slots, 4);
    cr_assert_eq(m.v[0].port, 22);
    cr_assert_eq(m.v[0].addr.ss_family, AF_INET6);
    cr_assert_eq(m.v[1].addr.ss_family, AF_INET);
    cr_assert_eq(m.v[1].max_slots, 3);
    cr_assert_str_eq(m.v[1].user, "v");
    cr_assert_eq(m.v[2].line, 3);
    cr_assert_str_eq(m.v[3].name, "b.c");
    cr_assert(m.v[3].absolute);
    cr_assert_not(m.v[0].absolute);
    cr_assert_eq(m.v[3].addr.ss_family, 0);
    cr_assert_eq(m.warnings.n, 0);
}

Test(hostfile, a_million_lines_take_linear_time, .timeout = 60)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO text = BUF_INIT;
    for (int i = 0; i < 1000000; i++)
        buf_printf(&text, "worker-%d.job.team.svc slots=8\n", i);
    cr_assert_eq(dialect_read(dialect_auto(), (char *)buf_data(&text), buf_len(&text),
                              "F", NULL, &m, NULL, &err),
                 0, "%s", err_text(&err));
    cr_assert_eq(m.n, 1000000);
    cr_assert_eq(m.v[999999].line, 1000000);
}

Test(hostfile, a_failed_read_leaves_the_old_list)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(read_text("a slots=1\n", &m, &err), 0);
    cr_assert_eq(read_text("b slots=1\nc slots=x\n", &m, &err), -1);
    cr_assert_eq(m.n, 1);
    cr_assert_str_eq(m.v[0].name, "a");
}

static void expect_unreadable(const char *path, const char *kind)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO text = BUF_INIT;
    cr_assert_eq(slurp(path, &text, &err), -1, "%s", path);
    cr_assert_str_eq(err.kind, kind, "%s: %s", path, err_text(&err));
    cr_assert_eq(strncmp(err.text, path, strlen(path)), 0, "%s", err.text);
}

Test(slurp, tells_what_is_wrong_with_a_file, .timeout = 20)
{
    expect_unreadable("/no/such/hostfile", "HF_NOT_FOUND");
    expect_unreadable("/etc/passwd/x", "HF_NOT_FOUND");
    expect_unreadable("/tmp", "HF_NOT_A_FILE");
    expect_unreadable("/dev/zero", "HF_NOT_A_FILE");
}

Test(slurp, reads_a_pipe_to_its_end, .timeout = 20)
{
    int p[2];
    cr_assert_eq(pipe(p), 0);
    cr_assert_eq(write(p[1], "a slots=4\n", 10), 10);
    close(p[1]);
    CLEANUP_FREE char *path = xasprintf("/dev/fd/%d", p[0]);
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO text = BUF_INIT;
    cr_assert_eq(slurp(path, &text, &err), 0, "%s", err_text(&err));
    cr_assert_eq(buf_len(&text), 10);
    close(p[0]);
}
