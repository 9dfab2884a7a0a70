// Links that lose their connection and come back, between two live ends over SSH.
#include <criterion/criterion.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "tests/unit/link_pair.h"
#include "wire/link_core.h"

TestSuite(link_resume, .init = pair_keys_make, .fini = pair_keys_remove, .timeout = 60);

enum { GRACE_MS = 3000 };

static uint8_t dialler_life[16] = {1}, listener_life[16] = {2};

static void make_bounded_pair(struct pair *p, uint32_t grace_ms, size_t queue_max)
{
    CLEANUP_FREE char *key = pair_ring_path("ring", "ssh-privatekey");
    bool there = access(key, F_OK) == 0; // of a pair before
    struct keyring *ring = there ? pair_ring_load("ring") : pair_ring_new("ring");
    pair_init(p, ring, ring);
    p->conf[0].grace_ms = grace_ms;
    p->conf[0].queue_max = queue_max;
    p->hello[0].incarnation = (ProtobufCBinaryData){16, dialler_life};
    p->hello[1].incarnation = (ProtobufCBinaryData){16, listener_life};
    pair_connect(p, PAIR_OVER_SSH);
    link_server_let_resume(p->server, pair_find);
    pair_run(p, pair_both_up);
}

static void make_pair(struct pair *p, uint32_t grace_ms)
{
    make_bounded_pair(p, grace_ms, 0);
}

// ---- cutting ----------------------------------------------------------------

static uint16_t port_of(const struct sockaddr_storage *a)
{
    return ntohs(((const struct sockaddr_in *)a)->sin_port);
}

static bool is_connection(int fd, const struct pair *p)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
           peer.ss_family == AF_INET && port_of(&peer) == port_of(&p->address);
}

// The dialler's socket: reset both ends of it, as a firewall does, or end it as the kernel
// does for a program that ends.
static void cut(const struct pair *p, bool reset)
{
    static const struct sockaddr none = {.sa_family = AF_UNSPEC};
    DIR *dir = opendir("/proc/self/fd");
    cr_assert_not_null(dir);
    unsigned found = 0;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        int fd = atoi(d->d_name);
        if (d->d_name[0] == '.' || !is_connection(fd, p))
            continue;
        found++;
        if (reset)
            connect(fd, &none, sizeof none);
        else
            shutdown(fd, SHUT_RDWR);
    }
    closedir(dir);
    cr_assert_eq(found, 1);
}

static void cut_and_come_back(struct pair *p, bool reset)
{
    unsigned dialler = p->dialler.resumes, listener = p->listener.resumes;
    cut(p, reset);
    for (int i = 0;
         i < 100 && (p->dialler.resumes == dialler || p->listener.resumes == listener);
         i++)
        pair_run_ms(p, 50);
    cr_assert_eq(p->dialler.resumes, dialler + 1, "%s", p->dialler.text);
    cr_assert_eq(p->listener.resumes, listener + 1, "%s", p->listener.text);
    cr_assert_eq(link_get_state(p->dialler.link), LINK_UP);
    cr_assert_eq(link_get_state(p->listener.link), LINK_UP);
}

// ---- frames -----------------------------------------------------------------

struct stream {
    uint16_t kind;
    uint8_t sum;
    size_t frames;
};

static void send_some(struct link *l, struct stream *s, size_t n)
{
    uint8_t body[1000];
    for (size_t i = 0; i < n; i++, s->frames++) {
        size_t len = s->frames % sizeof body;
        memset(body, (int)(s->frames * 13), len);
        for (size_t k = 0; k < len; k++)
            s->sum = (uint8_t)(s->sum * 31 + body[k]);
        link_send(l, &(struct frame){.kind = s->kind, .body = body, .len = len});
    }
}

static size_t wanted[2];

static bool all_there(struct pair *p)
{
    return p->listener.frames >= wanted[0] && p->dialler.frames >= wanted[1];
}

// Sends up and down, cuts in between at any moment, and compares.
static void stream_over_cuts(uint16_t up_kind, uint16_t down_kind)
{
    struct pair p;
    struct stream up = {.kind = up_kind}, down = {.kind = down_kind};
    make_pair(&p, GRACE_MS);
    for (int round = 0; round < 6; round++) {
        send_some(p.dialler.link, &up, 300);
        send_some(p.listener.link, &down, 200);
        for (int i = 0; i < round * 3; i++)
            event_base_loop(p.base, EVLOOP_NONBLOCK);
        cut(&p, round % 2 == 0);
        send_some(p.dialler.link, &up, 20); // into the void, as far as anybody knows
        send_some(p.listener.link, &down, 20);
        for (int i = 0; i < 20; i++)
            event_base_loop(p.base, EVLOOP_NONBLOCK);
        send_some(p.dialler.link, &up, 20);
        wanted[0] = up.frames;
        wanted[1] = down.frames;
        pair_run(&p, all_there);
    }
    pair_run_ms(&p, 100); // nothing comes twice
    cr_assert_eq(p.listener.frames, up.frames);
    cr_assert_eq(p.dialler.frames, down.frames);
    cr_assert_eq(p.listener.sum, up.sum);
    cr_assert_eq(p.dialler.sum, down.sum);
    cr_assert_eq(p.dialler.ups, 1);
    cr_assert_eq(p.listener.ups, 1);
    cr_assert_geq(p.dialler.resumes, 6);
    cr_assert_eq(p.accepts, 1); // the owner is asked once
    pair_free(&p);
}

Test(link_resume, control_comes_once_and_in_order_over_many_cuts)
{
    stream_over_cuts(FRAME_COLL, FRAME_COLL_DONE);
}

Test(link_resume, bulk_comes_once_and_in_order_over_many_cuts)
{
    stream_over_cuts(FRAME_OUTPUT, FRAME_INPUT);
}

Test(link_resume, an_idle_link_comes_back_each_time)
{
    struct pair p;
    make_pair(&p, GRACE_MS);
    for (int i = 0; i < 8; i++)
        cut_and_come_back(&p, i % 2 == 0);
    cr_assert_eq(p.dialler.breaks, 8);
    cr_assert_eq(p.dialler.downs, 0);
    pair_free(&p);
}

Test(link_resume, a_close_that_was_cut_off_is_still_in_order)
{
    for (int who = 0; who < 2; who++) {
        struct pair p;
        struct stream up = {.kind = FRAME_OUTPUT};
        make_pair(&p, GRACE_MS);
        send_some(p.dialler.link, &up, 100);
        cut(&p, true);
        link_close(who == 0 ? p.dialler.link : p.listener.link);
        pair_run(&p, pair_both_down);
        cr_assert_str_eq(p.dialler.kind, "CLOSED", "%s", p.dialler.text);
        cr_assert_str_eq(p.listener.kind, "CLOSED", "%s", p.listener.text);
        if (who == 0)
            cr_assert_eq(p.listener.frames, 100);
        pair_free(&p);
    }
}

Test(link_resume, can_be_destroyed_in_the_callbacks_of_a_loss)
{
    static const enum pair_callback when[] = {PAIR_BROKEN, PAIR_RESUMED};
    for (int i = 0; i < 4; i++) {
        struct pair p;
        make_pair(&p, 500);
        struct end *e = i % 2 == 0 ? &p.dialler : &p.listener;
        struct end *other = i % 2 == 0 ? &p.listener : &p.dialler;
        e->destroy_in = when[i / 2];
        cut(&p, true);
        for (int k = 0; k < 100 && other->downs == 0; k++)
            pair_run_ms(&p, 50);
        cr_assert_null(e->link);
        cr_assert_eq(other->downs, 1);
        pair_free(&p);
    }
}

// ---- what does not come back ------------------------------------------------

Test(link_resume, without_a_grace_a_cut_is_the_end)
{
    struct pair p;
    make_pair(&p, 0);
    cut(&p, true);
    pair_run(&p, pair_both_down);
    cr_assert_str_eq(p.dialler.kind, "LOST");
    cr_assert_eq(p.dialler.breaks, 0);
    pair_free(&p);
}

Test(link_resume, a_server_that_cannot_resume_ends_the_link_at_once)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    p.conf[0].grace_ms = GRACE_MS;
    pair_connect(&p, PAIR_OVER_SSH);
    pair_run(&p, pair_both_up);
    cut(&p, true);
    pair_run(&p, pair_both_down);
    cr_assert_eq(p.dialler.breaks, 0);
    pair_free(&p);
}

// As a process that ended: the end of the stream, and nobody listens.
Test(link_resume, a_peer_that_is_gone_is_lost_at_once)
{
    struct pair p;
    make_pair(&p, GRACE_MS);
    uint64_t start = loop_now_ms();
    link_server_destroy(p.server);
    p.server = NULL;
    link_destroy(p.listener.link);
    p.listener.link = NULL;
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "GONE", "%s", p.dialler.text);
    cr_assert_not_null(strstr(p.dialler.text, "goodbye"));
    cr_assert_lt(loop_now_ms() - start, GRACE_MS / 2u);
    pair_free(&p);
}

// After a reset it may be a firewall that refuses: the grace holds.
Test(link_resume, the_grace_is_the_bound)
{
    struct pair p;
    make_pair(&p, 1000);
    uint64_t start = loop_now_ms();
    link_server_destroy(p.server);
    p.server = NULL;
    cut(&p, true);
    pair_run(&p, pair_both_down);
    cr_assert_geq(loop_now_ms() - start, 990);
    cr_assert_str_eq(p.dialler.kind, "LOST", "%s", p.dialler.text);
    // How long it was away is told: more than the grace where the loss was heard late.
    const char *away = strstr(p.dialler.text, "not back within ");
    cr_assert_not_null(away, "%s", p.dialler.text);
    cr_assert_not_null(strstr(away, " s (connection refused"), "%s", p.dialler.text);
    cr_assert_geq(link_away_ms(p.dialler.link), 990);
    pair_free(&p);
}

Test(link_resume, the_end_of_a_link_that_is_away_is_not_waited_for_as_long)
{
    struct pair p;
    make_pair(&p, 600000);
    link_server_destroy(p.server);
    p.server = NULL;
    cut(&p, true);
    pair_run_ms(&p, 200);
    cr_assert_eq(link_get_state(p.listener.link), LINK_BROKEN);
    link_close(p.listener.link);
    pair_run(&p, pair_listener_down); // not in ten minutes
    pair_free(&p);
}

Test(link_resume, what_waits_for_the_connection_is_bounded)
{
    struct pair p;
    CLEANUP_FREE uint8_t *piece = xcalloc(1, FRAME_BULK_MAX);
    make_bounded_pair(&p, GRACE_MS, 1 << 20);
    struct end *e = &p.dialler;
    link_server_destroy(p.server);
    p.server = NULL;
    cut(&p, true);
    for (int i = 0; i < 40 && e->breaks == 0; i++)
        pair_run_ms(&p, 50);
    for (int i = 0; i < 20; i++)
        link_send(e->link, &(struct frame){.kind = FRAME_OUTPUT,
                                           .body = piece,
                                           .len = FRAME_BULK_MAX});
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(e->kind, "OVERFLOW", "%s", e->text);
    cr_assert_not_null(strstr(e->text, "1 MiB wait for it to come back"), "%s",
                       e->text);
    pair_free(&p);
}

// A peer of another life on the same address, and one that has forgotten the session.
static void answered_by(struct pair *p, bool forgot, const char *kind, const char *text)
{
    static uint8_t other[16] = {9};
    p->forget = forgot;
    if (!forgot)
        p->hello[1].incarnation.data = other;
    cut(p, true);
    pair_run(p, pair_dialler_down);
    cr_assert_str_eq(p->dialler.kind, kind, "%s", p->dialler.text);
    cr_assert_not_null(strstr(p->dialler.text, text), "%s", p->dialler.text);
    cr_assert_eq(p->accepts, 1); // no session was made for it
    pair_free(p);
}

Test(link_resume, another_incarnation_is_not_the_peer)
{
    struct pair p;
    make_pair(&p, GRACE_MS);
    answered_by(&p, false, "GONE", "another agent has taken its place");
}

Test(link_resume, a_forgotten_session_is_refused)
{
    struct pair p;
    make_pair(&p, GRACE_MS);
    answered_by(&p, true, "LOST", "no such session");
}

// ---- who may take over ------------------------------------------------------

// A dialler with the group's key, of the same program or of another one, that lost a link
// to the same listener, does not get somebody else's.
Test(link_resume, a_session_goes_to_its_own_dialler_only)
{
    struct pair p;
    static uint8_t thief_life[16] = {7};
    make_pair(&p, GRACE_MS);
    struct link *victim = p.listener.link;
    Muster__Hello hello = p.hello[0];
    hello.incarnation.data = thief_life;
    struct link_conf conf = p.conf[0];
    conf.hello = &hello;
    struct end thief = {.pair = &p};
    p.listener.link = NULL;
    p.listener.ups = 0;
    thief.link = link_dial(&conf, (struct sockaddr *)&p.address,
                           sizeof(struct sockaddr_in), &pair_ops, &thief);
    pair_run(&p, pair_both_up);
    struct link *thiefs = p.listener.link;
    p.listener.link = victim; // all that the listener finds from now on
    p.find_any = true;
    link_destroy(thiefs);
    pair_run_ms(&p, 20);
    for (int i = 0; i < 100 && thief.downs == 0; i++)
        pair_run_ms(&p, 50);
    cr_assert_eq(thief.downs, 1);
    cr_assert_not_null(strstr(thief.text, "another program's"), "%s", thief.text);
    cr_assert_eq(link_get_state(victim), LINK_UP);
    cr_assert_eq(p.dialler.breaks, 0);
    link_destroy(thief.link);
    pair_free(&p);
}

// A try that the dialler gave up comes late.
Test(link_resume, an_older_try_changes_nothing)
{
    struct pair p;
    struct end late = {.pair = &p};
    make_pair(&p, GRACE_MS);
    cut_and_come_back(&p, true);
    struct link_conf conf = p.conf[0];
    conf.grace_ms = 0;
    late.link = link_dial(&conf, (struct sockaddr *)&p.address,
                          sizeof(struct sockaddr_in), &pair_ops, &late);
    link_core_set_heir(late.link, p.dialler.link, 1);
    for (int i = 0; i < 100 && late.downs == 0; i++)
        pair_run_ms(&p, 50);
    cr_assert_eq(late.downs, 1);
    cr_assert_not_null(strstr(late.text, "newer connection"), "%s", late.text);
    cr_assert_eq(p.listener.breaks, 1);
    cr_assert_eq(link_get_state(p.listener.link), LINK_UP);
    link_destroy(late.link);
    pair_free(&p);
}

Test(link_resume, sessions_are_random_and_told_apart)
{
    struct pair p;
    static const uint8_t zero[LINK_SESSION_BYTES];
    make_pair(&p, GRACE_MS);
    cr_assert_not(link_is_session(p.listener.link, zero));
    cr_assert_not(link_is_session(p.dialler.link, zero));
    pair_free(&p);
}
