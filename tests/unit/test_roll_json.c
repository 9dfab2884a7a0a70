// roll.json, roll.beat and applied.json: there and back, and what is refused.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/roll_json.h"

static const struct roll_lease lease = {"0123456789abcdef0123456789abcdef", 10000};

static struct roll *two(void)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    static const uint8_t life[ROLL_INCARNATION_BYTES] = {7, 0xff};
    static const uint32_t seats[] = {1, 0}, slots[] = {8, 0};
    members_add(&m, "train-0.train", 13)->slots = 8;
    members_add(&m, "fd00::5", 7);
    struct roll *r = roll_create("key", 3, &m);
    strcpy(r->members[0].address, "10.0.0.1");
    strcpy(r->members[1].address, "fd00::5");
    roll_greet(r, 0, life, "host", 1);
    cr_assert_eq(roll_seat(r, seats, slots, 2, NULL), 0);
    r->pods = true;
    return r;
}

Test(roll_json, a_roll_comes_back_as_it_was)
{
    BUF_AUTO text = BUF_INIT;
    ERR_AUTO err = ERR_INIT;
    struct roll_lease of;
    struct roll *r = two();
    roll_json_write(r, &lease, &text);
    struct roll *back =
        roll_json_read((const char *)buf_data(&text), buf_len(&text), &of, &err);
    cr_assert_not_null(back, "%s", err_text(&err));
    cr_assert_str_eq(of.id, lease.id);
    cr_assert_eq(of.ms, lease.ms);
    bool same_job;
    cr_assert_eq(roll_compare(back, r, &same_job), 0);
    cr_assert(same_job && back->pods);
    cr_assert_eq(back->nmembers, 2);
    cr_assert_str_eq(back->members[0].name, "train-0.train");
    cr_assert_str_eq(back->members[1].address, "fd00::5");
    cr_assert_eq(back->members[0].slots, 8);
    cr_assert_eq(back->members[1].slots, -1);
    cr_assert(back->members[0].present);
    cr_assert_not(back->members[1].present);
    cr_assert_arr_eq(back->members[0].incarnation, r->members[0].incarnation,
                     ROLL_INCARNATION_BYTES);
    cr_assert_eq(back->npositions, 2);
    cr_assert_eq(back->positions[0], 1);
    cr_assert_eq(back->slots[0], 8);
    roll_destroy(back);
    roll_destroy(r);
}

// Every prefix of a roll, and every roll with one byte less, is refused or another roll,
// but never half of one.
Test(roll_json, half_a_roll_is_none)
{
    BUF_AUTO text = BUF_INIT;
    struct roll_lease of;
    struct roll *r = two();
    roll_json_write(r, &lease, &text);
    const char *all = (const char *)buf_data(&text);
    for (size_t len = 0; len + 1 < buf_len(&text); len++)
        cr_assert_null(roll_json_read(all, len, &of, NULL), "%zu bytes", len);
    for (size_t i = 0; i < buf_len(&text); i++) {
        CLEANUP_FREE char *less = xmalloc(buf_len(&text));
        memcpy(less, all, i);
        memcpy(less + i, all + i + 1, buf_len(&text) - i - 1);
        struct roll *other = roll_json_read(less, buf_len(&text) - 1, &of, NULL);
        cr_assert(other == NULL || (other->nmembers == 2 && other->npositions == 2));
        roll_destroy(other);
    }
    roll_destroy(r);
}

// A word of a good roll, what stands there instead, and a word of the refusal.
struct refusal {
    char word[40], instead[40], text[40];
};

Test(roll_json, what_makes_no_sense_is_refused_with_the_reason)
{
    static const struct refusal refusals[] = {
        {"\"10.0.0.1\"", "\"10.0.0\"", "'10.0.0' is no address"},
        {"train-0.train", "train 0", "no name of a member"},
        {"\"member\":1", "\"member\":2", "member 2 does not exist"},
        {"\"member\":1", "\"member\":0", "another position"},
        {"\"port\":7822", "\"port\":70000", "without name"},
        {"\"slots\":8}", "\"slots\":-1}", "a position without"},
        {"\"job\":\"key\"", "\"job\":\"\"", "without a job"},
        {"\"job\":\"key\"", "\"job\":\"k\\n10.6.6.6\"", "without a job"},
        {"\"id\":\"0", "\"id\":\"x", "lease"},
        {"\"ms\":10000", "\"ms\":0", "lease"},
        {"\"term\":3", "\"term\":\"3\"", "term"},
        {"\"members\":[", "\"members\":{[", "line 1"},
    };
    BUF_AUTO text = BUF_INIT;
    struct roll *r = two();
    roll_json_write(r, &lease, &text);
    CLEANUP_FREE char *all = buf_steal_str(&text);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        ERR_AUTO err = ERR_INIT;
        struct roll_lease of;
        const struct refusal *f = &refusals[i];
        char *at = strstr(all, f->word);
        cr_assert_not_null(at, "%s", f->word);
        CLEANUP_FREE char *bad = xasprintf("%.*s%s%s", (int)(at - all), all, f->instead,
                                           at + strlen(f->word));
        cr_assert_null(roll_json_read(bad, strlen(bad), &of, &err), "%s", f->instead);
        cr_assert_not_null(strstr(err_text(&err), f->text), "%s", err_text(&err));
    }
    roll_destroy(r);
}

Test(roll_json, a_beat_comes_back_and_has_one_length)
{
    struct roll_beat b = {.generation = 1, .count = UINT64_MAX}, back;
    BUF_AUTO text = BUF_INIT, other = BUF_INIT;
    memcpy(b.id, lease.id, sizeof b.id);
    roll_beat_write(&b, &text);
    cr_assert_eq(roll_beat_read((const char *)buf_data(&text), buf_len(&text), &back),
                 0);
    cr_assert_str_eq(back.id, b.id);
    cr_assert_eq(back.generation, 1);
    cr_assert_eq(back.count, UINT64_MAX);
    b.count = 0;
    roll_beat_write(&b, &other);
    cr_assert_eq(buf_len(&other), buf_len(&text));
    cr_assert_eq(
        roll_beat_read((const char *)buf_data(&text), buf_len(&text) - 1, &back), -1);
}

Test(roll_json, an_answer_comes_back_whatever_bytes_its_error_has)
{
    char job[] = "key", error[] = "/tmp/\xff\n: no";
    struct roll_applied a = {.job = job, .term = 1, .generation = 9, .error = error},
                        back;
    BUF_AUTO text = BUF_INIT;
    roll_applied_write(&a, &text);
    cr_assert_eq(
        roll_applied_read((const char *)buf_data(&text), buf_len(&text), &back), 0);
    cr_assert_str_eq(back.job, "key");
    cr_assert_eq(back.generation, 9);
    cr_assert_str_eq(back.error, "/tmp/??: no");
    roll_applied_free(&back);
    cr_assert_eq(roll_applied_read("{}", 2, &back), -1);
    roll_applied_free(&back);
}
