// A job's status as text, its counters of restarts, and the places that can be asked.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "launcher/ask.h"
#include "launcher/job_stats.h"
#include "launcher/status_text.h"

// ---- text -------------------------------------------------------------------------

static char *text_of(const char *json)
{
    BUF_AUTO out = BUF_INIT;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(status_text(json, &out, &err), 0, "%s", err_text(&err));
    return buf_steal_str(&out);
}

static void has(const char *text, const char *part)
{
    cr_assert_not_null(strstr(text, part), "no '%s' in:\n%s", part, text);
}

static const char waits[] =
    "{\"job\":\"0a\",\"state\":\"muster\",\"since\":7.26,\"uptime\":400.0,"
    "\"attempt\":1,\"restarts\":0,\"ranks\":{\"total\":4,\"started\":4,\"ended\":3},"
    "\"waiting\":{\"for\":\"attempt 2 waits for b: "
    "\\u001b[2Jreset\\u009b\",\"seconds\":7.26},"
    "\"reason\":\"member b was lost\",\"members\":["
    "{\"position\":0,\"name\":\"a\",\"address\":\"10.0.0.1\",\"state\":\"attached\","
    "\"incarnation\":\"01020304\",\"ranks\":2,\"running\":0,\"ended\":2,\"agents\":1,"
    "\"why\":null},"
    "{\"position\":null,\"name\":\"bb\",\"address\":\"\",\"state\":\"lost\","
    "\"incarnation\":null,\"ranks\":2,\"running\":1,\"ended\":1,\"agents\":3,"
    "\"why\":\"silent\"}],\"left_out\":9}";

Test(status_text, names_the_wait_and_every_member)
{
    CLEANUP_FREE char *t = text_of(waits);
    has(t, "state    muster for 7.3 s, up 7 min\n");
    has(t, "attempt  1, 0 restarts, 4 ranks (4 started, 3 ended)\n");
    has(t, "waiting  attempt 2 waits for b: ?[2Jreset?, for 7.3 s now\n");
    has(t, "before   member b was lost\n");
    has(t, "0         a       10.0.0.1  attached  01020304  1       0/2    -\n");
    has(t, "-         bb      -         lost      -         3       1/2    silent\n");
    has(t, "and 9 members more\n");
}

Test(status_text, what_is_no_status_is_refused)
{
    static const char *const bad[] = {"", "[]", "{", "{\"job\":\"a\"}",
                                      "{\"job\":1,\"members\":[]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        BUF_AUTO out = BUF_INIT;
        ERR_AUTO err = ERR_INIT;
        cr_assert_eq(status_text(bad[i], &out, &err), -1, "%s", bad[i]);
        has(err_text(&err), "no status");
    }
}

Test(status_text, fields_of_other_types_do_no_harm)
{
    CLEANUP_FREE char *t = text_of(
        "{\"job\":\"a\",\"members\":[1,{\"name\":2,\"ranks\":\"x\"}],\"since\":\"y\"}");
    has(t, "for 0.0 s");
}

// ---- counters ---------------------------------------------------------------------

// A way of the job through its states, a second each.
static uint64_t go(struct job_stats *s, uint64_t ms, const enum job_state *way,
                   size_t n, const struct verdict *v)
{
    for (size_t i = 1; i < n; i++, ms += 1000)
        job_stats_state(s, ms, way[i - 1], way[i], v);
    return ms;
}

Test(job_stats, a_restart_is_counted_by_its_cause_and_timed)
{
    static const enum job_state way[] = {JOB_RUN,     JOB_STOP,  JOB_MUSTER,
                                         JOB_PREPARE, JOB_START, JOB_RUN};
    struct verdict v = {.failed = true, .strength = VERDICT_LOSS};
    struct job_stats *s = job_stats_create();
    uint64_t ms = go(s, 5000, way, 6, &v);
    cr_assert_eq(job_stats_restarts(s, VERDICT_LOSS), 1);
    cr_assert_eq(job_stats_restarts(s, VERDICT_SIGNAL), 0);
    const struct job_stats_times *t = job_stats_recovery(s);
    cr_assert_eq(t->n, 1);
    cr_assert_float_eq(t->sum_s, 4, 1e-9);
    cr_assert_eq(t->within[2], 0); // 1 s
    cr_assert_eq(t->within[4], 1); // 10 s
    cr_assert_eq(t->within[JOB_STATS_BUCKETS - 1], 1);
    cr_assert_float_eq(job_stats_stopping(s)->sum_s, 1, 1e-9);
    job_stats_heard(s, JOB_STATS_LOSS, 3100);
    t = job_stats_detection(s, JOB_STATS_LOSS);
    cr_assert_eq(t->within[3], 0); // 3 s
    cr_assert_eq(t->within[4], 1);
    cr_assert_eq(job_stats_detection(s, JOB_STATS_EXIT)->n, 0);
    cr_assert_float_eq(job_stats_lost_s(s, ms + 60000), 4, 1e-9);
    job_stats_destroy(s);
}

Test(job_stats, a_second_failure_before_ranks_run_is_the_same_outage)
{
    static const enum job_state way[] = {JOB_RUN,  JOB_STOP,   JOB_MUSTER, JOB_PREPARE,
                                         JOB_STOP, JOB_MUSTER, JOB_PREPARE};
    struct verdict v = {.failed = true, .strength = VERDICT_ERROR};
    struct job_stats *s = job_stats_create();
    go(s, 1000, way, 7, &v);
    cr_assert_eq(job_stats_recovery(s)->n, 0);
    cr_assert_eq(job_stats_restarts(s, VERDICT_ERROR), 2);
    job_stats_destroy(s);
}

Test(job_stats, a_good_end_is_no_outage)
{
    static const enum job_state way[] = {JOB_RUN, JOB_STOP, JOB_DRAIN, JOB_CLOSE};
    struct verdict v = {0};
    struct job_stats *s = job_stats_create();
    uint64_t ms = go(s, 1000, way, 4, &v);
    cr_assert_eq(job_stats_stopping(s)->n, 0);
    cr_assert_float_eq(job_stats_lost_s(s, ms), 0, 1e-9);
    job_stats_destroy(s);
}

Test(job_stats, an_outage_that_lasts_counts_as_time_lost)
{
    static const enum job_state way[] = {JOB_RUN, JOB_STOP, JOB_MUSTER};
    struct verdict v = {.failed = true, .strength = VERDICT_SIGNAL};
    struct job_stats *s = job_stats_create();
    go(s, 1000, way, 3, &v);
    cr_assert_float_eq(job_stats_lost_s(s, 31000), 30, 1e-9);
    job_stats_destroy(s);
}

// ---- places -----------------------------------------------------------------------

static void leads_to(const char *where, const char *address, int port)
{
    struct ask a = {0};
    ERR_AUTO err = ERR_INIT;
    char text[INET6_ADDRSTRLEN];
    cr_assert_eq(ask_find(&a, where, &err), 0, "%s: %s", where, err_text(&err));
    bool v6 = a.agent.ss_family == AF_INET6;
    const struct sockaddr_in *a4 = (const void *)&a.agent;
    const struct sockaddr_in6 *a6 = (const void *)&a.agent;
    inet_ntop(a.agent.ss_family, v6 ? (const void *)&a6->sin6_addr : &a4->sin_addr,
              text, sizeof text);
    cr_assert_str_eq(text, address);
    cr_assert_eq(ntohs(v6 ? a6->sin6_port : a4->sin_port), port);
}

Test(ask, places_are_addresses_and_ports)
{
    leads_to(NULL, "127.0.0.1", 7822);
    leads_to("7900", "127.0.0.1", 7900);
    leads_to("10.0.0.5", "10.0.0.5", 7822);
    leads_to("10.0.0.5:99", "10.0.0.5", 99);
    leads_to("::1", "::1", 7822);
    leads_to("[::1]:99", "::1", 99);
    leads_to("[::1]", "::1", 7822);
}

Test(ask, what_is_no_place_is_refused)
{
    static const char *const bad[] = {"",     ":",    "10.0.0.5:",      "10.0.0.5:x",
                                      "[::1", "[]:1", "10.0.0.5:70000", "[::1]x:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ask a = {0};
        ERR_AUTO err = ERR_INIT;
        cr_assert_eq(ask_find(&a, bad[i], &err), -1, "%s", bad[i]);
        has(err_text(&err), "give the address");
    }
}
