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
    cr_assert(set(r, 0, "{\"state\":\"running\"}"));
    cr_assert_not(set(r, 0, "{\"state\": \"running\"}"), "nothing of it is new");
    cr_assert_not(set(r, 0, "[1]"), "it is none");
    cr_assert_not(set(r, 0, "{"));
    cr_assert_not(roles_are_whole(r));
    cr_assert(set(r, 1, "{\"state\":\"starting\"}"));
    cr_assert(roles_are_whole(r));
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

Test(roles, a_part_that_is_newer_than_the_document_takes_its_place)
{
    STRV_AUTO env = STRV_INIT;
    CLEANUP_FREE char *old = document("{\"members\":[{\"address\":\"10.0.0.1\"}]}",
                                      "{\"members\":[{\"address\":\"10.0.0.3\"}]}");
    CLEANUP_FREE char *new =
        roles_with(old, "prefill", "{\"members\":[{\"address\":\"10.0.0.2\"}]}");
    roles_env(new, "prefill", &env);
    cr_assert_str_eq(strv_getenv(&env, "MUSTER_ROLE_ADDRS_PREFILL"), "10.0.0.2");
    cr_assert_str_eq(strv_getenv(&env, "MUSTER_ROLE_ADDRS_DE_CODE"), "10.0.0.3");
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

// -n and --spares of up to three roles; 0: none.
static const struct {
    uint32_t ranks[3], spares[3], each, from[3], to[3];
    char says[48]; // "": they can
} shares[] = {
    {{2, 4, 1}, {0}, 1, {0, 2, 6}, {2, 6, 7}, ""},
    {{4, 3, 8}, {0}, 4, {0, 1, 2}, {1, 2, 4}, ""},
    {{2, 2, 0}, {0}, 2, {0, 1, 2}, {1, 2, 0}, ""},
    {{4, 3, 8}, {1, 0, 2}, 4, {0, 2, 3}, {2, 3, 7}, ""},
    {{2, 2, 0}, {0, 1, 1}, 2, {0, 1, 3}, {1, 3, 0}, ""},
    {{2, 0, 2}, {0}, 2, {0}, {0}, "--role b has no -n and no --grid"},
    {{2, 2, 2}, {0}, 0, {0}, {0}, "give --per-node, --ppn K or --slots K"},
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
            v[k].spares = shares[i].spares[k];
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

// ---- pages ----------------------------------------------------------------------

static const struct {
    const char *where;
    size_t role;
    const char *own; // NULL: there is no such port
} pages[] = {
    {"7900", 0, "7900"},
    {"7900", 2, "7902"},
    {"0.0.0.0:7900", 1, "0.0.0.0:7901"},
    {"[::1]:65534", 1, "[::1]:65535"},
    {"65535", 1, NULL},
    {"0", 3, "0"},
    {"[::]:0", 1, "[::]:0"},
};

Test(roles, each_role_has_a_port_of_its_own)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        ERR_AUTO err = ERR_INIT;
        CLEANUP_FREE char *own = roles_opts_status(pages[i].where, pages[i].role, &err);
        if (pages[i].own == NULL)
            cr_assert_str_eq(err_text(&err), "--status 65535: role number 2 would have "
                                             "port 65536: give a lower one");
        else
            cr_assert_str_eq(own, pages[i].own);
    }
}

// ---- --restart-scope job -----------------------------------------------------------

// Two roles and the launcher of all, with what is under way between them.
struct pair {
    struct {
        struct roles_generation generation;
        bool lives;
        uint32_t attempts, failures;
        uint32_t told, order; // 0: none is under way
    } v[2];
    uint32_t highest;
};

static void attempt_ends(struct pair *p, size_t i)
{
    p->v[i].lives = false;
}

static void attempt_begins(struct pair *p, size_t i)
{
    roles_generation_next(&p->v[i].generation);
    p->v[i].lives = true;
    p->v[i].attempts++;
    p->v[i].told = p->v[i].generation.now;
}

static void is_heard(struct pair *p, size_t i)
{
    if (p->v[i].told > p->highest)
        p->highest = p->v[1 - i].order = p->v[i].told;
    p->v[i].told = 0;
}

static void is_ordered(struct pair *p, size_t i)
{
    bool lives = p->v[i].lives; // else it stops, and begins again by itself
    if (roles_generation_order(&p->v[i].generation, p->v[i].order, true) && lives)
        attempt_ends(p, i);
    p->v[i].order = 0;
}

// One step of those that are possible; false: there is none.
static bool step(struct pair *p, unsigned draw, uint32_t failures)
{
    for (unsigned k = 0; k < 8; k++) {
        unsigned which = (draw + k) % 8;
        size_t i = which % 2;
        if (which < 2 && p->v[i].told > 0)
            return is_heard(p, i), true;
        if (which / 2 == 1 && p->v[i].order > 0)
            return is_ordered(p, i), true;
        if (which / 2 == 2 && !p->v[i].lives)
            return attempt_begins(p, i), true;
        if (which / 2 == 3 && p->v[i].lives && p->v[i].failures < failures) {
            p->v[i].failures++;
            return attempt_ends(p, i), true;
        }
    }
    return false;
}

Test(roles, those_that_start_again_together_end_in_one_generation)
{
    for (unsigned seed = 0; seed < 20000; seed++) {
        struct pair p = {
            .v = {{.lives = true, .attempts = 1}, {.lives = true, .attempts = 1}}};
        unsigned state = seed;
        int steps = 0;
        while (step(&p, (state = state * 1103515245U + 12345U) >> 16, 3))
            cr_assert_lt(++steps, 200, "seed %u: it goes on for ever", seed);
        cr_assert_eq(p.v[0].generation.now, p.v[1].generation.now, "seed %u", seed);
        for (size_t i = 0; i < 2; i++)
            cr_assert_leq(p.v[i].attempts, 1 + p.v[i].generation.now, "seed %u", seed);
    }
}

Test(roles, two_that_fail_in_one_generation_start_again_once)
{
    for (size_t first = 0; first < 2; first++) {
        struct pair p = {.v = {{.lives = true}, {.lives = true}}};
        attempt_ends(&p, 0);
        attempt_ends(&p, 1);
        attempt_begins(&p, first);
        is_heard(&p, first);
        attempt_begins(&p, 1 - first);
        is_ordered(&p, 1 - first);
        is_heard(&p, 1 - first);
        cr_assert(p.v[0].lives && p.v[1].lives);
        cr_assert_eq(p.v[first].order, 0);
    }
}

Test(roles, what_is_ordered_before_an_attempt_begins_is_its_own)
{
    struct roles_generation g = {0};
    cr_assert_not(roles_generation_order(&g, 2, false));
    cr_assert_eq(g.now, 2);
    cr_assert(roles_generation_order(&g, 4, true));
    cr_assert(roles_generation_order(&g, 3, true), "an older order changes nothing");
    roles_generation_next(&g);
    cr_assert_eq(g.now, 4);
}
