// Placeholders in the commands of --per-node.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "wire/placeholders.h"

static const struct placeholders node = {.node_rank = 2,
                                         .nnodes = 4,
                                         .rank = 3,
                                         .world = 5,
                                         .leader_addr = "10.0.0.1",
                                         .local_addr = "fd00::3",
                                         .port = 20123};

// Text, what it becomes; NULL: check says that there is no such placeholder.
static const struct {
    char text[64], filled[64];
    int column; // of the error; 0: none
} texts[] = {
    {"plain", "plain", 0},
    {"", "", 0},
    {"{node_rank}/{nnodes}", "2/4", 0},
    {"tcp://{leader_addr}:{port}", "tcp://10.0.0.1:20123", 0},
    {"{local_addr}{rank}{world}", "fd00::335", 0},
    {"{\"kv_role\":\"kv_both\",\"x\":{\"y\":1}}",
     "{\"kv_role\":\"kv_both\",\"x\":{\"y\":1}}", 0},
    {"{}", "{}", 0},
    {"{1,2}", "{1,2}", 0},
    {"{ rank }", "{ rank }", 0},
    {"{rank", "{rank", 0},
    {"}{", "}{", 0},
    {"${HOME}", "${HOME}", 3 - 1}, // a shell's variable: needs {{
    {"${{HOME}", "${HOME}", 0},
    {"{{rank}", "{rank}", 0},
    {"{{{rank}", "{3", 0},
    {"{{{{", "{{", 0},
    {"--a={nodes}", "--a={nodes}", 5},
    {"{rank}{Rank}", "3{Rank}", 7},
    {"{node_rank2}", "{node_rank2}", 1},
};

Test(placeholders, texts_are_checked_and_filled)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ERR_AUTO err = ERR_INIT;
        STRV_AUTO out = STRV_INIT;
        char copy[64], *list[] = {copy};
        memcpy(copy, texts[i].text, sizeof copy);
        int rc = placeholders_check(copy, &err);
        cr_assert_eq(rc, texts[i].column > 0 ? -1 : 0, "'%s': %s", copy,
                     err_text(&err));
        CLEANUP_FREE char *column = xasprintf("column %d: ", texts[i].column);
        if (rc < 0)
            cr_assert_eq(strncmp(err.text, column, strlen(column)), 0, "%s", err.text);
        placeholders_fill(&node, list, 1, &out);
        cr_assert_eq(out.n, 1);
        cr_assert_str_eq(out.v[0], texts[i].filled);
    }
}

Test(placeholders, an_error_lists_what_there_is_and_how_to_escape)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(placeholders_check("x{adress}", &err), -1);
    cr_assert_str_eq(
        err.text, "column 2: there is no placeholder {adress}; there are {node_rank} "
                  "{nnodes} {leader_addr} {local_addr} {port} {rank} {world}; for the "
                  "text itself write {{adress}");
}

Test(placeholders, escaped_texts_stay_as_they_are)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        STRV_AUTO out = STRV_INIT;
        CLEANUP_FREE char *escaped = placeholders_escape(texts[i].text);
        cr_assert_eq(placeholders_check(escaped, NULL), 0, "'%s'", escaped);
        placeholders_fill(&node, &escaped, 1, &out);
        cr_assert_str_eq(out.v[0], texts[i].text);
    }
}

Test(placeholders, a_node_is_a_position_of_the_world)
{
    Muster__Prepare p = MUSTER__PREPARE__INIT;
    Muster__Go go = MUSTER__GO__INIT;
    Muster__Position a = MUSTER__POSITION__INIT, b = MUSTER__POSITION__INIT;
    Muster__Position *positions[] = {&a, &b};
    uint32_t of_a[] = {0}, of_b[] = {1};
    char leader[] = "10.0.0.7", local[] = "10.0.0.9";
    a.ranks = of_a;
    b.ranks = of_b;
    a.n_ranks = b.n_ranks = 1;
    b.address = local;
    p.positions = positions;
    p.n_positions = 2;
    go.master_address = leader;
    go.master_port = 1234;
    struct placeholders got = placeholders_of(&p, &go, 1);
    cr_assert_eq(got.node_rank, 1);
    cr_assert_eq(got.nnodes, 2);
    cr_assert_eq(got.rank, 1);
    cr_assert_eq(got.world, 2);
    cr_assert_eq(got.port, 1234);
    cr_assert_str_eq(got.leader_addr, "10.0.0.7");
    cr_assert_str_eq(got.local_addr, "10.0.0.9");
}
