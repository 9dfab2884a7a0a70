// What a check's end and its JSON say of a machine.
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/finding.h"

enum { CODE = 256 }; // exit code 1 as a wait(2) status

// Of a check that printed this and ended with this status.
static struct finding judge(const char *output, int status)
{
    struct finding f;
    Muster__CheckEnd end = MUSTER__CHECK_END__INIT;
    CLEANUP_FREE char *name = xstrdup("prog"), *text = xstrdup(output);
    end.name = name;
    end.status = status;
    end.output.data = (uint8_t *)text;
    end.output.len = strlen(text);
    end.took_ms = 250;
    finding_judge(&end, 5000, &f);
    return f;
}

static void expect(const char *output, int status, enum finding_verdict v,
                   const char *why)
{
    struct finding f = judge(output, status);
    cr_assert_eq(f.verdict, v, "%s: %s", output, finding_verdict_name(f.verdict));
    cr_assert(strstr(f.why, why) != NULL, "%s: '%s'", output, f.why);
    finding_free(&f);
}

Test(finding, each_verdict_with_its_exit_code)
{
    expect("{\"check\": \"a\", \"verdict\": \"pass\"}\n", 0, FINDING_PASS, "");
    expect("{\"check\": \"a\", \"verdict\": \"fail\", \"why\": \"hot\"}", CODE,
           FINDING_FAIL, "hot");
    expect("{\"check\": \"a\", \"verdict\": \"could-not-run\", \"why\": \"no GPU\"}",
           2 * CODE, FINDING_COULD_NOT, "no GPU");
    expect("{\"check\": \"a\", \"verdict\": \"not-here\", \"why\": \"no GPU\"}",
           3 * CODE, FINDING_NOT_HERE, "no GPU");
}

Test(finding, its_own_name_time_and_evidence)
{
    struct finding f =
        judge("{\"check\": \"mem\", \"verdict\": \"pass\", \"seconds\": 1.5, "
              "\"gbs\": 12, \"cores\": [0, 1]}",
              0);
    cr_assert_str_eq(f.check, "mem");
    cr_assert_float_eq(f.seconds, 1.5, 1e-9);
    cr_assert_eq(json_object_size(f.evidence), 2);
    cr_assert_eq(json_integer_value(json_object_get(f.evidence, "gbs")), 12);
    finding_free(&f);
    f = judge("{\"check\": \"\", \"verdict\": \"pass\", \"seconds\": -1}", 0);
    cr_assert_str_eq(f.check, "prog");
    cr_assert_float_eq(f.seconds, 0.25, 1e-9);
    finding_free(&f);
}

Test(finding, garbage_says_nothing_of_the_machine)
{
    static const char *const garbage[] = {
        "",
        "ok",
        "[1]",
        "{\"check\": \"a\", \"verdict\": \"pass\"} {}",
        "{\"check\": \"a\", \"verdict\": \"pass\"",
        "{\"check\": \"a\"}",
        "{\"verdict\": \"pass\"}",
        "{\"check\": 1, \"verdict\": \"pass\"}",
        "{\"check\": \"a\", \"verdict\": \"maybe\"}",
        "{\"check\": \"a\", \"verdict\": \"fail\"}", // and exit code 0
        "{\"check\": \"a\", \"verdict\": \"pass\", \"verdict\": \"fail\"}",
        "{\"check\": \"a\", \"verdict\": \"pass\", \"why\": \"\xff\"}",
    };
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        expect(garbage[i], 0, FINDING_COULD_NOT, "(exit code 0)");
    expect("{\"check\": \"a\", \"verdict\": \"pass\"}", CODE, FINDING_COULD_NOT,
           "its verdict is pass, which goes with exit code 0 (exit code 1)");
}

Test(finding, the_last_line_of_stderr_tells_why_it_could_not_run)
{
    struct finding f;
    Muster__CheckEnd end = MUSTER__CHECK_END__INIT;
    CLEANUP_FREE char *words = xstrdup("trace\nno driver\n\n");
    end.words = words;
    end.status = 3 * CODE;
    finding_judge(&end, 5000, &f);
    cr_assert_eq(f.verdict, FINDING_COULD_NOT);
    cr_assert_str_eq(f.why,
                     "it did not print one JSON object (exit code 3): no driver");
    finding_free(&f);
}

Test(finding, a_hang_and_what_outlives_sigkill_fail)
{
    struct finding f;
    Muster__CheckEnd end = MUSTER__CHECK_END__INIT;
    CLEANUP_FREE char *stuck = xstrdup("77 (probe, D in wait)");
    end.late = true;
    end.status = SIGKILL;
    finding_judge(&end, 5000, &f);
    cr_assert_eq(f.verdict, FINDING_FAIL);
    cr_assert_str_eq(f.why, "it did not end within 5 s (--check-timeout)");
    finding_free(&f);
    end.leftovers = &stuck;
    end.n_leftovers = 1;
    finding_judge(&end, 5000, &f);
    cr_assert_eq(f.verdict, FINDING_FAIL);
    cr_assert(strstr(f.why, stuck) != NULL);
    finding_free(&f);
}

Test(finding, a_signal_is_the_machines_where_hardware_raises_it)
{
    static const int hardware[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE};
    for (size_t i = 0; i < sizeof hardware / sizeof *hardware; i++)
        expect("{\"check\": \"a\", \"verdict\": \"pass\"}", hardware[i], FINDING_FAIL,
               "it was ended by signal");
    expect("", SIGKILL, FINDING_COULD_NOT, "SIGKILL"); // out of memory, an operator
    expect("", SIGTERM, FINDING_COULD_NOT, "SIGTERM");
    expect("", SIGABRT, FINDING_COULD_NOT, "SIGABRT");
}

Test(finding, too_much_output_and_a_check_that_is_not_there)
{
    struct finding f;
    Muster__CheckEnd end = MUSTER__CHECK_END__INIT;
    CLEANUP_FREE char *error = xstrdup("program x: not found");
    end.cut = true;
    finding_judge(&end, 5000, &f);
    cr_assert_eq(f.verdict, FINDING_COULD_NOT);
    finding_free(&f);
    end.error = error;
    finding_judge(&end, 5000, &f);
    cr_assert_eq(f.verdict, FINDING_COULD_NOT);
    cr_assert_str_eq(f.why, error);
    finding_free(&f);
}

Test(finding, the_worst_of_several_counts)
{
    struct finding v[3];
    const struct finding *worst;
    finding_make(FINDING_PASS, "", &v[0]);
    finding_make(FINDING_FAIL, "bad", &v[1]);
    finding_make(FINDING_COULD_NOT, "no", &v[2]);
    cr_assert_eq(finding_sum(v, 3, &worst), FINDING_FAIL);
    cr_assert_eq(worst, &v[1]);
    cr_assert_eq(finding_sum(v, 1, &worst), FINDING_PASS);
    cr_assert_eq(finding_sum(&v[2], 1, &worst), FINDING_COULD_NOT);
    cr_assert_eq(finding_sum(v, 0, &worst), FINDING_COULD_NOT);
    cr_assert(worst == NULL);
    for (int i = 0; i < 3; i++)
        finding_free(&v[i]);
    finding_make(FINDING_NOT_HERE, "no GPU", &v[0]);
    finding_make(FINDING_PASS, "", &v[1]);
    cr_assert_eq(finding_sum(v, 2, &worst), FINDING_PASS);
    cr_assert_eq(finding_sum(v, 1, &worst), FINDING_COULD_NOT); // nothing was looked at
    cr_assert_eq(worst, &v[0]);
    for (int i = 0; i < 2; i++)
        finding_free(&v[i]);
}
