// What roles tell each other, and who gets which members.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/roles.h"
#include "launcher/roles_opts.h"

static const char *const names[] = {"prefill", "de-code"};

static bool set(struct roles *r, size_t role, const char *text)
{
    return roles_set(r, role, text, strlen(text));
}

Test(roles, names)
{
    static const char *const good[] = {"a", "prefill", "P-2",
                                       "abcdefghijklmnopqrstuvwxyzabcdef"};
    static const char *const bad[] = {
        "", "2", "-a", "a_b", "a.b", "a b", "abcdefghijklmnopqrstuvwxyzabcdefg"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_assert(roles_name_is_valid(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(roles_name_is_valid(bad[i]), "%s", bad[i]);
}

Test(roles, a_document_has_all_parts_and_a_version_that_grows_with_changes)
{
    struct roles *r = roles_create(names, 2);
    cr_assert_str_eq(roles_state(r, 0), "");
    cr_assert(set(r, 0, "{\"state\":\"running\"}"));
    cr_assert_not(set(r, 0, "{\"state\": \"running\"}"), "nothing of it is new");
    cr_assert_not(set(r, 0, "[1]"), "it is none");
    cr_assert_not(set(r, 0, "{"));
    cr_assert_not(roles_are_whole(r));
    cr_assert(set(r, 1, "{\"state\":\"starting\"}"));
    cr_assert(roles_are_whole(r));
    cr_assert_str_eq(roles_state(r, 1), "starting");
    CLEANUP_FREE char *text = roles_text(r);
    cr_assert_str_eq(text, "{\n \"version\": 2,\n \"roles\": {\n  \"prefill\": {\n   "
                           "\"state\": \"running\"\n  },\n  \"de-code\": {\n   "
                           "\"state\": \"starting\"\n  }\n }\n}\n");
    roles_destroy(r);
}

static char *document(const char *prefill, const char *decode)
{
    struct roles *r = roles_create(names, 2);
    set(r, 0, prefill);
    set(r, 1, decode);
    char *text = roles_text(r);
    roles_destroy(r);
    return text;
}

Test(roles, variables_name_the_role_and_all_addresses)
{
    STRV_AUTO env = STRV_INIT;
    CLEANUP_FREE char *text = document(
        "{\"members\":[{\"address\":\"10.0.0.1\"},{\"address\":\"10.0.0.2\"}]}",
        "{\"members\":[{\"address\":\"fd00::3\"}]}");
    roles_env(text, "de-code", &env);
    cr_assert_eq(env.n, 4);
    cr_assert_str_eq(strv_getenv(&env, "MUSTER_ROLE"), "de-code");
    cr_assert_str_eq(strv_getenv(&env, "MUSTER_ROLES"), "prefill,de-code");
    cr_assert_str_eq(strv_getenv(&env, "MUSTER_ROLE_ADDRS_PREFILL"),
                     "10.0.0.1,10.0.0.2");
    cr_assert_str_eq(strv_getenv(&env, "MUSTER_ROLE_ADDRS_DE_CODE"), "fd00::3");
}

Test(roles, many_addresses_are_in_the_file_alone)
{
    STRV_AUTO env = STRV_INIT;
    char *list = xstrdup("{\"address\":\"10.0.0.1\"}");
    for (int i = 0; i < 64; i++) {
        char *more = xasprintf("%s,{\"address\":\"10.0.0.1\"}", list);
        free(list);
        list = more;
    }
    CLEANUP_FREE char *part = xasprintf("{\"members\":[%s]}", list);
    CLEANUP_FREE char *text = document(part, "{}");
    free(list);
    roles_env(text, "prefill", &env);
    cr_assert_eq(env.n, 2);
}

// Before, now: of "prefill", attempt and state. The question is de-code's.
static const struct {
    char before[48], now[48];
    bool news;
} changes[] = {
    {"{\"attempt\":1,\"state\":\"starting\"}", "{\"attempt\":1,\"state\":\"running\"}",
     false},
    {"{\"attempt\":1,\"state\":\"running\"}",
     "{\"attempt\":1,\"state\":\"restarting\"}", false},
    {"{\"attempt\":2,\"state\":\"starting\"}", "{\"attempt\":2,\"state\":\"running\"}",
     true},
    {"{\"attempt\":1,\"state\":\"running\"}", "{\"attempt\":2,\"state\":\"running\"}",
     true},
    {"{\"attempt\":2,\"state\":\"running\"}", "{\"attempt\":2,\"state\":\"running\"}",
     false},
};

Test(roles, a_role_that_runs_again_is_news_for_the_others)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        CLEANUP_FREE char *before = document(changes[i].before, "{}");
        CLEANUP_FREE char *now = document(changes[i].now, "{}");
        cr_assert_eq(roles_run_again(before, now, "de-code"), changes[i].news, "%zu",
                     i);
        cr_assert_not(roles_run_again(before, now, "prefill"), "its own");
    }
}

// ---- members --------------------------------------------------------------------

// -n of up to three roles; 0: none.
static const struct {
    uint32_t ranks[3], each, from[3], to[3];
    char says[48]; // "": they can
} shares[] = {
    {{2, 4, 1}, 1, {0, 2, 6}, {2, 6, 7}, ""},
    {{4, 3, 8}, 4, {0, 1, 2}, {1, 2, 4}, ""},
    {{2, 2, 0}, 2, {0, 1, 2}, {1, 2, 0}, ""},
    {{2, 0, 2}, 2, {0}, {0}, "--role b has no -n"},
    {{2, 2, 2}, 0, {0}, {0}, "give --per-node, --ppn K or --slots K"},
};

Test(roles, members_are_shared_in_the_roles_order)
{
    static const char *const roles[] = {"a", "b", "c"};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        ERR_AUTO err = ERR_INIT;
        uint32_t from[3], to[3];
        struct app_opts v[3] = {{0}};
        struct apps_opts apps = {v, 3};
        for (size_t k = 0; k < 3; k++) {
            v[k].role = roles[k];
            v[k].ranks = shares[i].ranks[k];
        }
        int rc = roles_opts_share(&apps, shares[i].each, from, to, &err);
        cr_assert_eq(rc, shares[i].says[0] == '\0' ? 0 : -1);
        if (rc < 0)
            cr_assert_not_null(strstr(err.text, shares[i].says), "%s", err.text);
        for (size_t k = 0; rc == 0 && k < 3; k++) {
            cr_assert_eq(from[k], shares[i].from[k]);
            cr_assert_eq(to[k], shares[i].to[k]);
        }
    }
}
