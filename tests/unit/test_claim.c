// The launcher's side of a claim, through every transition.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "wire/claim.h"

enum { MEMBERS = 3 };

static char train[] = "train", other[] = "other";
static char *const argv[] = {train};
static const uint8_t incarnations[MEMBERS][CLAIM_LAUNCHER_BYTES] = {{1}, {2}, {3}};
static const struct claim_member members[MEMBERS] = {{"train-0", incarnations[0]},
                                                     {"train-1", incarnations[1]},
                                                     {"train-2", incarnations[2]}};

static struct claim *make(bool rerun, bool adopt)
{
    struct claim_conf conf = {
        .members = MEMBERS, .argv = argv, .argc = 1, .rerun = rerun, .adopt = adopt};
    memset(conf.launcher, 'm', sizeof conf.launcher);
    return claim_create(&conf);
}

static struct claim *make_ordered(const char *order)
{
    struct claim_conf conf = {
        .members = MEMBERS, .argv = argv, .argc = 1, .rerun = true, .order = order};
    memset(conf.launcher, 'm', sizeof conf.launcher);
    return claim_create(&conf);
}

// A record that holds what it points to.
struct story {
    Muster__Record record;
    Muster__Progress progress;
    Muster__RecordSeat seats[4];
    Muster__RecordSeat *positions[4];
    uint8_t launcher[CLAIM_LAUNCHER_BYTES];
    char *argv[1];
    char host[8], names[4][8], empty[1];
};

static void held(struct story *s, uint32_t term, char who)
{
    memset(s, 0, sizeof *s);
    muster__record__init(&s->record);
    memset(s->launcher, who, sizeof s->launcher);
    strcpy(s->host, "train-9");
    s->record.term = term;
    s->record.launcher.len = sizeof s->launcher;
    s->record.launcher.data = s->launcher;
    s->record.host = s->host;
}

// Came to that attempt on `n` members "NAME-0" ... .
static void came_to(struct story *s, uint32_t term, uint32_t attempt, char *program,
                    size_t n, char name)
{
    held(s, term, 'x');
    muster__progress__init(&s->progress);
    s->progress.term = term;
    s->progress.attempt = attempt;
    s->argv[0] = program;
    s->progress.n_argv = 1;
    s->progress.argv = s->argv;
    for (size_t i = 0; i < n; i++) {
        muster__record_seat__init(&s->seats[i]);
        strcpy(s->names[i], "train-0");
        s->names[i][0] = name;
        s->names[i][6] = (char)('0' + i);
        s->seats[i].name = s->names[i];
        s->seats[i].address = s->empty;
        s->positions[i] = &s->seats[i];
    }
    s->progress.n_positions = n;
    s->progress.positions = s->positions;
    s->record.progress = &s->progress;
}

static void all_say(struct claim *c, const Muster__Record *m)
{
    for (uint32_t i = 0; i < MEMBERS; i++)
        claim_record(c, i, m);
}

static void all_grant(struct claim *c, uint32_t term)
{
    for (uint32_t i = 0; i < MEMBERS; i++)
        claim_granted(c, i, term);
}

static const Muster__Record blank = MUSTER__RECORD__INIT;

Test(claim, all_blank_is_a_new_job_of_term_1_once_all_have_granted)
{
    struct claim *c = make(false, false);
    claim_record(c, 0, &blank);
    claim_record(c, 1, &blank);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_LOOKING); // not all are in
    cr_assert(claim_answered(c, 1));
    cr_assert(!claim_answered(c, 2));
    claim_record(c, 2, &blank);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    cr_assert_eq(claim_term(c), 1);
    cr_assert_null(claim_last(c));
    cr_assert_eq(claim_granted(c, 0, 1), CLAIM_ASKING);
    cr_assert_eq(claim_granted(c, 0, 1), CLAIM_ASKING); // twice is once
    cr_assert_eq(claim_granted(c, 1, 1), CLAIM_ASKING);
    cr_assert_eq(claim_granted(c, 2, 0), CLAIM_ASKING); // of another term
    cr_assert_eq(claim_granted(c, 2, 1), CLAIM_REIGNS);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_REIGNS);
    claim_destroy(c);
}

Test(claim, it_goes_on_from_the_attempt_that_came_furthest)
{
    struct claim *c = make(false, false);
    struct story low, far, held_only;
    came_to(&low, 1, 9, train, 3, 't');
    came_to(&far, 2, 3, train, 3, 't');
    held(&held_only, 5, 'x');
    claim_record(c, 0, &low.record);
    claim_record(c, 1, &far.record);
    claim_record(c, 2, &held_only.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    cr_assert_eq(claim_term(c), 6);
    cr_assert_eq(claim_last(c)->progress->attempt, 3);
    cr_assert_eq(claim_seats(c), 3);
    cr_assert_eq(claim_seats_held(c), 3);
    claim_destroy(c);
}

Test(claim, a_member_that_is_lost_is_asked_again)
{
    struct claim *c = make(false, false);
    all_say(c, &blank);
    claim_lost(c, 1);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_LOOKING);
    claim_record(c, 1, &blank);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    claim_granted(c, 0, 1);
    claim_lost(c, 0);
    claim_granted(c, 1, 1);
    cr_assert_eq(claim_granted(c, 2, 1), CLAIM_ASKING);
    cr_assert_eq(claim_granted(c, 0, 1), CLAIM_REIGNS);
    claim_lost(c, 0);
    cr_assert_eq(claim_state(c),
                 CLAIM_REIGNS); // its next attempt needs it, not the claim
    claim_destroy(c);
}

Test(claim, a_job_that_is_done_is_over_but_not_for_another_program_or_a_rerun)
{
    struct story s;
    came_to(&s, 2, 3, train, 3, 'o');
    s.progress.done = true;
    s.progress.code = 7;
    struct claim *c = make(false, false);
    claim_record(c, 0, &blank);
    claim_record(c, 1, &s.record);
    claim_record(c, 2, &blank);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_OVER);
    cr_assert_eq(claim_last(c)->progress->code, 7);
    claim_destroy(c);
    c = make(true, false);
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false),
                 CLAIM_ASKING); // and no majority is asked for
    cr_assert_null(claim_last(c));
    claim_destroy(c);
    s.argv[0] = other;
    c = make(false, false);
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    cr_assert_eq(claim_term(c), 3);
    cr_assert_null(claim_last(c));
    claim_destroy(c);
}

// Of a launcher that is started again with the words of the one before.
Test(claim, an_order_to_rerun_counts_once)
{
    char first[] = "first", second[] = "second";
    struct story s;
    for (unsigned done = 0; done < 2; done++) {
        came_to(&s, 2, 3, train, 3, 't');
        s.progress.order = first;
        s.progress.done = done;
        struct claim *c = make_ordered(first);
        all_say(c, &s.record);
        cr_assert_eq(claim_judge(c, members, false), done ? CLAIM_OVER : CLAIM_ASKING);
        cr_assert(!claim_begins_anew(c));
        claim_destroy(c);
        c = make_ordered(second);
        all_say(c, &s.record);
        cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
        cr_assert(claim_begins_anew(c));
        claim_destroy(c);
    }
}

Test(claim, of_the_same_attempt_the_one_that_knows_its_end_counts)
{
    struct story running, done;
    came_to(&running, 1, 2, train, 3, 't');
    came_to(&done, 1, 2, train, 3, 't');
    done.progress.done = true;
    struct claim *c = make(false, false);
    claim_record(c, 0, &running.record);
    claim_record(c, 1, &done.record);
    claim_record(c, 2, &running.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_OVER);
    claim_destroy(c);
}

// Of 4 recorded positions these 3 members are, by name, 3 (t: same names) or none.
Test(claim, half_of_the_positions_is_no_majority)
{
    struct story s;
    struct claim *c = make(false, false);
    BUF_AUTO missing = BUF_INIT;
    came_to(&s, 1, 1, train, 4, 't');
    s.seats[0].name = other; // 2 of 4
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_SHORT);
    cr_assert_eq(claim_term(c), 0);
    cr_assert_eq(claim_seats_held(c), 2);
    claim_name_missing(c, 1, &missing);
    CLEANUP_FREE char *text = buf_steal_str(&missing);
    cr_assert_str_eq(text, "other () and 1 more");
    s.seats[0].incarnation.data = s.launcher; // its agent is here under another name
    s.seats[0].incarnation.len = CLAIM_LAUNCHER_BYTES;
    memcpy(s.launcher, incarnations[0], sizeof s.launcher);
    claim_record(c, 0, &s.record);
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    cr_assert_eq(claim_seats_held(c), 3);
    claim_destroy(c);
}

// One of 5 had gone on with 3 when its launcher was lost, and only one agent knows: the others
// may have gone on without these two.
Test(claim, every_attempt_of_which_an_agent_tells_needs_a_majority)
{
    struct story all, some;
    struct claim *c = make(false, false);
    came_to(&all, 1, 1, train, 4, 't');
    all.seats[0].name = all.seats[1].name = other; // 1 of 4
    came_to(&some, 2, 2, train, 3, 't');
    claim_record(c, 0, &some.record);
    claim_record(c, 1, &all.record);
    claim_record(c, 2, &blank);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_SHORT);
    cr_assert_eq(claim_seats(c), 4);
    cr_assert_eq(claim_seats_held(c), 1);
    claim_record(c, 1, &some.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    claim_destroy(c);
}

Test(claim, short_of_a_majority_the_end_of_the_job_ends_the_wait_and_adopt_overrides)
{
    struct story s;
    struct claim *c = make(false, false);
    came_to(&s, 1, 1, train, 4, 'o');
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_SHORT);
    claim_lost(c, 2);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_SHORT); // not all records are in
    s.progress.done = true;
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_OVER);
    claim_destroy(c);
    s.progress.done = false;
    c = make(false, true);
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    cr_assert_eq(claim_last(c)->progress->attempt, 1);
    claim_destroy(c);
}

Test(claim, a_rival_with_the_same_term_means_another_term_a_higher_one_the_end)
{
    struct claim *c = make(false, false);
    struct story s;
    all_say(c, &blank);
    claim_judge(c, members, false);
    claim_granted(c, 0, 1);
    held(&s, 1, 'r');
    cr_assert_eq(claim_denied(c, 1, &s.record), CLAIM_LOOKING);
    cr_assert_eq(claim_denied(c, 2, &s.record), CLAIM_LOOKING);
    cr_assert_eq(claim_granted(c, 1, 1), CLAIM_LOOKING);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    cr_assert_eq(claim_term(c), 2);
    held(&s, 1, 'r');
    cr_assert_eq(claim_denied(c, 1, &s.record), CLAIM_ASKING); // an old answer
    held(&s, 3, 'r');
    cr_assert_eq(claim_denied(c, 1, &s.record), CLAIM_DEPOSED);
    cr_assert_eq(claim_rival(c)->term, 3);
    held(&s, 9, 'q');
    claim_denied(c, 0, &s.record);
    claim_record(c, 0, &s.record);
    all_grant(c, 2);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_DEPOSED); // for ever
    cr_assert_eq(claim_rival(c)->term, 3);
    claim_destroy(c);
}

Test(claim, who_reigns_is_deposed_by_any_rival)
{
    struct story s;
    for (uint32_t term = 1; term <= 2; term++) {
        struct claim *c = make(false, false);
        all_say(c, &blank);
        claim_judge(c, members, false);
        all_grant(c, 1);
        held(&s, 1, 'm'); // what it has itself, told once more
        cr_assert_eq(claim_denied(c, 1, &s.record), CLAIM_REIGNS);
        cr_assert_eq(claim_record(c, 1, &s.record), CLAIM_REIGNS);
        held(&s, term, 'r');
        cr_assert_eq(claim_denied(c, 1, &s.record), CLAIM_DEPOSED);
        claim_destroy(c);
    }
    struct claim *c = make(false, false);
    all_say(c, &blank);
    claim_judge(c, members, false);
    all_grant(c, 1);
    held(&s, 2, 'r');
    cr_assert_eq(claim_record(c, 0, &s.record), CLAIM_DEPOSED);
    claim_destroy(c);
}

// Without the third member: a new job waits for it, one that goes on does not.
Test(claim, who_is_late_goes_on_without_members_that_are_missing_but_begins_nothing_new)
{
    struct story s;
    struct claim *c = make(false, false);
    claim_record(c, 0, &blank);
    claim_record(c, 1, &blank);
    cr_assert(!claim_is_known(c));
    cr_assert_eq(claim_judge(c, members, true), CLAIM_LOOKING);
    came_to(&s, 1, 4, train, 3, 't');
    claim_record(c, 1, &s.record);
    cr_assert(claim_is_known(c));
    cr_assert_eq(claim_judge(c, members, false), CLAIM_LOOKING);
    cr_assert_eq(claim_judge(c, members, true), CLAIM_ASKING);
    uint32_t member;
    cr_assert_str_eq(claim_missing(c, 0, &member)->name, "train-2");
    cr_assert_eq(member, 2);
    cr_assert_null(claim_missing(c, 1, &member));
    cr_assert_eq(claim_granted(c, 0, 2), CLAIM_ASKING);
    cr_assert_eq(claim_granted(c, 1, 2), CLAIM_REIGNS);
    cr_assert(claim_can_go(c));
    claim_destroy(c);
}

Test(claim, a_member_that_is_lost_while_it_is_asked_is_missing_then)
{
    struct story s;
    struct claim *c = make(false, false);
    came_to(&s, 1, 4, train, 3, 't');
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    claim_granted(c, 0, 2);
    cr_assert_eq(claim_lost(c, 1), CLAIM_ASKING);
    cr_assert_eq(claim_granted(c, 2, 2), CLAIM_REIGNS); // 2 of 3
    cr_assert_eq(claim_seats_held(c), 2);
    claim_destroy(c);
    c = make(false, false);
    all_say(c, &s.record);
    claim_judge(c, members, false);
    claim_granted(c, 0, 2);
    claim_lost(c, 1);
    cr_assert_eq(claim_lost(c, 2), CLAIM_ASKING); // 1 of 3
    claim_record(c, 2, &s.record);
    cr_assert_eq(claim_granted(c, 2, 2), CLAIM_REIGNS);
    claim_destroy(c);
}

Test(claim, half_a_job_is_done_only_when_a_majority_says_so)
{
    struct story s;
    struct claim *c = make(false, false);
    came_to(&s, 1, 4, train, 3, 't');
    s.progress.done = true;
    claim_record(c, 0, &s.record);
    cr_assert_eq(claim_judge(c, members, true), CLAIM_LOOKING);
    claim_record(c, 1, &blank);
    cr_assert_eq(claim_judge(c, members, true), CLAIM_OVER);
    claim_destroy(c);
}

// A launcher that came no further than the member that was missing then had as high a term.
Test(claim, by_the_word_of_a_member_that_comes_late_nobody_is_deposed)
{
    struct story s, ghost;
    struct claim *c = make(false, false);
    came_to(&s, 1, 4, train, 3, 't');
    claim_record(c, 0, &s.record);
    claim_record(c, 1, &s.record);
    claim_judge(c, members, true);
    claim_granted(c, 0, 2);
    claim_granted(c, 1, 2);
    held(&ghost, 5, 'g');
    cr_assert_eq(claim_record(c, 2, &ghost.record), CLAIM_REIGNS);
    cr_assert_eq(claim_denied(c, 2, &ghost.record), CLAIM_REIGNS);
    cr_assert(claim_outbid(c));
    cr_assert_eq(claim_again(c), CLAIM_ASKING);
    cr_assert_eq(claim_term(c), 6);
    cr_assert(!claim_outbid(c));
    all_grant(c, 6);
    cr_assert_eq(claim_state(c), CLAIM_REIGNS);
    cr_assert_eq(claim_denied(c, 2, &ghost.record), CLAIM_REIGNS); // an old answer
    held(&ghost, 7, 'g'); // it has granted by now: this one counts
    cr_assert_eq(claim_denied(c, 2, &ghost.record), CLAIM_DEPOSED);
    claim_destroy(c);
}

Test(claim, the_last_term_is_claimed_and_no_further_one)
{
    struct story s;
    struct claim *c = make(false, false);
    held(&s, CLAIM_TERM_MAX - 1, 'x');
    all_say(c, &s.record);
    cr_assert_eq(claim_judge(c, members, false), CLAIM_ASKING);
    cr_assert_eq(claim_term(c), CLAIM_TERM_MAX);
    claim_destroy(c);
    for (uint32_t more = 0; more < 2;
         more++) { // no agent grants the one above it, either
        c = make(true, true);
        held(&s, CLAIM_TERM_MAX + more, 'x');
        claim_record(c, 0, &blank);
        claim_record(c, 1, &s.record);
        claim_record(c, 2, &blank);
        cr_assert_eq(claim_judge(c, members, false), CLAIM_SPENT);
        cr_assert_eq(claim_term(c), 0);
        cr_assert_eq(claim_judge(c, members, true), CLAIM_SPENT); // for ever
        cr_assert_eq(claim_granted(c, 0, 1), CLAIM_SPENT);
        claim_destroy(c);
    }
}

Test(claim, who_is_outbid_with_the_last_term_cannot_claim_again)
{
    struct story s, ghost;
    struct claim *c = make(false, false);
    came_to(&s, 1, 4, train, 3, 't');
    claim_record(c, 0, &s.record);
    claim_record(c, 1, &s.record);
    claim_judge(c, members, true);
    claim_granted(c, 0, 2);
    claim_granted(c, 1, 2);
    held(&ghost, CLAIM_TERM_MAX, 'g');
    cr_assert_eq(claim_denied(c, 2, &ghost.record), CLAIM_REIGNS);
    cr_assert(claim_outbid(c));
    cr_assert_eq(claim_again(c), CLAIM_SPENT);
    cr_assert_eq(claim_term(c), 2);
    claim_destroy(c);
}

// Members that are missing may be reached in another way: while the claim hangs on them.
Test(claim, it_lacks_members_as_long_as_those_that_are_here_cannot_do_without)
{
    struct story s;
    struct claim *c = make(false, false);
    cr_assert_not(claim_lacks(c, false)); // they have their time
    cr_assert(claim_lacks(c, true));
    claim_record(c, 0, &blank);
    cr_assert(claim_lacks(c, true)); // it tells nothing
    cr_assert(claim_pins(c, 0));
    came_to(&s, 1, 4, train, 3, 't');
    claim_record(c, 1, &s.record);
    cr_assert_not(claim_lacks(c, true)); // judge it
    claim_lost(c, 0);
    cr_assert_eq(claim_judge(c, members, true), CLAIM_SHORT);
    cr_assert(claim_lacks(c, true));
    cr_assert_not(claim_pins(c, 1));
    claim_record(c, 0, &blank);
    cr_assert_eq(claim_judge(c, members, true), CLAIM_ASKING);
    cr_assert(claim_lacks(c, true));
    claim_granted(c, 0, 2);
    cr_assert_not(claim_pins(c, 0));
    cr_assert(claim_pins(c, 1)); // its ranks are being ended
    cr_assert_eq(claim_granted(c, 1, 2), CLAIM_REIGNS);
    cr_assert_not(claim_lacks(c, true));
    cr_assert_not(claim_pins(c, 2));
    claim_destroy(c);
}

Test(claim, a_job_that_is_new_or_begun_anew_wants_all_and_lacks_none)
{
    struct story s;
    for (unsigned rerun = 0; rerun < 2; rerun++) {
        struct claim *c = make(rerun, false);
        came_to(&s, 1, 4, train, 3, 't');
        all_say(c, rerun ? &s.record : &blank);
        cr_assert_eq(claim_judge(c, members, true), CLAIM_ASKING);
        cr_assert_not(claim_lacks(c, true));
        claim_destroy(c);
    }
}

// Positions on 0 and 1; then a spare, 2, has that of 1.
Test(claim, an_attempt_goes_when_half_of_the_positions_before_know_of_it)
{
    const uint32_t first[] = {0, 1}, second[] = {0, 2}, third[] = {1, 2};
    struct claim *c = make(false, false);
    all_say(c, &blank);
    claim_judge(c, members, false);
    all_grant(c, 1);
    claim_prepared(c, 1, first, 2);
    cr_assert(claim_may_go(c));
    claim_gone(c);
    claim_lost(c, 1);
    cr_assert(claim_can_go(c)); // no other launcher has a majority without 0
    claim_prepared(c, 2, second, 2);
    claim_acked(c, 2, 2);
    cr_assert(!claim_may_go(c));
    claim_acked(c, 0, 2);
    cr_assert(claim_may_go(c));
    // It is never told to go: the next one needs half of both.
    claim_granted(c, 1, 1);
    claim_lost(c, 0);
    cr_assert(claim_can_go(c));
    claim_prepared(c, 3, third, 2);
    claim_acked(c, 1, 3);
    cr_assert(!claim_may_go(c));
    claim_acked(c, 2, 3);
    cr_assert(claim_may_go(c));
    claim_gone(c);
    claim_lost(c, 1);
    claim_lost(c, 2);
    cr_assert(!claim_can_go(c));
    claim_destroy(c);
}

Test(claim, states_have_names)
{
    for (int s = 0; s < CLAIM_STATES; s++)
        cr_assert_gt(strlen(claim_state_name((enum claim_state)s)), 0);
}
