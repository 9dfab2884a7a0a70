// Programs and working directories as a keeper finds them.
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "agent/keeper_lookup.h"
#include "common/err.h"
#include "common/strv.h"

TestSuite(keeper_lookup, .timeout = 20);

struct program {
    const char *name, *path, *wdir;
};

static int look(const struct program *programs, size_t n, struct strv *paths,
                struct err *err)
{
    Muster__LookupProgram p[2], *list[] = {&p[0], &p[1]};
    for (size_t i = 0; i < n; i++) {
        muster__lookup_program__init(&p[i]);
        p[i].name = (char *)(uintptr_t)programs[i].name; // only read
        p[i].path = (char *)(uintptr_t)programs[i].path;
        p[i].wdir = (char *)(uintptr_t)programs[i].wdir;
    }
    Muster__Lookup m = MUSTER__LOOKUP__INIT;
    m.programs = list;
    m.n_programs = n;
    return keeper_lookup(&m, paths, err);
}

Test(keeper_lookup, each_program_is_found_by_its_own_path_and_directory)
{
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO paths = STRV_INIT;
    const struct program two[] = {{"sh", "/nowhere:/bin", ""}, {"./sh", "", "/bin"}};
    cr_assert_eq(look(two, 2, &paths, &err), 0, "%s", err_text(&err));
    cr_assert_eq(paths.n, 2);
    cr_assert_str_eq(paths.v[0], "/bin/sh");
    cr_assert_str_eq(paths.v[1], "/bin/./sh");
}

Test(keeper_lookup, a_program_that_is_missing_is_an_error_with_its_code)
{
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO paths = STRV_INIT;
    const struct program two[] = {{"sh", "/bin", ""}, {"no-such-program", "/bin", ""}};
    cr_assert_eq(look(two, 2, &paths, &err), -1);
    cr_assert_eq(err.code, 127);
    cr_assert_not_null(strstr(err_text(&err), "no-such-program: not found in PATH"));
}

Test(keeper_lookup, a_directory_that_is_missing_or_none_is_told_before_the_program)
{
    static const char *const dirs[] = {"/no/dir", "/bin/sh"};
    for (size_t i = 0; i < 2; i++) {
        ERR_AUTO err = ERR_INIT;
        STRV_AUTO paths = STRV_INIT;
        const struct program one = {"no-such-program", "/bin", dirs[i]};
        cr_assert_eq(look(&one, 1, &paths, &err), -1);
        cr_assert_eq(err.code, 125);
        cr_assert_not_null(strstr(err_text(&err), dirs[i]));
        cr_assert_not_null(strstr(err_text(&err), "--wdir"));
    }
}
