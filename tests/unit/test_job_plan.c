// The messages that start an attempt.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/job_plan.h"
#include "wire/msg.h"

static void add_member(struct members *m, const char *name, const char *address,
                       int port)
{
    struct member *one = members_add(m, name, strlen(name));
    struct sockaddr_in *a = (void *)&one->addr;
    a->sin_family = AF_INET;
    inet_pton(AF_INET, address, &a->sin_addr);
    one->slots = 2;
    one->port = port;
}

static void two_members(struct members *m, const char *first, const char *second)
{
    add_member(m, "train-0.train", first, -1);
    add_member(m, "train-1.train", second, 2222);
}

static struct roll *make_roll(const char *first, const char *second)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    two_members(&m, first, second);
    return roll_create("key", 1, &m);
}

static void two_vertices(struct group *g)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    two_members(&m, "10.0.0.1", "10.0.0.2");
    group_update(g, &m);
}

static Muster__Prepare *plan(const struct roll *roll, struct opts *o)
{
    struct map map;
    struct group group = {0};
    struct map_member mm[] = {{"a", 2, 0}, {"b", 2, 0}};
    const struct job_plan what = {roll, &group, &map, o};
    two_vertices(&group);
    cr_assert_eq(map_ranks(mm, 2, &o->map, &map, NULL), 0);
    Muster__Prepare *p = job_plan_prepare(&what, "ns-1", NULL);
    group_free(&group);
    map_free(&map);
    return p;
}

Test(job_plan, attach_lists_all_members_with_literals_and_ports)
{
    struct opts o = {
        .fanout = 64, .orphan_grace_ms = 5, .link_grace_ms = 9, .wait_ms = 7};
    MEMBERS_AUTO m = MEMBERS_INIT;
    two_members(&m, "10.0.0.1", "10.0.0.2");
    struct roll *roll = roll_create("key", 1, &m);
    Muster__Attach *a = job_plan_attach(roll, &m, &o);
    cr_assert_eq(a->n_members, 2);
    cr_assert_str_eq(a->members[0]->address, "10.0.0.1");
    cr_assert_eq(a->members[0]->port, MEMBERS_DEFAULT_PORT);
    cr_assert_eq(a->members[1]->port, 2222);
    cr_assert_eq(a->link_grace_ms, 5, "no more than the orphan grace");
    msg_free(a);
    roll_destroy(roll);
}

Test(job_plan, via_ssh_has_a_port_of_its_own_and_the_users_of_the_source)
{
    struct opts o = {.fanout = 64, .via = {.ssh = true, .port = 22}};
    MEMBERS_AUTO m = MEMBERS_INIT;
    two_members(&m, "10.0.0.1", "10.0.0.2");
    m.v[1].user = xstrdup("mpiuser");
    struct roll *roll = roll_create("key", 1, &m);
    Muster__Attach *a = job_plan_attach(roll, &m, &o);
    cr_assert_eq(a->members[0]->port, 22);
    cr_assert_str_eq(a->members[0]->user, "");
    cr_assert_eq(a->members[1]->port, 2222);
    cr_assert_str_eq(a->members[1]->user, "mpiuser");
    msg_free(a);
    roll_destroy(roll);
}

// Case lau-16: the list of members travels in messages, whatever its size.
Test(job_plan, eight_thousand_members_with_long_names_fit_a_frame, .timeout = 30)
{
    enum { MEMBERS = 8000 };
    MEMBERS_AUTO m = MEMBERS_INIT;
    struct opts o = {.fanout = 64};
    for (int i = 0; i < MEMBERS; i++) {
        char name[80], address[32];
        snprintf(name, sizeof name, "member-%052d", i);
        snprintf(address, sizeof address, "10.%d.%d.1", i / 250, i % 250);
        add_member(&m, name, address, -1);
    }
    struct roll *roll = roll_create("key", 1, &m);
    Muster__Attach *a = job_plan_attach(roll, &m, &o);
    size_t size = muster__attach__get_packed_size(a);
    cr_assert_gt(size, MEMBERS * 60);
    cr_assert_lt(size, FRAME_BODY_MAX / 16);
    msg_free(a);
    roll_destroy(roll);
}

Test(job_plan, prepare_carries_argv_env_and_ranks_byte_for_byte)
{
    char program[] = "/bin/x", arg[] = "$(id) \"q\" \n";
    char *argv[] = {program, arg, NULL};
    struct app_opts app = {.argv = argv, .argc = 2};
    struct opts o = {.apps = {&app, 1}, .pmi = "pmix", .grace_ms = 9};
    strv_setenv(&app.env, "A", "l1\nl2=$x");
    struct roll *roll = make_roll("10.0.0.1", "10.0.0.2");
    Muster__Prepare *p = plan(roll, &o);
    cr_assert_eq(p->apps[0]->n_argv, 2);
    cr_assert_str_eq(p->apps[0]->argv[1], arg);
    cr_assert_str_eq(p->env[0], "A=l1\nl2=$x");
    cr_assert_eq(p->n_positions, 2);
    cr_assert_eq(p->positions[1]->vertex, 2);
    cr_assert_eq(p->positions[1]->n_ranks, 2);
    cr_assert_eq(p->positions[1]->ranks[1], 3);
    cr_assert_str_eq(p->positions[1]->node, "train-1.train");
    cr_assert_not(p->loopback);
    cr_assert(p->pmix);
    msg_free(p);
    strv_free(&app.env);
    roll_destroy(roll);
}

Test(job_plan, programs_share_the_ranks_and_take_what_they_lack_from_the_first)
{
    char a[] = "a", b[] = "b", c[] = "c", dir[] = "/first", own[] = "/own";
    char *argv[] = {a, b, c};
    struct app_opts apps[] = {{.argv = &argv[0], .argc = 1, .ranks = 1, .wdir = dir},
                              {.argv = &argv[1], .argc = 1},
                              {.argv = &argv[2], .argc = 1, .ranks = 1, .wdir = own}};
    struct opts o = {.apps = {apps, 3}, .pmi = "none", .per_node = true};
    strv_setenv(&apps[0].env, "A", "1");
    strv_setenv(&apps[2].env, "A", "2");
    struct roll *roll = make_roll("10.0.0.1", "10.0.0.2");
    Muster__Prepare *p = plan(roll, &o);
    cr_assert_eq(p->n_apps, 3);
    cr_assert_eq(p->apps[0]->ranks, 1);
    cr_assert_eq(p->apps[1]->ranks, 2, "what the others leave");
    cr_assert_eq(p->apps[2]->ranks, 1);
    cr_assert_str_eq(p->apps[1]->argv[0], "b");
    cr_assert_str_eq(p->apps[1]->wdir, "/first");
    cr_assert_str_eq(p->apps[2]->wdir, "/own");
    cr_assert_str_eq(p->env[0], "A=1");
    cr_assert_eq(p->apps[0]->n_env, 0);
    cr_assert_str_eq(p->apps[2]->env[0], "A=2");
    cr_assert(p->per_node);
    cr_assert_eq(p->n_grid, 0);
    msg_free(p);
    strv_free(&apps[0].env);
    strv_free(&apps[2].env);
    roll_destroy(roll);
}

Test(job_plan, a_grid_travels_with_its_fastest_axis_first)
{
    char program[] = "x";
    char *argv[] = {program};
    struct app_opts app = {.argv = argv, .argc = 1};
    struct opts o = {.apps = {&app, 1}, .pmi = "none"};
    cr_assert_eq(grid_parse("tp=2,dp=2", &o.map.grid, NULL), 0);
    o.map.has_grid = true;
    o.map.ranks = 4;
    struct roll *roll = make_roll("10.0.0.1", "10.0.0.2");
    Muster__Prepare *p = plan(roll, &o);
    cr_assert_eq(p->n_grid, 3);
    cr_assert_str_eq(p->grid[0]->name, "TP");
    cr_assert_str_eq(p->grid[1]->name, "DP");
    cr_assert_eq(p->grid[1]->size, 2);
    cr_assert_str_eq(p->grid[2]->name, "PP");
    cr_assert_eq(p->grid[2]->size, 1);
    msg_free(p);
    roll_destroy(roll);
}

Test(job_plan, a_group_is_local_only_when_every_address_is_loopback)
{
    char program[] = "x";
    char *argv[] = {program, NULL};
    struct app_opts app = {.argv = argv, .argc = 1};
    struct opts o = {.apps = {&app, 1}, .pmi = "none"};
    struct roll *roll = make_roll("127.0.0.1", "127.0.0.2");
    Muster__Prepare *p = plan(roll, &o);
    cr_assert(p->loopback);
    cr_assert_not(p->pmix);
    msg_free(p);
    roll_destroy(roll);
    roll = make_roll("127.0.0.1", "10.0.0.2");
    p = plan(roll, &o);
    cr_assert_not(p->loopback);
    msg_free(p);
    roll_destroy(roll);
}

Test(job_plan, a_spawned_world_has_its_own_programs_and_numbers)
{
    struct roll *roll = make_roll("10.0.0.1", "10.0.0.2");
    char mine[] = "mine", theirs[] = "theirs", env[] = "A=1", dir[] = "/tmp",
         ns[] = "ns";
    char *argv[] = {mine, NULL}, *their_argv[] = {theirs, NULL}, *their_env[] = {env};
    struct app_opts app = {.argv = argv, .argc = 1};
    struct opts o = {.apps = {&app, 1}, .pmi = "pmix", .grace_ms = 9};
    uint32_t order[] = {0, 1, 2};
    struct group group = {0};
    two_vertices(&group);
    struct map_position positions[] = {{.member = 1, .count = 3, .ranks = order}};
    struct map map = {.positions = positions, .npositions = 1, .ranks = 3, .slots = 4};
    Muster__App apps[2] = {MUSTER__APP__INIT, MUSTER__APP__INIT};
    Muster__App *list[] = {&apps[0], &apps[1]};
    Muster__Proc parent = MUSTER__PROC__INIT;
    Muster__SpawnRequest rq = MUSTER__SPAWN_REQUEST__INIT;
    for (size_t i = 0; i < 2; i++) {
        apps[i].argv = their_argv;
        apps[i].n_argv = 1;
        apps[i].ranks = (uint32_t)i + 1;
    }
    apps[1].env = their_env;
    apps[1].n_env = 1;
    apps[1].wdir = dir;
    parent.nspace = ns;
    parent.rank = 1;
    rq.parent = &parent;
    rq.apps = list;
    rq.n_apps = 2;
    Muster__Prepare *p =
        job_plan_spawn(&(struct job_plan){roll, &group, &map, &o},
                       &(struct job_plan_spawn){
                           .request = &rq, .nspace = "ns.1", .number = 1, .first = 7});
    cr_assert_str_eq(p->nspace, "ns.1");
    cr_assert_eq(p->world, 1);
    cr_assert_eq(p->first, 7);
    cr_assert_eq(p->parent->rank, 1);
    cr_assert_eq(p->n_apps, 2);
    cr_assert_str_eq(p->apps[0]->argv[0], "theirs");
    cr_assert_str_eq(p->apps[1]->env[0], "A=1");
    cr_assert_str_eq(p->apps[1]->wdir, "/tmp");
    cr_assert_eq(p->positions[0]->vertex, 2);
    cr_assert_eq(p->positions[0]->ranks[2], 2);
    cr_assert_eq(p->grace_ms, 9);
    msg_free(p);
    group_free(&group);
    roll_destroy(roll);
}
