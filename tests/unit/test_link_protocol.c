// A link against a peer that speaks frames but breaks the rules.
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>
#include <sys/socket.h>

#include "common/mem.h"
#include "tests/unit/link_pair.h"
#include "wire/chan.h"

TestSuite(link_protocol, .timeout = 60);

enum { SCRIPT_MAX = 6 };

// What the peer sends after its own HELLO (unless it skips that), and how the link
// ends.
struct breach {
    bool skip_hello;
    struct {
        uint16_t kind;
        uint64_t seq;
    } script[SCRIPT_MAX];
    size_t delivered; // numbered frames before the breach
    char says[64];
};

static struct breach breaches[] = {
    {true, {{FRAME_GO, 1}}, 0, "GO before HELLO"},
    {true, {{FRAME_PING, 0}}, 0, "PING before HELLO"},
    {false, {{FRAME_HELLO, 0}}, 0, "a second HELLO"},
    {false, {{FRAME_BYE_ACK, 0}}, 0, "BYE_ACK without a BYE"},
    {false, {{FRAME_GO, 1}, {FRAME_GO, 3}}, 1, "GO has number 3 where 2 was due"},
    {false, {{FRAME_GO, 1}, {FRAME_GO, 1}}, 1, "GO has number 1 where 2 was due"},
    {false, {{FRAME_GO, 0}}, 0, "GO has number 0 where 1 was due"},
    {false,
     {{FRAME_GO, 1}, {FRAME_OUTPUT, 1}, {FRAME_GO, 2}, {FRAME_OUTPUT, 3}},
     3,
     "OUTPUT has number 3 where 2 was due"},
};

static void peer_frame(void *arg, const struct frame *f)
{
}

static void peer_closed(void *arg, const struct err *why)
{
}

static const struct chan_ops peer_ops = {peer_frame, peer_closed};

static struct chan *connect_peer(struct pair *p)
{
    int sv[2];
    pair_init(p, NULL, NULL);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    p->dialler.link = link_over_fds(&p->conf[0], sv[0], sv[0], &pair_ops, &p->dialler);
    return chan_create(p->base, sv[1], sv[1], &peer_ops, NULL);
}

static void say_hello(struct pair *p, struct chan *peer)
{
    p->hello[1].major = WIRE_MAJOR;
    chan_send_msg(peer, &(struct frame){.kind = FRAME_HELLO}, &p->hello[1].base);
}

ParameterizedTestParameters(link_protocol, a_breach_of_the_rules_ends_the_link)
{
    return cr_make_param_array(struct breach, breaches,
                               sizeof breaches / sizeof *breaches, NULL);
}

ParameterizedTest(struct breach *b, link_protocol, a_breach_of_the_rules_ends_the_link)
{
    struct pair p;
    struct chan *peer = connect_peer(&p);
    if (!b->skip_hello)
        say_hello(&p, peer);
    for (size_t i = 0; i < SCRIPT_MAX && b->script[i].kind != 0; i++) {
        chan_send(peer,
                  &(struct frame){.kind = b->script[i].kind, .seq = b->script[i].seq});
        chan_flush(peer, 1000); // in this very order
    }
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "PROTOCOL", "%s", p.dialler.text);
    cr_assert_not_null(strstr(p.dialler.text, b->says), "%s", p.dialler.text);
    cr_assert_eq(p.dialler.frames, b->delivered);
    chan_destroy(peer);
    pair_free(&p);
}

Test(link_protocol, a_malformed_hello_ends_the_link)
{
    struct pair p;
    struct chan *peer = connect_peer(&p);
    static const uint8_t junk[] = {0xff, 0xff, 0xff};
    chan_send(peer, &(struct frame){.kind = FRAME_HELLO, .body = junk, .len = 3});
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "PROTOCOL");
    cr_assert_not_null(strstr(p.dialler.text, "HELLO"), "%s", p.dialler.text);
    chan_destroy(peer);
    pair_free(&p);
}

Test(link_protocol, a_length_out_of_bounds_ends_the_link)
{
    struct pair p;
    int sv[2];
    pair_init(&p, NULL, NULL);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    p.dialler.link = link_over_fds(&p.conf[0], sv[0], sv[0], &pair_ops, &p.dialler);
    uint8_t header[FRAME_HEADER];
    memset(header, 0xff, sizeof header);
    cr_assert_eq(send(sv[1], header, sizeof header, 0), (ssize_t)sizeof header);
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "PROTOCOL", "%s", p.dialler.text);
    pair_free(&p);
}

Test(link_protocol, a_peer_that_never_greets_is_a_timeout)
{
    struct pair p;
    int sv[2];
    pair_init(&p, NULL, NULL);
    p.conf[0].open_ms = 200;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    p.dialler.link = link_over_fds(&p.conf[0], sv[0], sv[0], &pair_ops, &p.dialler);
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "TIMEOUT");
    cr_assert_str_eq(p.dialler.text, "no answer within 0.2 s (HELLO)");
    pair_free(&p);
}

Test(link_protocol, after_bye_nothing_more_is_taken_and_a_lingering_peer_is_left)
{
    struct pair p;
    struct chan *peer = connect_peer(&p);
    say_hello(&p, peer);
    chan_send(peer, &(struct frame){.kind = FRAME_BYE});
    chan_send(peer, &(struct frame){.kind = FRAME_GO, .seq = 1});
    pair_run(&p, pair_dialler_down); // although the peer stays connected
    cr_assert_str_eq(p.dialler.kind, "CLOSED", "%s", p.dialler.text);
    cr_assert_eq(p.dialler.frames, 0);
    chan_destroy(peer);
    pair_free(&p);
}
