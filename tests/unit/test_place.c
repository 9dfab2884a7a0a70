// Places on a grid, and parts of what is divided.
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/infer/place.h"

static char *nothing(const char *name)
{
    return NULL;
}

static char *grid(const char *name)
{
    static char rank[] = "1", two[] = "2", three[] = "3";
    return strcmp(name, "TP_SIZE") == 0   ? two
           : strcmp(name, "PP_SIZE") == 0 ? three
           : strcmp(name, "TP_RANK") == 0 ? rank
           : strcmp(name, "PP_RANK") == 0 ? two
                                          : NULL;
}

static char *copies(const char *name)
{
    static char two[] = "2";
    return strcmp(name, "TP_SIZE") == 0 || strcmp(name, "DP_SIZE") == 0 ? two : NULL;
}

static char *nonsense(const char *name)
{
    static char text[] = "many";
    return strcmp(name, "TP_SIZE") == 0 ? text : NULL;
}

static void expect(int rank, int size, struct place_wish wish,
                   char *(*env)(const char *), struct place want)
{
    ERR_AUTO err = ERR_INIT;
    struct place p;
    cr_assert_eq(place_find(rank, size, &wish, env, &p, &err), 0, "%s", err_text(&err));
    cr_assert_eq(memcmp(&p, &want, sizeof p), 0, "%d %d of %d %d", p.tp, p.pp,
                 p.tp_size, p.pp_size);
}

static void refused(int size, struct place_wish wish, char *(*env)(const char *),
                    const char *part)
{
    ERR_AUTO err = ERR_INIT;
    struct place p;
    cr_assert_eq(place_find(0, size, &wish, env, &p, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), part), "%s", err_text(&err));
}

Test(place, comes_from_options_or_the_grid)
{
    expect(0, 1, (struct place_wish){0}, nothing, (struct place){0, 0, 1, 1});
    expect(3, 4, (struct place_wish){0}, nothing, (struct place){3, 0, 4, 1});
    expect(3, 6, (struct place_wish){.tp_size = 2}, nothing,
           (struct place){1, 1, 2, 3});
    expect(5, 6, (struct place_wish){.pp_size = 2}, nothing,
           (struct place){2, 1, 3, 2});
    expect(4, 6, (struct place_wish){0}, grid, (struct place){1, 2, 2, 3});
    expect(4, 6, (struct place_wish){2, 3}, grid, (struct place){1, 2, 2, 3});
}

Test(place, what_does_not_fit_is_said)
{
    refused(4, (struct place_wish){.tp_size = 3}, nothing,
            "4 ranks do not make a grid");
    refused(2, (struct place_wish){.tp_size = 4}, nothing,
            "2 ranks do not make a grid");
    refused(6, (struct place_wish){3, 2}, grid, "tp=2,pp=3");
    refused(4, (struct place_wish){0}, grid, "6 ranks, but there are 4");
    refused(4, (struct place_wish){0}, copies, "dp=2");
    refused(4, (struct place_wish){0}, nonsense, "TP_RANK and TP_SIZE");
}

Test(place, parts_are_all_of_it_and_nearly_equal)
{
    for (size_t n = 1; n < 40; n++)
        for (int parts = 1; parts <= 9; parts++) {
            size_t at = 0;
            for (int i = 0; i < parts; i++) {
                struct place_range r = place_part(n, parts, i);
                cr_assert_eq(r.at, at);
                cr_assert_leq(r.n, place_part_most(n, parts));
                cr_assert_geq(r.n + 1, place_part_most(n, parts));
                at += r.n;
            }
            cr_assert_eq(at, n);
        }
}

static void expect_stages(size_t n, double extra, int stages, const char *want)
{
    char got[32] = "";
    size_t at = 0;
    for (int i = 0; i < stages; i++) {
        struct place_range r = place_stage(n, extra, stages, i);
        cr_assert_eq(r.at, at);
        at += r.n;
        snprintf(got + strlen(got), sizeof got - strlen(got), " %zu", r.n);
    }
    cr_assert_eq(at, n);
    cr_assert_str_eq(got, want, "%zu layers and %g", n, extra);
}

Test(place, the_last_stage_has_as_many_layers_less_as_it_bears_beside_them)
{
    expect_stages(5, 7, 1, " 5");
    expect_stages(4, 0, 2, " 2 2");
    expect_stages(4, 0.09, 2, " 2 2");
    expect_stages(5, 0.09, 2, " 3 2");
    expect_stages(4, 2, 2, " 3 1");
    expect_stages(6, 9.3, 2, " 5 1"); // stories15M
    expect_stages(32, 0.65, 2, " 16 16");
    expect_stages(32, 2.4, 2, " 17 15"); // Llama 3 8B
    expect_stages(32, 2.4, 4, " 8 9 9 6");
    expect_stages(3, 100, 3, " 1 1 1");
    expect_stages(8, 0, 3, " 2 3 3");
}

Test(place, no_other_deal_has_a_faster_slowest_stage)
{
    for (size_t n = 2; n < 20; n++)
        for (int extra = 0; extra < 12; extra++) {
            struct place_range first = place_stage(n, extra / 2.0, 2, 0);
            double is = fmax((double)first.n, (double)(n - first.n) + extra / 2.0);
            for (size_t k = 1; k < n; k++)
                cr_assert_leq(is, fmax((double)k, (double)(n - k) + extra / 2.0));
        }
}
