// String vectors and environments.
#include <criterion/criterion.h>

#include "common/strv.h"

Test(strv, many_entries_replace_and_follow_in_order)
{
    char a[] = "A=1", b[] = "B=2", a2[] = "A=3", ab[] = "AB=4", c[] = "C", b2[] = "B=";
    char *entries[] = {a2, ab, c, a, b2};
    STRV_AUTO s = STRV_INIT;
    strv_putenv_all(&s, entries, 0);
    cr_assert_eq(s.n, 0);
    strv_add(&s, a);
    strv_add(&s, b);
    strv_putenv_all(&s, entries, 5);
    cr_assert_eq(s.n, 4);
    cr_assert_str_eq(s.v[0], "A=1");
    cr_assert_str_eq(s.v[1], "B=");
    cr_assert_str_eq(s.v[2], "AB=4");
    cr_assert_str_eq(s.v[3], "C");
    cr_assert_null(s.v[4]);
}

Test(strv, a_whole_environment_takes_no_time, .timeout = 5)
{
    STRV_AUTO s = STRV_INIT, more = STRV_INIT;
    for (int i = 0; i < 50000; i++) {
        strv_addf(&s, "A%d=x", i);
        strv_addf(&more, "A%d=y", i * 2);
    }
    strv_putenv_all(&s, more.v, more.n);
    cr_assert_eq(s.n, 75000);
    cr_assert_str_eq(strv_getenv(&s, "A49998"), "y");
    cr_assert_str_eq(strv_getenv(&s, "A49999"), "x");
}

Test(strv, setenv_replaces_and_keeps_equals_signs_in_values)
{
    STRV_AUTO env = STRV_INIT;
    strv_setenv(&env, "A", "1");
    strv_setenv(&env, "AB", "x=y=z");
    strv_setenv(&env, "A", "--b=c");
    cr_assert_eq(env.n, 2);
    cr_assert_str_eq(strv_getenv(&env, "A"), "--b=c");
    cr_assert_str_eq(strv_getenv(&env, "AB"), "x=y=z");
    cr_assert_null(strv_getenv(&env, "B"));
}

Test(strv, unsets_by_name)
{
    STRV_AUTO env = STRV_INIT;
    strv_setenv(&env, "PMIX_RANK", "1");
    strv_setenv(&env, "PATH", "/bin");
    strv_setenv(&env, "PMIX_NAMESPACE", "n");
    strv_setenv(&env, "HOME", "/");
    strv_unsetenv(&env, "PMIX_RANK");
    strv_unsetenv(&env, "PMIX_NAMESPACE");
    strv_unsetenv(&env, "HOME");
    cr_assert_eq(env.n, 1);
    cr_assert_str_eq(env.v[0], "PATH=/bin");
    cr_assert_null(env.v[1]);
}
