// Which versions of libpmix can make groups together.
#include <criterion/criterion.h>
#include <string.h>

#include "agent/pmix_version.h"

Test(pmix_version, reads_what_libpmix_says)
{
    static const struct {
        const char *text, *want; // NULL: none
    } cases[] = {
        {"OpenPMIx 4.2.2rc2 (PMIx Standard: 4.1, Stable ABI: 0.0)", "4.2.2"},
        {"5.0.7", "5.0.7"},
        {"3.2.5a1", "3.2.5"},
        {"6.1", "6.1.0"},
        {"", NULL},
        {"unknown", NULL},
        {"7", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pmixd_version v;
        char text[PMIXD_VERSION_TEXT];
        bool known = pmixd_version_parse(cases[i].text, &v);
        cr_assert_eq(known, cases[i].want != NULL, "%s", cases[i].text);
        if (known) {
            pmixd_version_text(&v, text);
            cr_assert_str_eq(text, cases[i].want);
        }
    }
}

Test(pmix_version, knows_the_loaded_library)
{
    struct pmixd_version v;
    pmixd_version_of_server(&v);
    cr_assert_geq(v.major, 4);
}

Test(pmix_version, groups_fit_on_one_side_of_4_2_4)
{
    static const struct {
        struct pmixd_version server, client;
        bool fit;
    } cases[] = {
        {{4, 2, 2}, {4, 2, 2}, true},   {{4, 2, 2}, {4, 0, 0}, true},
        {{4, 2, 2}, {3, 2, 5}, true},   {{4, 2, 3}, {4, 2, 4}, false},
        {{4, 2, 2}, {5, 0, 11}, false}, {{5, 0, 7}, {4, 2, 2}, false},
        {{5, 0, 7}, {4, 2, 9}, true},   {{5, 0, 7}, {5, 0, 11}, true},
        {{4, 3, 0}, {4, 2, 3}, false},  {{6, 1, 0}, {5, 0, 7}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_assert_eq(
            pmixd_version_fits(PMIXD_GROUPS, &cases[i].server, &cases[i].client),
            cases[i].fit, "case %zu", i);
}

Test(pmix_version, direct_modex_wants_clients_of_4_0)
{
    static const struct pmixd_version server = {5, 0, 7}, old = {3, 2, 5},
                                      first = {4, 0, 0};
    cr_assert_not(pmixd_version_fits(PMIXD_MODEX, &server, &old));
    cr_assert(pmixd_version_fits(PMIXD_MODEX, &server, &first));
}
