// The table of `muster check`, and what it sums up to.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/check_print.h"

static json_t *report(const char *members)
{
    CLEANUP_FREE char *text = xasprintf("{\"members\": [%s]}", members);
    json_t *o = json_loads(text, 0, NULL);
    cr_assert(o != NULL, "%s", text);
    return o;
}

#define PASSED                                                                         \
    "{\"name\": \"a\", \"address\": \"10.0.0.1\", \"verdict\": \"pass\", \"why\": "    \
    "\"\", "                                                                           \
    "\"checks\": [{\"check\": \"cpu\", \"verdict\": \"pass\", \"why\": \"\", "         \
    "\"seconds\": 1.25}]}"
#define FAILED                                                                         \
    "{\"name\": \"bb\", \"address\": \"10.0.0.22\", \"verdict\": \"fail\", \"why\": "  \
    "\"hot\", \"checks\": [{\"check\": \"cpu\", \"verdict\": \"pass\", \"seconds\": "  \
    "0.5}, "                                                                           \
    "{\"check\": \"gpu\", \"verdict\": \"fail\", \"why\": \"hot\", \"seconds\": 20}]}"
#define AWAY                                                                           \
    "{\"name\": \"c\", \"address\": \"\", \"verdict\": \"could-not-run\", \"why\": "   \
    "\"it was not reached\", \"checks\": []}"

static enum finding_verdict sum(const char *members)
{
    json_t *o = report(members);
    enum finding_verdict v = check_print_sum(o);
    json_decref(o);
    return v;
}

Test(check_print, one_that_fails_counts_more_than_one_that_could_not_be_inspected)
{
    cr_assert_eq(sum(PASSED "," PASSED), FINDING_PASS);
    cr_assert_eq(sum(PASSED "," AWAY), FINDING_COULD_NOT);
    cr_assert_eq(sum(AWAY "," FAILED "," PASSED), FINDING_FAIL);
    cr_assert_eq(sum(""), FINDING_COULD_NOT);
}

Test(check_print, a_row_for_each_check)
{
    BUF_AUTO out = BUF_INIT;
    json_t *o = report(PASSED "," FAILED "," AWAY);
    check_print_table(o, &out);
    CLEANUP_FREE char *text = buf_steal_str(&out);
    json_decref(o);
    cr_assert_str_eq(
        text, "MEMBER  ADDRESS    CHECK  VERDICT        SECONDS  WHY\n"
              "a       10.0.0.1   cpu    pass           1.2      -\n"
              "bb      10.0.0.22  cpu    pass           0.5      -\n"
              "bb      10.0.0.22  gpu    fail           20.0     hot\n"
              "c       -          -      could-not-run  -        it was not reached\n"
              "1 of 3 members passed, 1 failed (bb), 1 could not be inspected (c)\n");
}

#define PAIRS                                                                          \
    "\"pairs\": [{\"a\": \"a\", \"b\": \"d\", \"verdict\": \"pass\", \"why\": \"\", "  \
    "\"mb_s\": 812.4, \"rtt_us\": 40.2}, {\"a\": \"d\", \"b\": \"e\", \"verdict\": "   \
    "\"fail\", \"why\": \"d and e: no end between them\", \"mb_s\": null, "            \
    "\"rtt_us\": "                                                                     \
    "null}], \"blamed\": [{\"a\": \"d\", \"b\": \"e\", \"why\": \"d and e: no end "    \
    "between "                                                                         \
    "them\"}]"

Test(check_print, a_row_for_each_pair_and_a_line_for_who_is_at_fault)
{
    BUF_AUTO out = BUF_INIT;
    json_t *o = json_loads("{\"members\": [" PASSED "], " PAIRS "}", 0, NULL);
    cr_assert_eq(check_print_sum(o), FINDING_FAIL);
    check_print_table(o, &out);
    CLEANUP_FREE char *text = buf_steal_str(&out);
    json_decref(o);
    cr_assert_str_eq(
        text, "MEMBER  ADDRESS   CHECK  VERDICT  SECONDS  WHY\n"
              "a       10.0.0.1  cpu    pass     1.2      -\n"
              "a, d    -         pair   pass     -        812 MB/s, 40 us\n"
              "d, e    -         pair   fail     -        d and e: no end between "
              "them\n"
              "1 of 1 member passed\n"
              "at fault: link d and e: no end between them\n");
}
