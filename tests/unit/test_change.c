// Differences between two groups.
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/hostname.h"
#include "sidecar/change.h"

// "a=10.0.0.1 b= c=fd00::1"
static void read_members(const char *text, struct members *out)
{
    STRV_AUTO words = STRV_INIT;
    strv_add_split(&words, text, ' ');
    for (size_t i = 0; i < words.n; i++) {
        char *at = strchr(words.v[i], '=');
        struct member *m = members_add(out, words.v[i], (size_t)(at - words.v[i]));
        if (at[1] != '\0')
            cr_assert(hostname_literal(at + 1, strlen(at + 1), &m->addr));
    }
}

static void expect(const char *was, const char *is, const char *json, const char *env)
{
    MEMBERS_AUTO before = MEMBERS_INIT, after = MEMBERS_INIT;
    BUF_AUTO out = BUF_INIT;
    STRV_AUTO vars = STRV_INIT;
    struct change c;
    json_error_t why;
    read_members(was, &before);
    read_members(is, &after);
    change_find(&before, &after, &c);
    change_json(&c, 7, &out);
    change_env(&c, 7, &vars);
    CLEANUP_FREE char *text = buf_steal_str(&out);
    CLEANUP_FREE char *want = xasprintf("{\"generation\":7,%s}\n", json);
    CLEANUP_FREE char *got = xasprintf(
        "%s %s %s %s", strv_getenv(&vars, "MUSTER_MEMBERS"),
        strv_getenv(&vars, "MUSTER_ADDED"), strv_getenv(&vars, "MUSTER_REMOVED"),
        strv_getenv(&vars, "MUSTER_CHANGED"));
    cr_assert_str_eq(text, want);
    cr_assert_str_eq(got, env);
    cr_assert_str_eq(strv_getenv(&vars, "MUSTER_GENERATION"), "7");
    cr_assert_eq(change_is_empty(&c), strstr(env, " 0 0 0") != NULL);
    json_t *parsed = json_loads(text, 0, &why);
    cr_assert_not_null(parsed, "%s", why.text);
    json_decref(parsed);
}

Test(change, first_all_are_new)
{
    expect("", "a=10.0.0.1 b=",
           "\"members\":2,\"added\":[{\"name\":\"a\",\"address\":\"10.0.0.1\"},"
           "{\"name\":\"b\",\"address\":null}],\"removed\":[],\"changed\":[]",
           "2 2 0 0");
}

Test(change, a_replaced_pod_has_changed)
{
    expect("a=10.0.0.1 b=10.0.0.2 c=", "A=10.0.0.1 b=fd00::2 c=10.0.0.3",
           "\"members\":3,\"added\":[],\"removed\":[],\"changed\":[{\"name\":\"b\","
           "\"old\":\"10.0.0.2\",\"new\":\"fd00::2\"},{\"name\":\"c\",\"old\":null,"
           "\"new\":\"10.0.0.3\"}]",
           "3 0 0 2");
}

Test(change, addresses_as_names_come_and_go)
{
    expect("10.0.0.1=10.0.0.1 10.0.0.2=10.0.0.2", "10.0.0.3=10.0.0.3 10.0.0.1=10.0.0.1",
           "\"members\":2,\"added\":[{\"name\":\"10.0.0.3\",\"address\":\"10.0.0.3\"}],"
           "\"removed\":[{\"name\":\"10.0.0.2\",\"address\":\"10.0.0.2\"}],"
           "\"changed\":[]",
           "2 1 1 0");
}

Test(change, order_is_no_change)
{
    expect("a=10.0.0.1 b=10.0.0.2", "b=10.0.0.2 a=10.0.0.1",
           "\"members\":2,\"added\":[],\"removed\":[],\"changed\":[]", "2 0 0 0");
}
