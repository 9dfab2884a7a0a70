// Thresholds: defaults, overrides, and errors that say where.
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/thresholds.h"

static int parse(struct thresholds *t, const char *text, struct err *err)
{
    thresholds_default(t);
    return thresholds_parse(t, "table", text, strlen(text), err);
}

Test(thresholds, a_file_overrides_what_it_names)
{
    struct thresholds t;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(parse(&t, "# ours\n\n slow_factor\t3 # late\nxid_window_s 60", &err),
                 0);
    cr_assert_float_eq(t.v[THRESHOLD_SLOW_FACTOR], 3, 1e-9);
    cr_assert_float_eq(t.v[THRESHOLD_XID_WINDOW_S], 60, 1e-9);
    cr_assert_float_eq(t.v[THRESHOLD_CLEAR_FACTOR], 1.5, 1e-9);
}

struct bad {
    char text[64], says[64];
};

ParameterizedTestParameters(thresholds, refuses)
{
    static struct bad bad[] = {
        {"slow_factor 2\nslow_facter 3\n", "table:2: 'slow_facter' is no threshold"},
        {"slow_factor\n", "table:1: a line is a name and a value"},
        {"slow_factor 2 3\n", "table:1: a line is a name and a value"},
        {"slow_factor 2x\n", "table:1: slow_factor: '2x' is no number"},
        {"slow_factor 0.5\n", "table:1: slow_factor: '0.5' is no number from 1"},
        {"slow_factor nan\n", "table:1: slow_factor: 'nan' is no number"},
        {"slow_factor 1.2\n", "table: clear_factor 1.5 is above slow_factor 1.2"},
    };
    return cr_make_param_array(struct bad, bad, sizeof bad / sizeof *bad);
}

ParameterizedTest(struct bad *bad, thresholds, refuses)
{
    struct thresholds t;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(parse(&t, bad->text, &err), -1);
    cr_assert_eq(strncmp(err_text(&err), bad->says, strlen(bad->says)), 0, "%s",
                 err_text(&err));
    cr_assert_float_eq(t.v[THRESHOLD_SLOW_FACTOR], 2, 1e-9); // all or nothing
}

Test(thresholds, a_nul_byte_is_no_end)
{
    struct thresholds t;
    ERR_AUTO err = ERR_INIT;
    thresholds_default(&t);
    cr_assert_eq(thresholds_parse(&t, "table", "slow_factor 3\0 4\n", 17, &err), -1);
}

// The file that is installed says what the programs do without one, and all of it.
Test(thresholds, the_installed_file_has_the_defaults)
{
    struct thresholds t, defaults;
    ERR_AUTO err = ERR_INIT;
    const char *top = getenv("MUSTER_SRCDIR");
    CLEANUP_FREE char *path =
        xasprintf("%s/kernels/check/thresholds", top != NULL ? top : ".");
    thresholds_default(&defaults);
    for (size_t i = 0; i < THRESHOLD_COUNT; i++)
        t.v[i] = -1;
    cr_assert_eq(thresholds_read(&t, path, &err), 0, "%s", err_text(&err));
    for (size_t i = 0; i < THRESHOLD_COUNT; i++)
        cr_assert_float_eq(t.v[i], defaults.v[i], 1e-9, "%s",
                           thresholds_name((enum threshold)i));
}

Test(thresholds, their_text_says_all_of_them)
{
    struct thresholds t, again;
    ERR_AUTO err = ERR_INIT;
    thresholds_default(&t);
    t.v[THRESHOLD_SLOW_FACTOR] = 2.1;
    t.v[THRESHOLD_XID_WINDOW_S] = 77;
    CLEANUP_FREE char *text = thresholds_text(&t);
    thresholds_default(&again);
    cr_assert_eq(thresholds_parse(&again, "text", text, strlen(text), &err), 0, "%s",
                 err_text(&err));
    cr_assert_arr_eq(t.v, again.v, sizeof t.v);
}
