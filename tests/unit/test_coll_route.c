// Who contributes to a collective, in stars and deeper trees.
#include <criterion/criterion.h>
#include <string.h>

#include "wire/coll_route.h"

enum { MEMBERS = 6, RANKS_EACH = 2 };

// Six members; the last has no ranks. Vertices 1..5 host ranks 0-1, 2-3, ...
struct plan {
    Muster__Prepare prepare;
    Muster__Position positions[MEMBERS - 1], *list[MEMBERS - 1];
    uint32_t ranks[MEMBERS - 1][RANKS_EACH];
};

static char nspace[] = "ns";

static void make_plan(struct plan *p)
{
    muster__prepare__init(&p->prepare);
    p->prepare.nspace = nspace;
    p->prepare.n_positions = MEMBERS - 1;
    p->prepare.positions = p->list;
    for (uint32_t i = 0; i < MEMBERS - 1; i++) {
        muster__position__init(&p->positions[i]);
        p->positions[i].vertex = i + 1;
        p->positions[i].n_ranks = RANKS_EACH;
        p->positions[i].ranks = p->ranks[i];
        p->list[i] = &p->positions[i];
        for (uint32_t k = 0; k < RANKS_EACH; k++)
            p->ranks[i][k] = i * RANKS_EACH + k;
    }
}

// The contributors expected at `self` for a collective over one process, as a string of
// one digit each.
static const char *expected(uint32_t fanout, uint32_t self, uint32_t rank)
{
    static char text[16];
    struct plan plan;
    make_plan(&plan);
    struct tree tree = {.vertices = MEMBERS + 1, .fanout = fanout};
    struct coll_route *r = coll_route_create(&tree, self, &plan.prepare, NULL);
    Muster__Proc proc = MUSTER__PROC__INIT, *procs[] = {&proc};
    Muster__Coll c = MUSTER__COLL__INIT;
    proc.nspace = nspace;
    proc.rank = rank;
    c.n_procs = 1;
    c.procs = procs;
    bool in[8] = {false};
    int rc = coll_route_expect(r, &c, in, NULL);
    uint32_t n = coll_route_contributors(r);
    for (uint32_t i = 0; i < n; i++)
        text[i] = in[i] ? '1' : '0';
    text[n] = '\0';
    coll_route_destroy(r);
    return rc < 0 ? "error" : text;
}

Test(coll_route, the_root_of_a_star_waits_for_each_member_with_ranks)
{
    cr_assert_str_eq(expected(64, 0, UINT32_MAX), "0111110");
    cr_assert_str_eq(expected(64, 0, 5), "0001000");
    cr_assert_str_eq(expected(64, 3, UINT32_MAX), "1");
}

Test(coll_route, inner_vertices_wait_for_themselves_and_their_children)
{
    // fan-out 2: 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6
    cr_assert_str_eq(expected(2, 0, UINT32_MAX), "011");
    cr_assert_str_eq(expected(2, 1, UINT32_MAX), "111");
    cr_assert_str_eq(expected(2, 2, UINT32_MAX), "110"); // 6 has no ranks
    cr_assert_str_eq(expected(2, 0, 8), "001");          // rank 8 is on vertex 5
    cr_assert_str_eq(expected(2, 2, 8), "010");
    cr_assert_str_eq(expected(2, 1, 8), "000");
}

Test(coll_route, unknown_processes_are_an_error)
{
    cr_assert_str_eq(expected(2, 0, 10), "error");
}

Test(coll_route, knows_the_vertex_of_a_rank)
{
    struct plan plan;
    make_plan(&plan);
    struct tree tree = {.vertices = MEMBERS + 1, .fanout = 2};
    struct coll_route *r = coll_route_create(&tree, 1, &plan.prepare, NULL);
    cr_assert_eq(coll_route_vertex(r, "ns", 9), 5);
    cr_assert_eq(coll_route_vertex(r, "ns", 10), 0);
    cr_assert_eq(coll_route_vertex(r, "other", 1), 0);
    cr_assert_eq(coll_route_contributor(r, 1), 0);
    cr_assert_eq(coll_route_contributor(r, 4), 2);
    coll_route_destroy(r);
}

Test(coll_route, positions_that_make_no_sense_are_refused)
{
    static const struct {
        uint32_t vertex, rank; // of the third position and its second rank
    } bad[] = {{0, 5}, {MEMBERS + 1, 5}, {UINT32_MAX, 5},
               {3, 4}, {3, 10},          {3, UINT32_MAX}};
    struct tree tree = {.vertices = MEMBERS + 1, .fanout = 2};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct plan plan;
        ERR_AUTO err = ERR_INIT;
        make_plan(&plan);
        plan.positions[2].vertex = bad[i].vertex;
        plan.ranks[2][1] = bad[i].rank;
        cr_assert_null(coll_route_create(&tree, 0, &plan.prepare, &err), "case %zu", i);
        cr_assert_not_null(err.text);
    }
}

Test(coll_route, worlds_are_added_and_span_one_collective)
{
    struct plan plan, more;
    char spawned[] = "ns.1";
    make_plan(&plan);
    make_plan(&more); // ranks 0-1 on vertex 5 alone
    more.prepare.nspace = spawned;
    more.prepare.n_positions = 1;
    more.positions[0].vertex = 5;
    struct tree tree = {.vertices = MEMBERS + 1, .fanout = 64};
    struct coll_route *r = coll_route_create(&tree, 0, &plan.prepare, NULL);
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(coll_route_add(r, &plan.prepare, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), "namespace ns exists"));
    cr_assert_eq(coll_route_vertex(r, spawned, 1), 0);
    cr_assert_eq(coll_route_add(r, &more.prepare, NULL), 0);
    cr_assert_eq(coll_route_vertex(r, spawned, 1), 5);
    cr_assert_eq(coll_route_vertex(r, spawned, 2), 0);
    Muster__Proc parent = MUSTER__PROC__INIT, children = MUSTER__PROC__INIT;
    Muster__Proc *procs[] = {&parent, &children};
    Muster__Coll c = MUSTER__COLL__INIT;
    parent.nspace = nspace;
    children.nspace = spawned;
    children.rank = UINT32_MAX;
    c.n_procs = 2;
    c.procs = procs;
    bool in[MEMBERS + 1] = {false};
    cr_assert_eq(coll_route_expect(r, &c, in, NULL), 0);
    for (size_t i = 0; i <= MEMBERS; i++)
        cr_assert_eq(in[i], i == 1 || i == 5, "contributor %zu", i);
    coll_route_destroy(r);
}
