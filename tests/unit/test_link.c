// Links between two live ends, over SSH and over a byte stream: handshake, frames,
// refusal, orderly and disorderly ends.
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "tests/unit/link_pair.h"

TestSuite(link, .init = pair_keys_make, .fini = pair_keys_remove, .timeout = 60);

static enum pair_over transports[] = {PAIR_OVER_SSH, PAIR_OVER_FDS};

static struct criterion_test_params both_transports(void)
{
    return cr_make_param_array(enum pair_over, transports, 2, NULL);
}

static void send_kind(struct end *e, uint16_t kind, const uint8_t *body, size_t len)
{
    link_send(e->link, &(struct frame){.kind = kind, .body = body, .len = len});
}

static uint8_t sum_of(uint8_t sum, const uint8_t *body, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sum = (uint8_t)(sum * 31 + body[i]);
    return sum;
}

static void expect_down(const struct end *e, const char *kind, const char *part)
{
    cr_assert_eq(e->downs, 1);
    cr_assert_str_eq(e->kind, kind, "%s: %s", e->kind, e->text);
    cr_assert_not_null(strstr(e->text, part), "'%s' is not in: %s", part, e->text);
}

// ---- handshake and frames ---------------------------------------------------

ParameterizedTestParameters(link, both_ends_come_up_and_know_each_other)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, both_ends_come_up_and_know_each_other)
{
    struct pair p;
    pair_make_up(&p, *over);
    cr_assert_str_eq(p.dialler.role, "agent");
    cr_assert_str_eq(p.listener.role, "launcher");
    cr_assert_eq(link_get_state(p.dialler.link), LINK_UP);
    const char *peer = link_peer_text(p.listener.link);
    const char *local = link_local_address(p.dialler.link);
    cr_assert_eq(strncmp(peer, *over == PAIR_OVER_SSH ? "127.0.0.1:" : "stdio", 5), 0);
    cr_assert_str_eq(local, *over == PAIR_OVER_SSH ? "127.0.0.1" : "");
    cr_assert_str_eq(link_local_address(p.listener.link), local);
    pair_free(&p);
}

static bool all_arrived(struct pair *p)
{
    return p->dialler.frames == 1001 && p->listener.frames == 1001;
}

static size_t position_of(const struct end *e, uint16_t kind)
{
    size_t at = 0;
    while (at < e->frames && e->kinds[at] != kind)
        at++;
    return at;
}

ParameterizedTestParameters(link, control_overtakes_a_thousand_bulk_frames_both_ways)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link,
                  control_overtakes_a_thousand_bulk_frames_both_ways)
{
    struct pair p;
    uint8_t sum = 0;
    CLEANUP_FREE uint8_t *piece = xcalloc(1, FRAME_BULK_MAX);
    pair_make_up(&p, *over);
    for (int i = 0; i < 1000; i++) {
        size_t len = (size_t)(i * 37 % 4096);
        memset(piece, i, len);
        sum = sum_of(sum, piece, len);
        send_kind(&p.dialler, FRAME_OUTPUT, piece, len);
        send_kind(&p.listener, FRAME_INPUT, piece, len);
    }
    send_kind(&p.dialler, FRAME_EXITED, NULL, 0);
    send_kind(&p.listener, FRAME_EXITED, NULL, 0);
    pair_run(&p, all_arrived);
    cr_assert_eq(p.dialler.sum, sum);
    cr_assert_eq(p.listener.sum, sum);
    cr_assert_lt(position_of(&p.dialler, FRAME_EXITED), 200u);
    cr_assert_lt(position_of(&p.listener, FRAME_EXITED), 200u);
    pair_free(&p);
}

static bool one_frame_each(struct pair *p)
{
    return p->dialler.frames == 1 && p->listener.frames == 1;
}

ParameterizedTestParameters(link, a_control_frame_of_16_MiB_arrives_whole)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, a_control_frame_of_16_MiB_arrives_whole)
{
    enum { BIG = 16 << 20 };
    struct pair p;
    CLEANUP_FREE uint8_t *body = xmalloc(BIG);
    for (size_t i = 0; i < BIG; i++)
        body[i] = (uint8_t)(i * 2654435761u >> 13);
    pair_make_up(&p, *over);
    send_kind(&p.dialler, FRAME_COLL, body, BIG);
    send_kind(&p.listener, FRAME_COLL_DONE, body, BIG);
    pair_run(&p, one_frame_each);
    cr_assert_eq(p.listener.bytes, (size_t)BIG);
    cr_assert_eq(p.dialler.bytes, (size_t)BIG);
    cr_assert_eq(p.listener.sum, sum_of(0, body, BIG));
    cr_assert_eq(p.dialler.sum, p.listener.sum);
    pair_free(&p);
}

ParameterizedTestParameters(link, heartbeats_keep_an_idle_link)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, heartbeats_keep_an_idle_link)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    for (int i = 0; i < 2; i++) {
        p.conf[i].heartbeat_ms = 60;
        p.conf[i].dead_ms = 400;
    }
    pair_connect(&p, *over);
    pair_run(&p, pair_both_up);
    pair_run_ms(&p, 1500);
    cr_assert_eq(p.dialler.downs + p.listener.downs, 0, "%s", p.dialler.text);
    // Time in which nobody here ran says nothing about the peer.
    poll(NULL, 0, 1000);
    pair_run_ms(&p, 300);
    cr_assert_eq(p.dialler.downs + p.listener.downs, 0, "%s", p.dialler.text);
    pair_free(&p);
}

// ---- refusal ----------------------------------------------------------------

ParameterizedTestParameters(link, another_major_version_is_refused_on_both_ends)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link,
                  another_major_version_is_refused_on_both_ends)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    p.hello[1].major = WIRE_MAJOR + 1;
    pair_connect(&p, *over);
    pair_run(&p, pair_both_down);
    cr_assert_eq(p.dialler.ups + p.listener.ups, 0);
    for (int i = 0; i < 2; i++) {
        const struct end *e = i == 0 ? &p.dialler : &p.listener;
        expect_down(e, "VERSION", "launcher speaks protocol 1 (version 0.1.0)");
        expect_down(e, "VERSION", "agent speaks protocol 2 (version 0.1.0)");
    }
    pair_free(&p);
}

static void refuse_on(enum pair_over over, int who)
{
    struct pair p;
    struct keyring *ring = pair_ring_load("ring");
    pair_init(&p, ring, ring);
    struct end *refuser = who == 0 ? &p.dialler : &p.listener;
    struct end *refused = who == 0 ? &p.listener : &p.dialler;
    refuser->refuse = "term 3 is over";
    pair_connect(&p, over);
    pair_run(&p, pair_both_down);
    expect_down(refuser, "REFUSED", "term 3 is over");
    expect_down(refused, "REFUSED", "the peer refused: term 3 is over");
    pair_free(&p);
}

ParameterizedTestParameters(link, what_up_refuses_the_peer_is_told)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, what_up_refuses_the_peer_is_told)
{
    keyring_destroy(pair_ring_new("ring"));
    refuse_on(*over, 0);
    refuse_on(*over, 1);
}

Test(link, a_link_that_nobody_accepts_is_refused)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    p.accept_none = true;
    pair_connect(&p, PAIR_OVER_SSH);
    pair_run(&p, pair_dialler_down);
    expect_down(&p.dialler, "REFUSED", "nobody here takes this link");
    cr_assert_eq(p.accepts, 1);
    pair_free(&p);
}

// ---- the orderly end --------------------------------------------------------

ParameterizedTestParameters(link, close_delivers_all_that_was_queued)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, close_delivers_all_that_was_queued)
{
    struct pair p;
    CLEANUP_FREE uint8_t *piece = xcalloc(1, FRAME_BULK_MAX);
    pair_make_up(&p, *over);
    for (int i = 0; i < 100; i++) {
        send_kind(&p.dialler, FRAME_OUTPUT, piece, FRAME_BULK_MAX);
        send_kind(&p.dialler, FRAME_EXITED, piece, 100);
    }
    link_close(p.dialler.link);
    send_kind(&p.dialler, FRAME_GO, NULL, 0); // too late: dropped
    link_close(p.dialler.link);
    pair_run(&p, pair_both_down);
    expect_down(&p.dialler, "CLOSED", "closed");
    expect_down(&p.listener, "CLOSED", "closed by the peer");
    cr_assert_eq(p.listener.frames, 200u);
    cr_assert_eq(p.listener.bytes, 100u * (FRAME_BULK_MAX + 100));
    pair_free(&p);
}

ParameterizedTestParameters(link, the_peers_last_words_come_too)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, the_peers_last_words_come_too)
{
    struct pair p;
    CLEANUP_FREE uint8_t *piece = xcalloc(1, FRAME_BULK_MAX);
    pair_make_up(&p, *over);
    for (int i = 0; i < 100; i++)
        send_kind(&p.listener, FRAME_OUTPUT, piece, FRAME_BULK_MAX);
    link_close(p.dialler.link);
    pair_run(&p, pair_both_down);
    expect_down(&p.dialler, "CLOSED", "closed");
    cr_assert_eq(p.dialler.frames, 100u);
    pair_free(&p);
}

ParameterizedTestParameters(link, both_may_close_at_once)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, both_may_close_at_once)
{
    struct pair p;
    pair_make_up(&p, *over);
    send_kind(&p.dialler, FRAME_EXITED, NULL, 0);
    send_kind(&p.listener, FRAME_OUTPUT, NULL, 0);
    link_close(p.dialler.link);
    link_close(p.listener.link);
    pair_run(&p, pair_both_down);
    expect_down(&p.dialler, "CLOSED", "closed");
    expect_down(&p.listener, "CLOSED", "closed");
    cr_assert_eq(p.dialler.frames, 1u);
    cr_assert_eq(p.listener.frames, 1u);
    pair_free(&p);
}

ParameterizedTestParameters(link, closing_before_it_is_up_ends_it)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, closing_before_it_is_up_ends_it)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    pair_connect(&p, *over);
    link_close(p.dialler.link);
    cr_assert_eq(p.dialler.downs, 0); // never from inside the call
    pair_run(&p, pair_dialler_down);
    expect_down(&p.dialler, "CLOSED", "before it was up");
    pair_free(&p);
}

// ---- destruction ------------------------------------------------------------

static bool one_gone_one_down(struct pair *p)
{
    return (p->dialler.link == NULL && p->listener.downs > 0) ||
           (p->listener.link == NULL && p->dialler.downs > 0);
}

static void destroy_in(enum pair_over over, enum pair_callback callback, int who)
{
    struct pair p;
    struct keyring *ring = pair_ring_load("ring");
    pair_init(&p, ring, ring);
    struct end *victim = who == 0 ? &p.dialler : &p.listener;
    struct end *other = who == 0 ? &p.listener : &p.dialler;
    victim->destroy_in = callback;
    pair_connect(&p, over);
    if (callback != PAIR_UP) {
        pair_run(&p, pair_both_up);
        for (int i = 0; i < 3; i++) // more than one waits when the first destroys
            send_kind(other, FRAME_GO, NULL, 0);
        if (callback == PAIR_DOWN)
            link_close(other->link);
    }
    pair_run(&p, one_gone_one_down);
    cr_assert_null(victim->link, "callback %d on end %d", callback, who);
    if (callback == PAIR_FRAME)
        cr_assert_eq(victim->frames, 1u);
    cr_assert_str_eq(other->kind, callback == PAIR_DOWN ? "CLOSED" : "LOST");
    cr_assert_eq(victim->downs, callback == PAIR_DOWN ? 1 : 0);
    pair_free(&p);
}

ParameterizedTestParameters(link, can_be_destroyed_in_every_callback)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link, can_be_destroyed_in_every_callback)
{
    keyring_destroy(pair_ring_new("ring"));
    for (int who = 0; who < 2; who++) {
        destroy_in(*over, PAIR_UP, who);
        destroy_in(*over, PAIR_FRAME, who);
        destroy_in(*over, PAIR_DOWN, who);
    }
}

ParameterizedTestParameters(link, destroying_one_end_is_seen_as_lost_on_the_other)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link,
                  destroying_one_end_is_seen_as_lost_on_the_other)
{
    struct pair p;
    pair_make_up(&p, *over);
    link_destroy(p.listener.link);
    p.listener.link = NULL;
    pair_run(&p, pair_dialler_down);
    expect_down(&p.dialler, "LOST", "goodbye");
    pair_free(&p);
}

static bool listener_has_one(struct pair *p)
{
    return p->listener.frames == 1;
}

Test(link, open_links_outlive_their_server)
{
    struct pair p;
    pair_make_up(&p, PAIR_OVER_SSH);
    link_server_destroy(p.server);
    p.server = NULL;
    send_kind(&p.dialler, FRAME_GO, NULL, 0);
    pair_run(&p, listener_has_one);
    pair_free(&p);
}

Test(link, a_server_may_go_while_a_peer_shakes_hands)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    pair_connect(&p, PAIR_OVER_SSH);
    for (int i = 0; i < 5; i++)
        event_base_loop(p.base, EVLOOP_ONCE);
    link_server_destroy(p.server);
    p.server = NULL;
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "LOST");
    cr_assert_eq(p.listener.ups, 0);
    pair_free(&p);
}

ParameterizedTestParameters(link, a_peer_that_does_not_take_what_it_is_sent_is_dropped)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link,
                  a_peer_that_does_not_take_what_it_is_sent_is_dropped)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    CLEANUP_FREE uint8_t *piece = xcalloc(1, FRAME_BULK_MAX);
    pair_init(&p, ring, ring);
    p.conf[0].queue_max = 4 << 20;
    pair_connect(&p, *over);
    pair_run(&p, pair_both_up);
    for (int i = 0; i < 65; i++)
        send_kind(&p.dialler, FRAME_OUTPUT, piece, FRAME_BULK_MAX);
    cr_assert_eq(p.dialler.downs, 0);
    pair_run(&p, pair_both_down);
    expect_down(&p.dialler, "OVERFLOW", "4 MiB");
    cr_assert_str_eq(p.listener.kind, "LOST");
    pair_free(&p);
}
