// Hosts on a command line.
#include <criterion/criterion.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/hostlist.h"

static char *read_with(const char *text, int bare)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    BUF_AUTO b = BUF_INIT;
    if (hostlist_read(text, "--host", bare, "this-pod", &m, &err) < 0)
        return xstrdup(err_text(&err));
    for (size_t i = 0; i < m.n; i++)
        buf_printf(&b, "%s%s%s%s=%d", i > 0 ? " " : "", m.v[i].user ? m.v[i].user : "",
                   m.v[i].user ? "@" : "", m.v[i].name, m.v[i].slots);
    return buf_steal_str(&b);
}

static void expect(const char *text, const char *expected)
{
    CLEANUP_FREE char *got = read_with(text, 1);
    cr_assert_eq(strncmp(got, expected, strlen(expected)), 0, "%s: got %s, expected %s",
                 text, got, expected);
    cr_assert(expected[0] == '-' || strcmp(got, expected) == 0, "%s: got %s", text,
              got);
}

Test(hostlist, counts_and_repeats)
{
    expect("a:2,b:2,[fd00::5]:4", "a=2 b=2 fd00::5=4");
    expect("a", "a=1");
    expect("a,b,A", "a=2 b=1");
    expect("a:2,b,a:3", "a=5 b=1");
    expect("a:0,b:2", "a=0 b=2");
    expect("fd00::5", "fd00::5=1");
    expect("10.9.0.1,10.9.0.2:4", "10.9.0.1=1 10.9.0.2=4");
    expect("u@10.9.0.1,u@10.9.0.2:2", "u@10.9.0.1=1 u@10.9.0.2=2");
    expect("nodeA,nodeB[001,003]:2,nodeC", "nodeA=1 nodeB001=2 nodeB003=2 nodeC=1");
    expect("c1009a-s17,c1010a-s11", "c1009a-s17=1 c1010a-s11=1");
    expect("localhost:2", "localhost=2");
    expect("localhost:2,10.44.0.11", "this-pod=2 10.44.0.11=1");
}

Test(hostlist, a_bare_host_may_have_no_count)
{
    CLEANUP_FREE char *got = read_with("train-[0-1].train", -1);
    cr_assert_str_eq(got, "train-0.train=-1 train-1.train=-1");
}

Test(hostlist, refuses_with_the_column)
{
    expect("", "--host:1: HF_EMPTY");
    expect("a,,b", "--host:3: HF_SYNTAX");
    expect("a,", "--host:3: HF_SYNTAX");
    expect("a:2,b:x", "--host:7: HF_BAD_COUNT");
    expect("a:", "--host:3: HF_BAD_COUNT");
    expect("a:-1", "--host:3: HF_BAD_COUNT");
    expect("a:1000000,a:1", "--host:11: HF_BAD_COUNT");
    expect(":4", "--host:1: HF_SYNTAX");
    expect("a b", "--host:2: HF_BAD_NAME");
    expect("a,20260", "--host:3: HF_BAD_NAME");
    expect("a,+n0", "--host:3: HF_RELATIVE_IN_ALLOC");
    expect("[fd00::5", "--host:1: HF_BAD_NAME");
    expect("[fd00::5]x", "--host:10: HF_SYNTAX");
    expect("[fd00::5%eth0]", "--host:1: HF_BAD_NAME");
    expect("fd00:1:2:3:4:5:6:7:8", "--host:1: HF_BAD_NAME");
    expect("u@a,v@a", "--host:5: HF_CONFLICT");
    expect("@a", "--host:1: HF_SYNTAX");
    expect("u@v@a", "--host:4: HF_SYNTAX");
    expect("a\xc3\xa4", "--host:2: HF_ENCODING");
}
