// The roll as a message: there and back, its size, and what is refused.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "wire/msg.h"
#include "wire/roll_msg.h"

enum { MANY = 8000 };

static struct roll *roll_of(uint32_t n)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    CLEANUP_FREE uint32_t *seats = xcalloc(n, sizeof *seats);
    CLEANUP_FREE uint32_t *slots = xcalloc(n, sizeof *slots);
    static const uint8_t life[ROLL_INCARNATION_BYTES] = {7, 0xff};
    for (uint32_t i = 0; i < n; i++) {
        CLEANUP_FREE char *name =
            xasprintf("training-with-a-long-name-%u.training-workers", i);
        struct member *one = members_add(&m, name, strlen(name));
        struct sockaddr_in *a = (void *)&one->addr;
        a->sin_family = AF_INET;
        a->sin_addr.s_addr = htonl(0x0a000001u + i);
        one->slots = i == 0 ? -1 : 8;
        seats[i] = n - 1 - i;
        slots[i] = 8;
    }
    struct roll *r = roll_create("key", 3, &m);
    for (uint32_t i = 0; i + 1 < n; i++)
        roll_greet(r, i, life, "host", 64);
    cr_assert_eq(roll_seat(r, seats, slots, n, NULL), 0);
    return r;
}

Test(roll_msg, comes_back_as_it_was)
{
    ERR_AUTO err = ERR_INIT;
    struct roll *r = roll_of(3);
    r->pods = true;
    Muster__Roll *m = roll_msg_make(r);
    struct roll *back = roll_msg_read(m, 3, &err);
    cr_assert_not_null(back, "%s", err_text(&err));
    cr_assert_str_eq(back->job_key, "key");
    cr_assert_eq(back->term, 3);
    cr_assert_eq(back->generation, r->generation);
    cr_assert(back->pods);
    cr_assert_eq(back->nmembers, 3);
    cr_assert_str_eq(back->members[1].name, r->members[1].name);
    cr_assert_str_eq(back->members[1].address, "10.0.0.2");
    cr_assert_eq(back->members[0].slots, -1);
    cr_assert_eq(back->members[1].slots, 8);
    cr_assert(back->members[1].present);
    cr_assert_not(back->members[2].present);
    cr_assert_arr_eq(back->members[1].incarnation, r->members[1].incarnation,
                     ROLL_INCARNATION_BYTES);
    cr_assert_eq(back->npositions, 3);
    cr_assert_eq(back->positions[0], 2);
    cr_assert_eq(back->slots[0], 8);
    msg_free(m);
    roll_destroy(back);
    roll_destroy(r);
}

Test(roll_msg, eight_thousand_members_are_far_below_a_frames_bound)
{
    BUF_AUTO body = BUF_INIT;
    ERR_AUTO err = ERR_INIT;
    struct roll *r = roll_of(MANY);
    Muster__Roll *m = roll_msg_make(r);
    struct frame f = {.kind = FRAME_ROLL};
    msg_pack(&f, &body, &m->base);
    cr_assert_lt(f.len, 2 << 20);
    cr_assert_lt(f.len, FRAME_BODY_MAX);
    msg_free(m);
    m = msg_unpack(&f, &muster__roll__descriptor, &err);
    struct roll *back = roll_msg_read(m, 3, &err);
    cr_assert_not_null(back, "%s", err_text(&err));
    cr_assert_eq(back->nmembers, MANY);
    msg_free(m);
    roll_destroy(back);
    roll_destroy(r);
}

// What is changed in a good message, and a word of the refusal.
enum bad { BAD_NAME, BAD_ADDRESS, BAD_PORT, BAD_SEAT, BAD_TWICE, BAD_LIFE, BAD_JOB };
struct refusal {
    enum bad bad;
    char text[40];
};

static void replace(char **at, const char *text)
{
    free(*at);
    *at = xstrdup(text);
}

static void spoil(Muster__Roll *m, enum bad bad)
{
    switch (bad) {
    case BAD_NAME: replace(&m->members[1]->name, "a\nb"); break;
    case BAD_ADDRESS: replace(&m->members[1]->address, "10.0.0"); break;
    case BAD_PORT: m->members[1]->port = 1 << 16; break;
    case BAD_SEAT: m->positions[0]->member = 3; break;
    case BAD_TWICE: m->positions[0]->member = 1; break;
    case BAD_LIFE: m->members[1]->incarnation.len = 3; break;
    case BAD_JOB: replace(&m->job_key, ""); break;
    }
}

Test(roll_msg, what_makes_no_sense_is_refused_whole)
{
    static const struct refusal refusals[] = {
        {BAD_NAME, "no name of a member"}, {BAD_ADDRESS, "'10.0.0' is no address"},
        {BAD_PORT, "make no sense"},       {BAD_SEAT, "member 3 does not exist"},
        {BAD_TWICE, "another position"},   {BAD_LIFE, "make no sense"},
        {BAD_JOB, "without a job"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        ERR_AUTO err = ERR_INIT;
        struct roll *r = roll_of(3);
        Muster__Roll *m = roll_msg_make(r);
        spoil(m, refusals[i].bad);
        cr_assert_null(roll_msg_read(m, 1, &err));
        cr_assert_not_null(strstr(err_text(&err), refusals[i].text), "%s",
                           err_text(&err));
        msg_free(m);
        roll_destroy(r);
    }
}
