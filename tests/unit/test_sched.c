// Continuous batching: order, slots, pieces of prompts, steps under way, cancelling.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "kernels/infer/sched.h"

enum { SLOTS_MOST = 4, ROWS_MOST = 8, END_TOKEN = 99 };

struct bed {
    struct sched *s;
    struct sched_part parts[SLOTS_MOST];
    int32_t rows[ROWS_MOST];
    struct sched_step step;
    struct buf news; // "TAG:TOKEN " with what ends it: "." STOP, "!" LENGTH
    uint64_t cancel; // when it is told of this tag
};

static bool is_end(void *arg, int32_t token)
{
    return token == END_TOKEN;
}

static void tell(void *arg, const struct sched_news *news)
{
    struct bed *b = arg;
    static const char *const ends[] = {"", ".", "!"};
    buf_printf(&b->news, "%d:%d%s ", (int)news->tag, news->token, ends[news->end]);
    if (news->tag == b->cancel)
        sched_cancel(b->s, news->tag);
}

static void bed_make(struct bed *b, uint32_t slots, uint32_t rows, uint32_t depth)
{
    *b = (struct bed){.step = {.parts = b->parts, .rows = b->rows}};
    b->s = sched_create(&(struct sched_limits){
        .slots = slots, .rows = rows, .depth = depth, .waiting = 3, .length = 10});
}

static void bed_end(struct bed *b)
{
    sched_destroy(b->s);
    buf_free(&b->news);
}

static bool add(struct bed *b, uint64_t tag, uint32_t n, uint32_t max)
{
    int32_t prompt[10];
    for (int i = 0; i < 10; i++)
        prompt[i] = (int32_t)tag * 10 + i;
    return sched_add(
        b->s,
        &(struct sched_text){.prompt = prompt, .n = n, .max_tokens = max, .tag = tag});
}

// The next step as "SLOT@POS=TOKENS", "*" where it samples; "-": none.
static void expect_step(struct bed *b, const char *want)
{
    BUF_AUTO got = BUF_INIT;
    if (!sched_plan(b->s, &b->step)) {
        cr_assert_str_eq("-", want);
        return;
    }
    int32_t *row = b->step.rows;
    for (uint32_t i = 0; i < b->step.nparts; i++) {
        const struct sched_part *p = &b->step.parts[i];
        buf_printf(&got, "%s%u@%u=", i > 0 ? " " : "", p->slot, p->pos);
        for (uint32_t k = 0; k < p->n; k++)
            buf_printf(&got, "%s%d", k > 0 ? "," : "", *row++);
        buf_append_str(&got, p->sample ? "*" : "");
    }
    cr_assert_eq((size_t)(row - b->step.rows), b->step.nrows);
    CLEANUP_FREE char *text = buf_steal_str(&got);
    cr_assert_str_eq(text, want);
}

static void expect_news(struct bed *b, const int32_t *tokens, const char *want)
{
    sched_result(b->s, tokens,
                 &(struct sched_listener){.arg = b, .is_end = is_end, .tell = tell});
    CLEANUP_FREE char *got = buf_steal_str(&b->news);
    cr_assert_str_eq(got, want);
}

#define TOKENS(...)                                                                    \
    (const int32_t[])                                                                  \
    {                                                                                  \
        __VA_ARGS__                                                                    \
    }

Test(sched, a_text_from_its_prompt_to_its_length)
{
    struct bed b;
    bed_make(&b, 2, 8, 1);
    cr_assert(sched_idle(b.s));
    cr_assert(add(&b, 1, 3, 2));
    expect_step(&b, "0@0=10,11,12*");
    expect_step(&b, "-");
    expect_news(&b, TOKENS(50), "1:50 ");
    expect_step(&b, "0@3=50*");
    expect_news(&b, TOKENS(51), "1:51! ");
    cr_assert(sched_idle(b.s));
    bed_end(&b);
}

Test(sched, prompts_come_in_beside_texts_that_decode)
{
    struct bed b;
    bed_make(&b, 3, 4, 1);
    add(&b, 1, 1, 9);
    expect_step(&b, "0@0=10*");
    add(&b, 2, 5, 9);
    expect_news(&b, TOKENS(50), "1:50 ");
    expect_step(&b, "0@1=50* 1@0=20,21,22");
    expect_news(&b, TOKENS(51), "1:51 ");
    expect_step(&b, "0@2=51* 1@3=23,24*");
    expect_news(&b, TOKENS(52, 60), "1:52 2:60 ");
    expect_step(&b, "0@3=52* 1@5=60*");
    expect_news(&b, TOKENS(53, END_TOKEN), "1:53 2:99. ");
    expect_step(&b, "0@4=53*");
    bed_end(&b);
}

Test(sched, who_has_no_slot_waits_and_the_queue_has_an_end)
{
    struct bed b;
    bed_make(&b, 1, 8, 1);
    add(&b, 1, 1, 1);
    expect_step(&b, "0@0=10*");
    cr_assert(add(&b, 2, 1, 1) && add(&b, 3, 1, 1) && add(&b, 4, 1, 1));
    cr_assert_not(add(&b, 5, 1, 1));
    cr_assert_eq(sched_count(b.s, SCHED_WAITING), 3);
    expect_step(&b, "-");
    expect_news(&b, TOKENS(50), "1:50! ");
    expect_step(&b, "0@0=20*");
    cr_assert(add(&b, 5, 1, 1));
    bed_end(&b);
}

Test(sched, a_slot_s_length_bounds_a_text)
{
    struct bed b;
    bed_make(&b, 1, 8, 1);
    add(&b, 1, 8, 100); // positions 8 and 9 are left, and the token after them
    expect_step(&b, "0@0=10,11,12,13,14,15,16,17*");
    expect_news(&b, TOKENS(50), "1:50 ");
    expect_step(&b, "0@8=50*");
    expect_news(&b, TOKENS(51), "1:51 ");
    expect_step(&b, "0@9=51*");
    expect_news(&b, TOKENS(52), "1:52! ");
    bed_end(&b);
}

Test(sched, steps_under_way_share_the_texts)
{
    struct bed b;
    bed_make(&b, 4, 8, 2);
    add(&b, 1, 1, 9);
    add(&b, 2, 1, 9);
    expect_step(&b, "0@0=10* 1@0=20*");
    add(&b, 3, 1, 9);
    expect_step(&b, "2@0=30*");
    expect_step(&b, "-"); // two are under way
    expect_news(&b, TOKENS(50, 60), "1:50 2:60 ");
    expect_step(&b, "0@1=50* 1@1=60*");
    expect_news(&b, TOKENS(70), "3:70 ");
    expect_step(&b, "2@1=70*");
    cr_assert_eq(sched_under_way(b.s), 2);
    bed_end(&b);
}

Test(sched, pieces_of_a_prompt_follow_each_other_under_way)
{
    struct bed b;
    bed_make(&b, 2, 2, 2);
    add(&b, 1, 5, 9);
    expect_step(&b, "0@0=10,11");
    expect_step(&b, "0@2=12,13");
    expect_news(&b, NULL, "");
    expect_step(&b, "0@4=14*");
    expect_news(&b, NULL, "");
    expect_step(&b, "-");
    expect_news(&b, TOKENS(50), "1:50 ");
    bed_end(&b);
}

Test(sched, a_cancelled_text_is_told_of_nothing_and_its_slot_drains)
{
    struct bed b;
    bed_make(&b, 1, 8, 2);
    add(&b, 1, 2, 9);
    expect_step(&b, "0@0=10,11*");
    sched_cancel(b.s, 1);
    sched_cancel(b.s, 7);
    add(&b, 2, 1, 9);
    expect_step(&b, "-"); // the step still writes to the slot
    expect_news(&b, TOKENS(50), "");
    expect_step(&b, "0@0=20*");
    sched_cancel(b.s, 2);
    expect_news(&b, TOKENS(50), "");
    cr_assert(sched_idle(b.s));
    bed_end(&b);
}

Test(sched, who_is_told_may_cancel)
{
    struct bed b;
    bed_make(&b, 2, 8, 1);
    b.cancel = 1;
    add(&b, 1, 1, 9);
    add(&b, 2, 1, 9);
    expect_step(&b, "0@0=10* 1@0=20*");
    expect_news(&b, TOKENS(50, 60), "1:50 2:60 ");
    expect_step(&b, "1@1=60*");
    bed_end(&b);
}

Test(sched, a_slot_that_is_kept_is_free_when_its_text_is_cancelled)
{
    struct bed b;
    int32_t prompt[] = {5, 6};
    bed_make(&b, 1, 8, 1);
    sched_add(b.s,
              &(struct sched_text){
                  .prompt = prompt, .n = 2, .max_tokens = 1, .tag = 1, .hold = true});
    expect_step(&b, "0@0=5,6*");
    expect_news(&b, TOKENS(50), "1:50! ");
    cr_assert_eq(sched_count(b.s, SCHED_KEPT), 1);
    add(&b, 2, 1, 1);
    expect_step(&b, "-");
    sched_cancel(b.s, 1);
    expect_step(&b, "0@0=20*");
    bed_end(&b);
}

Test(sched, positions_can_come_from_elsewhere)
{
    struct bed b;
    struct sched_fetch f;
    int32_t prompt[] = {5, 6, 7};
    bed_make(&b, 2, 8, 1);
    for (uint64_t tag = 1; tag <= 2; tag++)
        sched_add(
            b.s,
            &(struct sched_text){
                .prompt = prompt, .n = 3, .max_tokens = 1, .tag = tag, .fetch = true});
    cr_assert(sched_next_fetch(b.s, &f));
    cr_assert(f.tag == 1 && f.slot == 0 && f.n == 3 && f.prompt[2] == 7);
    cr_assert(sched_next_fetch(b.s, &f));
    cr_assert_not(sched_next_fetch(b.s, &f));
    expect_step(&b, "-");
    sched_fetched(b.s, 1, true);
    sched_fetched(b.s, 2, false);
    expect_step(&b, "0@2=7* 1@0=5,6,7*");
    bed_end(&b);
}

Test(sched, a_slot_that_is_fetched_to_drains_too)
{
    struct bed b;
    struct sched_fetch f;
    int32_t prompt[] = {5, 6};
    bed_make(&b, 1, 8, 1);
    sched_add(b.s,
              &(struct sched_text){
                  .prompt = prompt, .n = 2, .max_tokens = 1, .tag = 1, .fetch = true});
    cr_assert(sched_next_fetch(b.s, &f));
    cr_assert(sched_fetch_wanted(b.s, f.slot));
    sched_cancel(b.s, 1);
    cr_assert_not(sched_fetch_wanted(b.s, f.slot));
    add(&b, 2, 1, 1);
    expect_step(&b, "-");
    sched_fetched(b.s, 1, true);
    expect_step(&b, "0@0=20*");
    bed_end(&b);
}
