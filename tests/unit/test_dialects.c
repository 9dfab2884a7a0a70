// Dialects: what is written, what comes back, and what auto takes a text for.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/dialect.h"

static const struct dialect *find(const char *name, bool writes)
{
    ERR_AUTO err = ERR_INIT;
    const struct dialect *d = dialect_find(name, "test", writes, &err);
    cr_assert_not_null(d, "%s", err_text(&err));
    return d;
}

static void read_as(const char *dialect, const char *text, struct members *m)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(dialect_read(find(dialect, false), text, strlen(text), "F", NULL, m,
                              NULL, &err),
                 0, "%s", err_text(&err));
}

// What `text` of dialect `in` is in dialect `to`, or the error; warnings are counted.
static char *convert(const char *in, const char *text, const char *to, size_t *warnings)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    BUF_AUTO out = BUF_INIT;
    STRV_AUTO told = STRV_INIT;
    read_as(in, text, &m);
    int rc = dialect_write(find(to, true), &m, &out, &told, &err);
    cr_assert(rc == 0 || buf_len(&out) == 0, "half a text beside an error");
    *warnings = told.n;
    return rc == 0 ? buf_steal_str(&out) : xstrdup(err_text(&err));
}

static void expect(const char *in, const char *text, const char *to, const char *wanted,
                   size_t warnings)
{
    size_t told;
    CLEANUP_FREE char *got = convert(in, text, to, &told);
    cr_assert_str_eq(got, wanted, "%s to %s: got %s, expected %s", in, to, got, wanted);
    cr_assert_eq(told, warnings, "%s to %s: %zu warnings", in, to, told);
}

static void expect_refusal(const char *in, const char *text, const char *to,
                           const char *word)
{
    size_t told;
    CLEANUP_FREE char *got = convert(in, text, to, &told);
    cr_assert_not_null(strstr(got, "HF_CANNOT_WRITE: "), "%s to %s: %s", in, to, got);
    cr_assert_not_null(strstr(got, word), "%s to %s: %s", in, to, got);
}

static const char all_keys[] = "u@a slots=2 max_slots=4 port=22\nb.c. slots=3\n";

Test(dialects, write_what_they_have_a_place_for)
{
    expect("auto", all_keys, "openmpi",
           "a slots=2 max_slots=4 port=22 username=u\nb.c. slots=3\n", 0);
    expect("auto", all_keys, "prrte",
           "a slots=2 max_slots=4 port=22 username=u\nb.c. slots=3\n", 0);
    expect("auto", all_keys, "hydra", "a:2 user=u\nb.c.:3\n", 2);
    expect("auto", all_keys, "intel", "a:2 user=u\nb.c.:3\n", 2);
    expect("auto", all_keys, "deepspeed", "u@a slots=2\nb.c. slots=3\n", 2);
    expect("auto", all_keys, "horovod", "a:2,b.c.:3\n", 3);
    expect("auto", all_keys, "slurm", "a,b.c.\n", 4);
    expect("auto", all_keys, "plain", "a\nb.c.\n", 4);
}

Test(dialects, tell_of_counts_that_are_missing)
{
    expect("plain", "a b", "openmpi", "a\nb\n", 0);
    expect("plain", "a b", "intel", "a\nb\n", 0);
    expect("plain", "a b", "hydra", "a\nb\n", 1); // which takes 1 for each
    expect("plain", "a b", "horovod", "a:1,b:1\n", 1);
    expect("plain", "a b", "slurm", "a,b\n", 0);
    expect_refusal("plain", "a b", "deepspeed", "--slots N");
}

Test(dialects, refuse_addresses_that_their_tool_would_cut)
{
    expect("auto", "[fd00::5]:2\n", "openmpi", "fd00::5 slots=2\n", 0);
    expect("auto", "[fd00::5]:2\n", "deepspeed", "fd00::5 slots=2\n", 0);
    expect_refusal("auto", "[fd00::5]:2\n", "hydra", "fd00::5");
    expect_refusal("auto", "[fd00::5]:2\n", "horovod", "fd00::5");
}

Test(dialects, repeats_of_a_host)
{
    expect("hydra", "a:2\nb\na:3\n", "hydra", "a:2\nb:1\na:3\n", 0);
    expect("hydra", "a:2\na\nb\n", "horovod", "a:3,b:1\n", 0);
    expect("hydra", "a:2\nb\na:3\n", "openmpi", "a slots=5\nb slots=1\n", 1);
    expect("horovod", "a:2,a:3", "deepspeed", "a slots=5\n", 1);
    expect_refusal("slurm", "u@a,v@a", "hydra", "users differ");
    expect_refusal("slurm", "u@a,a", "intel", "users differ");
    expect("slurm", "a,a,b", "plain", "a\nb\n", 2); // merged, and the count left out
    expect("slurm", "a,a,b", "slurm", "a,a,b\n", 0);
}

Test(dialects, repeats_of_localhost)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    static const char list[] = "localhost:2,b:1,localhost:3";
    cr_assert_eq(dialect_read(find("horovod", false), list, strlen(list), "F",
                              "this-pod", &m, NULL, &err),
                 0, "%s", err_text(&err));
    cr_assert_str_eq(m.v[0].name, "this-pod");
    cr_assert_str_eq(m.v[2].name, "this-pod");
    cr_assert_eq(m.warnings.n, 1);
}

Test(dialects, json)
{
    static const char wanted[] =
        "{\n  \"members\": [\n"
        "    {\"name\": \"a\", \"slots\": 2, \"max_slots\": 4, \"user\": \"u\", "
        "\"port\": 22},\n"
        "    {\"name\": \"b.c\", \"slots\": null, \"max_slots\": null, \"user\": null, "
        "\"port\": null}\n"
        "  ],\n  \"warnings\": []\n}\n";
    expect("auto", "u@a slots=2 max_slots=4 port=22\nb.c.\n", "json", wanted, 0);
}

Test(dialects, json_escapes_what_a_file_may_be_called)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    BUF_AUTO out = BUF_INIT;
    STRV_AUTO told = STRV_INIT;
    cr_assert_eq(dialect_read(dialect_auto(), "a\r\n", 3,
                              "q\"\\\n\xc3\xb6\xff\xed\xa0\x80", NULL, &m, NULL, &err),
                 0);
    cr_assert_eq(dialect_write(find("json", true), &m, &out, &told, &err), 0);
    CLEANUP_FREE char *text = buf_steal_str(&out);
    cr_assert_not_null(
        strstr(text, "\"q\\\"\\\\\\u000a\xc3\xb6\\ufffd\\ufffd\\ufffd\\ufffd:1:1: "),
        "%s", text);
}

static void expect_auto(const char *text, const char *dialect, size_t warnings)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    const struct dialect *as;
    cr_assert_eq(
        dialect_read(dialect_auto(), text, strlen(text), "F", NULL, &m, &as, &err), 0,
        "%s", err_text(&err));
    cr_assert_str_eq(dialect_name(as), dialect, "'%s' is %s", text, dialect_name(as));
    cr_assert_eq(m.warnings.n, warnings, "'%s'", text);
}

Test(dialects, auto_says_what_it_took_a_text_for)
{
    expect_auto("a slots=2\nb slots=2\n", "openmpi", 0);
    expect_auto("a slots=2\n^b\n", "prrte", 1);
    expect_auto("a:2\nb:2\n", "hydra", 0);
    expect_auto("a:2,b:2\n", "horovod", 0);
    expect_auto("a\nb\n", "plain", 0);
    expect_auto("a\na\n", "openmpi", 0);
    expect_auto("a[1-2],b\n", "slurm", 0);
    expect_auto("a slots=2\nb:2\n", "auto", 0);
    expect_auto("a[1-2]:2\n", "auto", 0);
    expect_auto("a:2\nb\n", "auto", 1); // one slot in Hydra, not given in others
}

Test(dialects, are_found_by_name_and_alias)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(find("mpich", false), find("hydra", true));
    cr_assert_eq(find("pdsh", true), find("slurm", false));
    cr_assert_null(dialect_find("json", "--in", false, &err));
    cr_assert_str_eq(err_text(&err),
                     "--in is 'json', not a dialect that can be read: auto, openmpi, "
                     "prrte, hydra, intel, deepspeed, horovod, slurm, plain");
    cr_assert_null(dialect_find("auto", "--to", true, &err));
    cr_assert_null(dialect_find("", "--to", true, &err));
}

// What was written in a dialect reads as the same members.
Test(dialects, round_trips)
{
    static const char *const names[] = {"openmpi",   "prrte",   "hydra", "intel",
                                        "deepspeed", "horovod", "slurm", "plain"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        MEMBERS_AUTO first = MEMBERS_INIT;
        MEMBERS_AUTO again = MEMBERS_INIT;
        bool counts = strcmp(names[i], "slurm") != 0 && strcmp(names[i], "plain") != 0;
        const char *text = counts ? "node-1 slots=3\n10.1.2.3 slots=0\nx.y. slots=1\n"
                                  : "node-08\nnode-09\nnode-10\n10.1.2.3\nx.y.\n";
        size_t told;
        CLEANUP_FREE char *once = convert("auto", text, names[i], &told);
        CLEANUP_FREE char *twice = convert(names[i], once, names[i], &told);
        cr_assert_str_eq(once, twice);
        read_as("auto", text, &first);
        read_as(names[i], once, &again);
        cr_assert_eq(again.n, first.n, "%s: %s", names[i], once);
        for (size_t k = 0; k < first.n; k++)
            again.v[k].line = first.v[k].line;
        cr_assert(members_equal(&first, &again), "%s: %s", names[i], once);
    }
}
