// Filters: DeepSpeed's --include and --exclude, Open MPI's hostfile over a hostfile.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/filter.h"

typedef int (*filter_fn)(struct members *m, const char *spec, struct err *err);

static int filter_list(struct members *m, const char *text, struct err *err)
{
    MEMBERS_AUTO list = MEMBERS_INIT;
    if (dialect_read(dialect_filter(), text, strlen(text), "L", NULL, &list, NULL,
                     err) < 0)
        return -1;
    return filter_by_list(m, &list, "L", err);
}

// "a=2 b=1[0,3]", or the error; '-' where there is no count.
static char *result(filter_fn filter, const char *hosts, const char *spec)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    MEMBERS_AUTO before = MEMBERS_INIT;
    BUF_AUTO b = BUF_INIT;
    cr_assert_eq(
        dialect_read(dialect_auto(), hosts, strlen(hosts), "F", NULL, &m, NULL, &err),
        0, "%s", err_text(&err));
    members_copy(&before, &m);
    if (filter(&m, spec, &err) < 0) {
        cr_assert(members_equal(&m, &before), "'%s' changed something", spec);
        return xstrdup(err_text(&err));
    }
    for (size_t i = 0; i < m.n; i++) {
        buf_printf(&b, "%s%s=", i > 0 ? " " : "", m.v[i].name);
        if (m.v[i].slots < 0)
            buf_append_str(&b, "-");
        else
            buf_printf(&b, "%d", m.v[i].slots);
        if (m.v[i].slot_ids != NULL)
            buf_printf(&b, "[%s]", m.v[i].slot_ids);
    }
    return buf_steal_str(&b);
}

static void expect(filter_fn filter, const char *hosts, const char *spec,
                   const char *wanted)
{
    CLEANUP_FREE char *got = result(filter, hosts, spec);
    cr_assert_str_eq(got, wanted, "'%s': got %s, expected %s", spec, got, wanted);
}

static void refuse(filter_fn filter, const char *hosts, const char *spec,
                   const char *head)
{
    CLEANUP_FREE char *got = result(filter, hosts, spec);
    cr_assert_eq(strncmp(got, head, strlen(head)), 0, "'%s': got %s, expected %s", spec,
                 got, head);
}

static const char two[] = "n1 slots=2\nn3 slots=4\n";

// Case hf-06: a host without a list of slots means all of them.
Test(filter, include_as_deepspeed)
{
    expect(filter_include, two, "n3", "n3=4");
    expect(filter_include, two, "n3:1,2", "n3=2[1,2]");
    expect(filter_include, two, "n3:2@n1", "n1=2 n3=1[2]");
    expect(filter_include, two, "n3:2@n3:0,2", "n3=2[0,2]");
    expect(filter_include, two, "n3:2@n3", "n3=4");
    expect(filter_include, "a\nb\n", "b:0,5", "b=2[0,5]");
    expect(filter_include, "[fd00::5]:4\n", "[fd00::5]:1", "fd00::5=1[1]");
    refuse(filter_include, two, "n9",
           "--include:1: HF_NO_SUCH_HOST: there is no host 'n9'");
    refuse(filter_include, two, "n1@n9:1", "--include:4: HF_NO_SUCH_HOST: ");
    refuse(filter_include, two, "n3:4", "--include:4: HF_BAD_SLOT: there is no slot 4");
    refuse(filter_include, two, "n3:1,x", "--include:6: HF_BAD_SLOT: 'x'");
    refuse(filter_include, two, "n3:", "--include:4: HF_BAD_SLOT: ''");
    refuse(filter_include, two, "", "--include:1: HF_SYNTAX: ");
    refuse(filter_include, two, "n3@", "--include:4: HF_SYNTAX: ");
}

Test(filter, exclude_as_deepspeed)
{
    expect(filter_exclude, two, "n3", "n1=2");
    expect(filter_exclude, two, "n3:1,2", "n1=2 n3=2[0,3]");
    expect(filter_exclude, two, "n1:0,1", "n3=4");
    refuse(filter_exclude, two, "n1@n3", "--exclude: HF_EMPTY: ");
    refuse(filter_exclude, "a\nb slots=1\n", "a:0", "--exclude: HF_BAD_SLOT: a has no");
}

// Case hf-17: a short form must not be cut out of two names.
Test(filter, short_forms_must_be_of_one_host)
{
    static const char sites[] = "node01.siteA\nnode01.siteB\nnode02.siteA\n";
    refuse(filter_include, sites, "node01",
           "--include:1: AMBIGUOUS_HOST: 'node01' may be node01.siteA, node01.siteB: ");
    expect(filter_include, sites, "node02", "node02.siteA=-");
    expect(filter_include, sites, "NODE01.sitea.", "node01.siteA=-");
    refuse(filter_include, sites, "node", "--include:1: HF_NO_SUCH_HOST: ");
    refuse(filter_include, "10.0.0.1\n", "10.0", "--include:1: HF_NO_SUCH_HOST: ");
}

// Case hf-52: relative names choose from a list. Case hf-53: they count from its head.
Test(filter, relative_names)
{
    expect(filter_list, "a\nb\nc\n", "+n0\n+n1 slots=2\n", "a=- b=2");
    expect(filter_list, "w0\nw1\n", "+n0\n", "w0=-");
    expect(filter_include, "w0\nw1\n", "+n0", "w0=-");
    expect(filter_list, "a\nb\nc slots=4\n", "+e:2\nb\n", "a=- b=- c=4");
    expect(filter_list, "a\nb\nc\n", "+e:1\n", "a=-");
    refuse(filter_list, "a\nb\n", "+n2\n", "L:1:1: HF_NO_SUCH_HOST: ");
    refuse(filter_list, "a\nb\n", "x\n", "L:1:1: HF_NO_SUCH_HOST: ");
    refuse(filter_list, "a\nb\n", "+e:0\n", "L: HF_EMPTY: no host is left");
    refuse(filter_list, "a\nb\n", "a\n+n0\n", "L:2:1: HF_DUP_COUNT: a is chosen twice");
    refuse(filter_list, "a slots=1\n", "a:2\n", "L:1:1: HF_BAD_COUNT: 2 slots of a");
    refuse(filter_list, "a slots=1\n", "+x1\n", "L:1:1: HF_RELATIVE_IN_ALLOC: ");
}
