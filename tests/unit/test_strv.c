// String vectors and environments.
#include <criterion/criterion.h>

#include "common/strv.h"

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

Test(strv, unsets_by_prefix_and_by_name)
{
    STRV_AUTO env = STRV_INIT;
    strv_setenv(&env, "PMIX_RANK", "1");
    strv_setenv(&env, "PATH", "/bin");
    strv_setenv(&env, "PMIX_NAMESPACE", "n");
    strv_setenv(&env, "HOME", "/");
    strv_unsetenv_prefix(&env, "PMIX_");
    strv_unsetenv(&env, "HOME");
    cr_assert_eq(env.n, 1);
    cr_assert_str_eq(env.v[0], "PATH=/bin");
    cr_assert_null(env.v[1]);
}
