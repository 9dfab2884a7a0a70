// What an agent remembers of jobs, and to whom it grants them.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "agent/record.h"
#include "wire/msg.h"

static struct record_claim claim(const char *key, uint32_t term, char who)
{
    struct record_claim c = {.job_key = key, .term = term, .host = "train-0"};
    memset(c.launcher, who, sizeof c.launcher);
    return c;
}

static bool grant(struct records *r, const char *key, uint32_t term, char who)
{
    struct record_claim c = claim(key, term, who);
    bool granted = records_grant(r, &c);
    cr_assert_eq(records_is_held(r, &c), granted);
    return granted;
}

static void come_to(struct records *r, const char *key, uint32_t term, uint32_t attempt)
{
    Muster__Progress p = MUSTER__PROGRESS__INIT;
    p.term = term;
    p.attempt = attempt;
    records_progress(r, key, &p, 1000);
}

static void end(struct records *r, const char *key, uint32_t term, uint32_t attempt)
{
    Muster__Done d = MUSTER__DONE__INIT;
    char text[] = "rank 3 ended";
    d.code = 7;
    d.text = text;
    records_done(r, key, term, attempt, &d);
}

// Term that is known of the key; 0: blank.
static uint32_t known(const struct records *r, const char *key)
{
    Muster__Record *m = records_read(r, key, 0);
    uint32_t term = m->term;
    msg_free(m);
    return term;
}

Test(record, only_a_higher_term_is_granted_or_the_same_launcher_again)
{
    struct records *r = records_create();
    cr_assert(!grant(r, "job", 0, 'a'));
    cr_assert(grant(r, "job", 2, 'a'));
    cr_assert(grant(r, "job", 2, 'a'));
    cr_assert(!grant(r, "job", 2, 'b'));
    cr_assert(!grant(r, "job", 1, 'a'));
    cr_assert(grant(r, "job", 3, 'b'));
    cr_assert(!grant(r, "job", 2, 'a'));
    cr_assert(grant(r, "other", 1, 'a'));
    cr_assert_eq(known(r, "job"), 3);
    cr_assert_eq(known(r, "none"), 0);
    records_destroy(r);
}

Test(record, progress_stays_over_a_claim_and_is_written_by_its_holder_only)
{
    struct records *r = records_create();
    grant(r, "job", 1, 'a');
    come_to(r, "job", 1, 4);
    grant(r, "job", 2, 'b');
    come_to(r, "job", 1, 5);
    Muster__Record *m = records_read(r, "job", 1500);
    cr_assert_eq(m->term, 2);
    cr_assert_eq(m->launcher.data[0], 'b');
    cr_assert_str_eq(m->host, "train-0");
    cr_assert_eq(m->progress->term, 1);
    cr_assert_eq(m->progress->attempt, 4);
    cr_assert_eq(m->age_ms, 500);
    msg_free(m);
    come_to(r, "none", 1, 1);
    cr_assert_eq(known(r, "none"), 0);
    records_destroy(r);
}

Test(record, the_end_is_of_the_attempt_that_was_written_last)
{
    struct records *r = records_create();
    grant(r, "job", 1, 'a');
    end(r, "job", 1, 1);
    come_to(r, "job", 1, 2);
    end(r, "job", 1, 1);
    Muster__Record *m = records_read(r, "job", 0);
    cr_assert(!m->progress->done);
    msg_free(m);
    end(r, "job", 1, 2);
    m = records_read(r, "job", 0);
    cr_assert(m->progress->done);
    cr_assert_eq(m->progress->code, 7);
    cr_assert_str_eq(m->progress->text, "rank 3 ended");
    msg_free(m);
    records_destroy(r);
}

Test(record, of_too_many_jobs_those_that_are_done_are_forgotten_first)
{
    struct records *r = records_create();
    char key[16];
    for (int i = 0; i < RECORD_JOBS_MAX; i++) {
        snprintf(key, sizeof key, "job-%d", i);
        grant(r, key, 1, 'a');
        come_to(r, key, 1, 1);
    }
    end(r, "job-5", 1, 1);
    grant(r, "job-0", 2, 'b'); // touched: no longer the oldest
    grant(r, "new-1", 1, 'a');
    cr_assert_eq(known(r, "job-5"), 0);
    cr_assert_eq(known(r, "job-1"), 1);
    grant(r, "new-2", 1, 'a');
    cr_assert_eq(known(r, "job-1"), 0);
    cr_assert_eq(known(r, "job-0"), 2);
    records_destroy(r);
}

Test(record,
     an_account_is_of_the_attempt_that_was_written_last_and_makes_it_the_terms_own)
{
    struct records *r = records_create();
    Muster__Account a = MUSTER__ACCOUNT__INIT;
    grant(r, "job", 1, 'a');
    come_to(r, "job", 1, 4);
    a.ran_ms = 7;
    records_account(r, "job", 1, 3, &a, 2000); // of another attempt
    records_account(r, "none", 1, 4, &a, 2000);
    Muster__Record *m = records_read(r, "job", 2000);
    cr_assert_null(m->progress->account);
    cr_assert_eq(m->age_ms, 1000);
    msg_free(m);
    grant(r, "job", 2, 'b');
    records_account(r, "job", 1, 4, &a, 2000); // of who commands no more
    records_account(r, "job", 2, 4, &a, 3000);
    end(r, "job", 2, 4);
    m = records_read(r, "job", 3500);
    cr_assert_eq(m->progress->term, 2);
    cr_assert_eq(m->progress->account->ran_ms, 7);
    cr_assert_eq(m->age_ms, 500);
    cr_assert(m->progress->done);
    msg_free(m);
    records_destroy(r);
}
