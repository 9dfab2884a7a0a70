// A vertex and its one child: the table of its states, and what becomes of a child that is
// lost, moves, or is wanted anew.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/unit/link_pair.h"
#include "wire/branch.h"
#include "wire/branch_state.h"

// ---- the table --------------------------------------------------------------

Test(branch, every_event_in_every_state)
{
    // DIAL, UP, FAIL, GIVE_UP, LOSE, REDIAL, EXCHANGE
    static const enum child_state want[CHILD_STATES][CHILD_EVENTS] = {
        [CHILD_WAITING] = {CHILD_DIALING, CHILD_WAITING, CHILD_WAITING, CHILD_GONE,
                           CHILD_WAITING, CHILD_WAITING, CHILD_WAITING},
        [CHILD_DIALING] = {CHILD_DIALING, CHILD_ATTACHED, CHILD_WAITING, CHILD_GONE,
                           CHILD_DIALING, CHILD_WAITING, CHILD_WAITING},
        [CHILD_ATTACHED] = {CHILD_ATTACHED, CHILD_ATTACHED, CHILD_ATTACHED,
                            CHILD_ATTACHED, CHILD_GONE, CHILD_ATTACHED, CHILD_WAITING},
        [CHILD_GONE] = {CHILD_DIALING, CHILD_GONE, CHILD_GONE, CHILD_GONE, CHILD_GONE,
                        CHILD_WAITING, CHILD_WAITING},
    };
    for (int s = 0; s < CHILD_STATES; s++)
        for (int ev = 0; ev < CHILD_EVENTS; ev++)
            cr_assert_eq(child_state_next(s, ev), want[s][ev], "%s -- %s",
                         child_state_name(s), child_event_name(ev));
}

// ---- a branch, and the listener of a pair as its child ----------------------

struct bed {
    struct pair pair; // its dialler stays unused
    struct branch *branch;
    Muster__Attach attach;
    Muster__Member member, *members[1];
    char address[64], none[1];
    unsigned attached, missing, final, lost, broken;
    char kind[32]; // of what was missing or lost last
};

static void on_frame(void *arg, const struct frame *f)
{
}

static void on_attached(void *arg, uint32_t vertex, const Muster__Hello *hello)
{
    struct bed *b = arg;
    cr_assert_eq(vertex, 1);
    b->attached++;
}

static void on_missing(void *arg, uint32_t vertex, const struct err *why, bool final)
{
    struct bed *b = arg;
    b->missing++;
    b->final += final ? 1 : 0;
    snprintf(b->kind, sizeof b->kind, "%s", why->kind != NULL ? why->kind : "");
}

static void on_lost(void *arg, uint32_t vertex, const struct err *why)
{
    struct bed *b = arg;
    b->lost++;
    snprintf(b->kind, sizeof b->kind, "%s", why->kind);
}

static void on_broken(void *arg, uint32_t vertex, const struct err *why)
{
    ((struct bed *)arg)->broken++;
}

static void set_address(struct bed *b, const char *address, uint16_t port)
{
    snprintf(b->address, sizeof b->address, "%s", address);
    b->member.port = port;
}

static uint16_t port_of(const struct pair *p)
{
    return ntohs(((const struct sockaddr_in *)&p->address)->sin_port);
}

static void listen_again(struct bed *b)
{
    pair_listen(&b->pair);
    link_server_let_resume(b->pair.server, pair_find);
    set_address(b, "127.0.0.1", port_of(&b->pair));
}

// As when its program ends.
static void end_child(struct bed *b)
{
    link_server_destroy(b->pair.server);
    b->pair.server = NULL;
    link_destroy(b->pair.listener.link);
    b->pair.listener.link = NULL;
}

static void start_within(struct bed *b, uint32_t grace_ms, uint32_t connect_ms)
{
    static const struct branch_ops ops = {on_frame, on_attached, on_missing,
                                          on_lost,  on_broken,   NULL};
    struct keyring *ring = pair_ring_new("ring");
    memset(b, 0, sizeof *b);
    pair_init(&b->pair, ring, ring);
    b->attach = (Muster__Attach)MUSTER__ATTACH__INIT;
    b->member = (Muster__Member)MUSTER__MEMBER__INIT;
    b->member.address = b->address;
    b->members[0] = &b->member;
    b->attach.members = b->members;
    b->attach.n_members = 1;
    b->attach.fanout = 64;
    b->attach.connect_ms = connect_ms;
    listen_again(b);
    struct branch_conf conf = {.link = b->pair.conf[0],
                               .tree = {.vertices = 2, .fanout = 64},
                               .attach = &b->attach};
    conf.link.grace_ms = grace_ms;
    b->branch = branch_create(&conf, &ops, b);
}

static void start(struct bed *b, uint32_t grace_ms)
{
    start_within(b, grace_ms, 60000);
}

static void finish(struct bed *b)
{
    branch_destroy(b->branch);
    pair_free(&b->pair);
}

static bool is_attached(struct pair *p)
{
    return ((struct bed *)p)->attached == 1 && p->listener.frames == 1; // ATTACH
}

static bool is_attached_twice(struct pair *p)
{
    return ((struct bed *)p)->attached == 2 && p->listener.frames == 2;
}

// Others that were refused had no ATTACH.
static bool is_attached_at_last(struct pair *p)
{
    return ((struct bed *)p)->attached == 1;
}

static bool is_lost(struct pair *p)
{
    return ((struct bed *)p)->lost == 1;
}

static bool is_broken(struct pair *p)
{
    return ((struct bed *)p)->broken == 1;
}

static bool is_missed_twice(struct pair *p)
{
    return ((struct bed *)p)->missing >= 2;
}

static bool is_given_up(struct pair *p)
{
    return ((struct bed *)p)->final == 1;
}

TestSuite(branch, .init = pair_keys_make, .fini = pair_keys_remove, .timeout = 60);

Test(branch, a_child_that_is_lost_is_dialed_when_it_is_wanted_until_it_is_there)
{
    struct bed b;
    start(&b, 0);
    pair_run(&b.pair, is_attached);
    cr_assert_eq(branch_attached(b.branch), 1);
    end_child(&b);
    pair_run(&b.pair, is_lost);
    cr_assert_eq(branch_attached(b.branch), 0);
    pair_run_ms(&b.pair, 150);
    cr_assert_eq(b.missing, 0); // nobody has asked for it
    branch_redial(b.branch, 1);
    pair_run(&b.pair, is_missed_twice);
    cr_assert_eq(b.final, 0);
    listen_again(&b); // at another port: its owner says so
    branch_redial(b.branch, 1);
    pair_run(&b.pair, is_attached_twice);
    cr_assert_eq(b.lost, 1);
    finish(&b);
}

Test(branch, one_that_is_attached_and_connected_is_left_alone)
{
    struct bed b;
    start(&b, 0);
    pair_run(&b.pair, is_attached);
    set_address(&b, "127.0.0.1", 1);
    branch_redial(b.branch, 1);
    pair_run_ms(&b.pair, 150);
    cr_assert_eq(branch_attached(b.branch), 1);
    cr_assert_eq(b.lost + b.missing, 0);
    finish(&b);
}

Test(branch, one_that_is_attached_is_let_go_without_a_word_for_another_member)
{
    struct bed b;
    start(&b, 600000);
    pair_run(&b.pair, is_attached);
    set_address(&b, "127.0.0.1", 1); // where nobody listens so far
    branch_exchange(b.branch, 1);
    cr_assert_eq(branch_attached(b.branch), 0);
    pair_run(&b.pair, is_missed_twice);
    cr_assert_eq(b.lost + b.final, 0); // it is dialed as one that was lost
    listen_again(&b);
    branch_redial(b.branch, 1);
    pair_run(&b.pair, is_attached_twice);
    cr_assert_eq(b.lost, 0);
    finish(&b);
}

Test(branch, a_try_at_an_old_address_is_dropped_for_a_new_one)
{
    struct bed b;
    start(&b, 0);
    uint16_t port = port_of(&b.pair);
    pair_run(&b.pair, is_attached);
    set_address(&b, "127.0.0.1", 1); // where nobody listens
    end_child(&b);
    pair_run(&b.pair, is_lost);
    branch_redial(b.branch, 1);
    pair_run(&b.pair, is_missed_twice);
    listen_again(&b);
    cr_assert_neq(port_of(&b.pair), port);
    branch_redial(b.branch, 1);
    branch_redial(b.branch, 1); // while it is dialed: from the beginning
    pair_run(&b.pair, is_attached_twice);
    finish(&b);
}

// Its connection is broken as if its program had ended: within the grace it could come back,
// but now its owner knows where its successor is.
Test(branch, one_whose_program_has_ended_is_lost_at_once_when_it_has_moved)
{
    struct bed b;
    start(&b, 600000);
    pair_run(&b.pair, is_attached);
    struct link_server *old = b.pair.server;
    link_destroy(b.pair.listener.link);
    b.pair.listener.link = NULL;
    pair_run(&b.pair, is_broken);
    listen_again(&b);
    branch_redial(b.branch, 1);
    pair_run(&b.pair, is_attached_twice);
    cr_assert_eq(b.lost, 1);
    link_server_destroy(old);
    finish(&b);
}

Test(branch, what_cannot_be_an_address_is_given_up_unless_it_was_lost_before)
{
    struct bed b;
    start(&b, 0);
    set_address(&b, "nowhere", 7);
    pair_run(&b.pair, is_given_up);
    cr_assert_eq(b.missing, 1);
    branch_redial(b.branch, 1); // from now on every failure is one to try again after
    pair_run(&b.pair, is_missed_twice);
    cr_assert_eq(b.final, 1);
    listen_again(&b);
    branch_redial(b.branch, 1);
    pair_run(&b.pair, is_attached);
    finish(&b);
}

Test(branch, another_pod_at_the_address_is_met_again_until_it_is_the_right_one)
{
    struct bed b;
    char wanted[] = "train-1", other[] = "other-0";
    start(&b, 0);
    b.member.hostname = wanted; // before the loop runs: of the first try
    b.pair.hello[1].hostname = other;
    pair_run(&b.pair, is_missed_twice);
    cr_assert_str_eq(b.kind, "OTHER_POD");
    cr_assert_eq(b.final + b.attached, 0);
    b.pair.hello[1].hostname = wanted;
    pair_run(&b.pair, is_attached_at_last);
    cr_assert_eq(b.final, 0);
    finish(&b);
}

Test(branch, another_pod_at_the_address_is_given_up_when_the_time_is_over)
{
    struct bed b;
    char wanted[] = "train-1", other[] = "other-0";
    start_within(&b, 0, 150);
    b.member.hostname = wanted;
    b.pair.hello[1].hostname = other;
    pair_run(&b.pair, is_given_up);
    cr_assert_str_eq(b.kind, "OTHER_POD");
    cr_assert_eq(b.attached, 0);
    finish(&b);
}

Test(branch, nobody_is_dialed_while_it_closes)
{
    struct bed b;
    start(&b, 0);
    pair_run(&b.pair, is_attached);
    branch_close(b.branch);
    branch_redial(b.branch, 1);
    pair_run(&b.pair, is_lost);
    cr_assert_str_eq(b.kind, "CLOSED");
    branch_redial(b.branch, 1);
    pair_run_ms(&b.pair, 150);
    cr_assert_eq(b.attached + b.missing, 1);
    finish(&b);
}
