// What is believed of a member's address.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/belief.h"
#include "hostfile/hostname.h"

// Answers, one a word: "1,2" the addresses 10.0.0.1 and 10.0.0.2, "-" no such name, "!" the
// pod was lost. Returns what is held after each of them: "1 1 2", "-" for none.
static char *story(const char *answers)
{
    struct belief b = {0};
    char text[256], *rest = NULL, held[INET_ADDRSTRLEN];
    static char out[256];
    out[0] = '\0';
    snprintf(text, sizeof text, "%s", answers);
    for (char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        struct sockaddr_storage addr[8];
        size_t n = 0;
        for (char *p = word; *p >= '0' && *p <= '9'; p += p[1] == ',' ? 2 : 1) {
            char at[INET_ADDRSTRLEN];
            snprintf(at, sizeof at, "10.0.0.%c", *p);
            cr_assert(hostname_literal(at, strlen(at), &addr[n++]));
        }
        if (word[0] == '-')
            belief_miss(&b);
        else if (word[0] == '!')
            belief_avoid(&b);
        else
            belief_take(&b, addr, n);
        snprintf(held, sizeof held, "-");
        const struct sockaddr_in *in = (const void *)&b.held;
        if (b.held.ss_family != 0)
            inet_ntop(AF_INET, &in->sin_addr, held, sizeof held);
        size_t len = strlen(out);
        snprintf(out + len, sizeof out - len, "%s%s", len > 0 ? " " : "",
                 held[0] == '-' ? held : held + strlen("10.0.0."));
    }
    belief_free(&b);
    return out;
}

Test(belief, a_replacement_is_taken_at_once)
{
    cr_assert_str_eq(story("1 2 2 3"), "1 2 2 3");
    cr_assert_str_eq(story("1 1,2 1,2 2"), "1 2 2 2");
}

Test(belief, wrong_answers_that_do_not_stay_change_nothing)
{
    cr_assert_str_eq(story("1 - 1 - - 1"), "1 1 1 1 1 1");
    cr_assert_str_eq(story("1 2 1 2 1 1 2"), "1 2 2 2 2 2 2");
    cr_assert_str_eq(story("1 2 1 - 1 2"), "1 2 2 2 2 2");
}

Test(belief, answers_that_stay_are_believed)
{
    cr_assert_str_eq(story("1 - - - 1"), "1 1 1 - 1");
    cr_assert_str_eq(story("1 2 1 1 1 1"), "1 2 2 2 1 1");
    cr_assert_str_eq(story("- - 1"), "- - 1");
}

Test(belief, the_order_of_an_answer_means_nothing)
{
    cr_assert_str_eq(story("1,2 2,1 1,2 2,1 2"), "1 1 1 1 1");
    cr_assert_str_eq(story("1,2,3,4,5,6 6,5,4,3,2,1 2,3,1,4,5,6"), "1 1 1");
}

Test(belief, a_lost_pods_successor_is_sought_for_some_answers)
{
    struct belief b = {0};
    struct sockaddr_storage old, new;
    hostname_literal("10.0.0.1", strlen("10.0.0.1"), &old);
    hostname_literal("10.0.0.2", strlen("10.0.0.2"), &new);
    belief_take(&b, &old, 1);
    belief_avoid(&b);
    for (int i = 0; i < BELIEF_SOUGHT; i++) {
        cr_assert(belief_doubts(&b), "after %d answers", i);
        cr_assert_not(belief_take(&b, &old, 1));
    }
    cr_assert_not(belief_doubts(&b));
    belief_avoid(&b);
    cr_assert(belief_take(&b, &new, 1));
    cr_assert_not(belief_doubts(&b));
    belief_free(&b);
}

Test(belief, a_lost_pod_gives_way_to_one_that_stands_beside_it)
{
    cr_assert_str_eq(story("1,2 ! 1,2 1,2"), "1 1 2 2");
    cr_assert_str_eq(story("1 ! 1 1,2 1,2"), "1 1 1 2 2");
    cr_assert_str_eq(story("1 2 ! 1 2"), "1 2 2 2 2");
}
