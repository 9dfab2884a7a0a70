// PMI-1 lines: whole, in pieces, and broken.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pmi1_parse.h"
#include "common/mem.h"

TestSuite(pmi1_parse, .timeout = 20);

static const struct pmi1_cmd *one(struct pmi1_parse *p, const char *text)
{
    const struct pmi1_cmd *cmd = NULL;
    ERR_AUTO err = ERR_INIT;
    pmi1_parse_feed(p, text, strlen(text));
    cr_assert_eq(pmi1_parse_next(p, &cmd, &err), 1, "%s: %s", text, err_text(&err));
    return cmd;
}

// The error that `text` leads to.
static char *broken(const char *text, size_t len)
{
    const struct pmi1_cmd *cmd;
    ERR_AUTO err = ERR_INIT;
    struct pmi1_parse *p = pmi1_parse_create();
    pmi1_parse_feed(p, text, len);
    int rc;
    while ((rc = pmi1_parse_next(p, &cmd, &err)) == 1)
        ;
    cr_assert_eq(rc, -1, "taken: %.40s", text);
    pmi1_parse_destroy(p);
    return xstrdup(err_text(&err));
}

static void assert_broken(const char *text, const char *why)
{
    CLEANUP_FREE char *got = broken(text, strlen(text));
    cr_assert(strstr(got, why) != NULL, "%s: %s", text, got);
}

Test(pmi1_parse, a_command_and_its_keys)
{
    struct pmi1_parse *p = pmi1_parse_create();
    const struct pmi1_cmd *c =
        one(p, "cmd=put kvsname=job-1  key=a=b flag empty= value=x=y=z \n");
    cr_assert_str_eq(c->name, "put");
    cr_assert_str_eq(pmi1_cmd_get(c, "kvsname"), "job-1");
    cr_assert_str_eq(pmi1_cmd_get(c, "key"), "a=b");
    cr_assert_str_eq(pmi1_cmd_get(c, "value"), "x=y=z");
    cr_assert_str_eq(pmi1_cmd_get(c, "flag"), "");
    cr_assert_str_eq(pmi1_cmd_get(c, "empty"), "");
    cr_assert_null(pmi1_cmd_get(c, "val"));
    cr_assert_null(pmi1_cmd_get(c, "cmd"));
    c = one(p, "cmd=get_maxes\n");
    cr_assert_str_eq(c->name, "get_maxes");
    cr_assert_null(pmi1_cmd_get(c, "key"));
    pmi1_parse_destroy(p);
}

Test(pmi1_parse, a_backslash_keeps_a_space)
{
    struct pmi1_parse *p = pmi1_parse_create();
    const struct pmi1_cmd *c =
        one(p, "cmd=abort exitcode=3 error_msg=it\\ broke\\\\ down\\\n");
    cr_assert_str_eq(pmi1_cmd_get(c, "error_msg"), "it\\ broke\\\\");
    cr_assert_str_eq(pmi1_cmd_get(c, "down\\"), "");
    CLEANUP_FREE char *plain = pmi1_unescape(pmi1_cmd_get(c, "error_msg"));
    cr_assert_str_eq(plain, "it broke\\");
    pmi1_parse_destroy(p);
}

Test(pmi1_parse, byte_by_byte)
{
    static const char text[] = "cmd=get key=one\ncmd=barrier_in\n";
    struct pmi1_parse *p = pmi1_parse_create();
    const struct pmi1_cmd *c;
    size_t found = 0;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        pmi1_parse_feed(p, &text[i], 1);
        int rc = pmi1_parse_next(p, &c, NULL);
        cr_assert_eq(rc, text[i] == '\n' ? 1 : 0, "byte %zu", i);
        if (rc == 1)
            cr_assert_str_eq(c->name, found++ == 0 ? "get" : "barrier_in");
    }
    cr_assert_eq(found, 2);
    pmi1_parse_destroy(p);
}

Test(pmi1_parse, several_in_one_piece)
{
    struct pmi1_parse *p = pmi1_parse_create();
    const struct pmi1_cmd *c = one(p, "cmd=a\ncmd=b x=1\ncmd=c\nrest");
    cr_assert_str_eq(c->name, "a");
    cr_assert_eq(pmi1_parse_next(p, &c, NULL), 1);
    cr_assert_str_eq(c->name, "b");
    cr_assert_eq(pmi1_parse_next(p, &c, NULL), 1);
    cr_assert_str_eq(c->name, "c");
    cr_assert_null(pmi1_cmd_get(c, "x"));
    cr_assert_eq(pmi1_parse_next(p, &c, NULL), 0);
    pmi1_parse_destroy(p);
}

Test(pmi1_parse, spawn_over_several_lines_and_segments)
{
    struct pmi1_parse *p = pmi1_parse_create();
    const struct pmi1_cmd *c;
    static const char first[] = "mcmd=spawn\nnprocs=2\nexecname=a b\ntotspawns=2\n"
                                "spawnssofar=1\narg1=x y=z\nendcmd\n";
    pmi1_parse_feed(p, first, sizeof first - 1);
    cr_assert_eq(pmi1_parse_next(p, &c, NULL), 0, "one of two segments");
    c = one(p,
            "mcmd=spawn\nnprocs=1\ntotspawns=2\nspawnssofar=2\narg1=x y=z\nendcmd\n");
    cr_assert_str_eq(c->name, "spawn");
    cr_assert_eq(c->nparts, 2);
    cr_assert_str_eq(pmi1_cmd_get(c, "execname"), "a b");
    cr_assert_str_eq(pmi1_part_get(&c->parts[0], "nprocs"), "2");
    cr_assert_str_eq(pmi1_part_get(&c->parts[1], "nprocs"), "1");
    cr_assert_str_eq(pmi1_part_get(&c->parts[1], "arg1"), "x y=z");
    c = one(p, "cmd=get_appnum\n");
    cr_assert_str_eq(c->name, "get_appnum");
    pmi1_parse_destroy(p);
}

Test(pmi1_parse, what_is_no_pmi1)
{
    assert_broken("GET / HTTP/1.1\n", "\"GET / HTTP/1.1\" is no PMI-1 command");
    assert_broken("\n", "is no PMI-1 command");
    assert_broken("cmd=\n", "without a name");
    assert_broken("mcmd=\n", "without a name");
    assert_broken("cmd=put =value\n", "a value without a key");
    assert_broken("mcmd=spawn\n\n", "a value without a key");
    assert_broken("cmd=put key=\001\n", "byte 0x01 in column 13");
    CLEANUP_FREE char *nul = broken("cmd=put\0\n", 9);
    cr_assert(strstr(nul, "byte 0x00") != NULL, "%s", nul);
}

static char *line_of(size_t len)
{
    char *line = xmalloc(len + 2);
    memset(line, 'x', len);
    memcpy(line, "cmd=", 4);
    memcpy(line + len, "\n", 2);
    return line;
}

Test(pmi1_parse, lines_are_bounded_also_without_their_end)
{
    CLEANUP_FREE char *fits = line_of(PMI1_LINE_MAX);
    struct pmi1_parse *p = pmi1_parse_create();
    cr_assert_eq(strlen(one(p, fits)->name), PMI1_LINE_MAX - 4);
    pmi1_parse_destroy(p);
    CLEANUP_FREE char *longer = line_of(PMI1_LINE_MAX + 1);
    assert_broken(longer, "more than 65536 bytes");
    longer[PMI1_LINE_MAX + 1] = '\0';
    assert_broken(longer, "more than 65536 bytes");
}

Test(pmi1_parse, commands_are_bounded)
{
    CLEANUP_FREE char *many = xmalloc(16 + 8 * (PMI1_ARGS_MAX + 2));
    size_t at = (size_t)sprintf(many, "mcmd=spawn\n");
    for (int i = 0; i <= PMI1_ARGS_MAX; i++)
        at += (size_t)sprintf(many + at, "k%d\n", i);
    assert_broken(many, "more than 4096 keys");
    struct pmi1_parse *p = pmi1_parse_create();
    CLEANUP_FREE char *line = line_of(PMI1_LINE_MAX);
    const struct pmi1_cmd *c;
    int rc = 0;
    pmi1_parse_feed(p, "mcmd=spawn\n", 11);
    for (int i = 0; i < 20 && rc == 0; i++) {
        pmi1_parse_feed(p, line, PMI1_LINE_MAX + 1);
        rc = pmi1_parse_next(p, &c, NULL);
    }
    cr_assert_eq(rc, -1);
    pmi1_parse_destroy(p);
}
