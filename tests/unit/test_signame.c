// Signals by name.
#include <criterion/criterion.h>
#include <signal.h>

#include "common/signame.h"

Test(signame, names_and_numbers)
{
    cr_assert_eq(signame_parse("USR1"), SIGUSR1);
    cr_assert_eq(signame_parse("SIGUSR2"), SIGUSR2);
    cr_assert_eq(signame_parse("sigterm"), SIGTERM);
    cr_assert_eq(signame_parse("10"), SIGUSR1);
}

Test(signame, what_is_none)
{
    static const char *const bad[] = {"",  "SIG", "USR",  "USR11",
                                      "0", "-1",  "9999", "1x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(signame_parse(bad[i]), 0, "%s", bad[i]);
}
