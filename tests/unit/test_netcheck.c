// netcheck finds what a cable between its two ends does: flipped bits, silence, slowness.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check_bed.h"
#include "common/loop.h"
#include "common/mem.h"

enum { PIECE = 16384, FAR = 3 << 20 };

// Between the one that dials and the one that listens. What it does to bytes on their way
// to the listener.
struct cable {
    int listener, ends[2]; // the dialler's, the listener's
    unsigned short port, to;
    pthread_t thread;
    uint64_t flip_at;  // a bit of this byte changes; 0: none
    uint64_t stop_at;  // nothing passes from here on; 0: all does
    uint64_t delay_us; // before each piece
    uint64_t passed;
};

static struct sockaddr_in loopback(unsigned short port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t put = send(fd, p, n, MSG_NOSIGNAL);
        if (put <= 0)
            return;
        p += put;
        n -= (size_t)put;
    }
}

static void spoil(struct cable *c, char *piece, size_t n)
{
    if (c->flip_at >= c->passed && c->flip_at < c->passed + n && c->flip_at > 0)
        piece[c->flip_at - c->passed] ^= 0x20;
    c->passed += n;
    if (c->delay_us > 0)
        usleep((useconds_t)c->delay_us);
}

// One piece from end i to the other; false: it is over.
static bool forward(struct cable *c, int i)
{
    char piece[PIECE];
    if (i == 0 && c->stop_at > 0 && c->passed >= c->stop_at)
        return poll(NULL, 0, 5) == 0; // what is sent stays in the buffers
    ssize_t n = read(c->ends[i], piece, sizeof piece);
    if (n <= 0)
        return false;
    if (i == 0)
        spoil(c, piece, (size_t)n);
    write_all(c->ends[1 - i], piece, (size_t)n);
    return true;
}

static void *run_cable(void *arg)
{
    struct cable *c = arg;
    struct sockaddr_in to = loopback(c->to);
    c->ends[0] = accept(c->listener, NULL, NULL);
    c->ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->ends[1], (void *)&to, sizeof to) < 0)
        return NULL;
    for (bool on = true; on;) {
        struct pollfd p[2] = {{c->ends[0], POLLIN, 0}, {c->ends[1], POLLIN, 0}};
        poll(p, 2, -1);
        for (int i = 0; i < 2; i++)
            on = on && (p[i].revents == 0 || forward(c, i));
    }
    close(c->ends[0]);
    close(c->ends[1]);
    return NULL;
}

static void cable_start(struct cable *c, unsigned short to)
{
    struct sockaddr_in at = loopback(0);
    socklen_t len = sizeof at;
    c->to = to;
    c->listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(c->listener, (void *)&at, len), 0);
    cr_assert_eq(listen(c->listener, 1), 0);
    getsockname(c->listener, (void *)&at, &len);
    c->port = ntohs(at.sin_port);
    cr_assert_eq(pthread_create(&c->thread, NULL, run_cable, c), 0);
}

struct pair {
    json_t *dialler, *listener;
    int codes[2];
};

static struct pair run_pair(struct cable *c, const char *deadline)
{
    struct check_bed serve, to;
    struct pair p;
    const char *serves[] = {"--serve",    "127.0.0.1:0", "--deadline", deadline,
                            "--transfer", "0.15",        NULL};
    signal(SIGPIPE, SIG_IGN);
    setenv("MUSTER_CHECK_TOKEN", "token-of-the-pair", 1);
    check_bed_start(&serve, "netcheck", serves);
    cable_start(c, check_bed_port(&serve));
    CLEANUP_FREE char *here = xasprintf("127.0.0.1:%u", c->port);
    const char *dials[] = {"--to",       here,   "--deadline", deadline,
                           "--transfer", "0.15", NULL};
    check_bed_start(&to, "netcheck", dials);
    p.dialler = check_bed_end(&to, &p.codes[0]);
    p.listener = check_bed_end(&serve, &p.codes[1]);
    pthread_join(c->thread, NULL);
    close(c->listener);
    return p;
}

static void release(struct pair *p)
{
    json_decref(p->dialler);
    json_decref(p->listener);
}

static const char *text_of(json_t *said, const char *name)
{
    return json_string_value(json_object_get(said, name));
}

static double number_of(json_t *said, const char *name)
{
    return json_number_value(json_object_get(said, name));
}

Test(netcheck, a_good_cable_passes, .timeout = 100)
{
    struct cable c = {0};
    struct pair p = run_pair(&c, "60");
    cr_assert_eq(p.codes[0], 0, "%s", text_of(p.dialler, "why"));
    cr_assert_eq(p.codes[1], 0, "%s", text_of(p.listener, "why"));
    cr_assert_eq(number_of(p.dialler, "rounds"), 3);
    release(&p);
}

// Both ends say so: the one that got it, and the one that is told.
Test(netcheck, one_flipped_bit_is_found, .timeout = 100)
{
    struct cable c = {.flip_at = 400000};
    struct pair p = run_pair(&c, "60");
    cr_assert_eq(p.codes[0], 1);
    cr_assert_eq(p.codes[1], 1);
    cr_assert_str_eq(text_of(p.dialler, "outcome"), "wrong");
    cr_assert_str_eq(text_of(p.listener, "outcome"), "wrong");
    json_t *sent = json_object_get(p.dialler, "wrong");
    json_t *got = json_object_get(p.listener, "wrong");
    cr_assert_str_eq(text_of(sent, "in"), "sent");
    cr_assert_str_eq(text_of(got, "in"), "received");
    cr_assert_eq(number_of(got, "count"), 1);
    cr_assert_eq(number_of(got, "offset"), number_of(sent, "offset"));
    cr_assert_not_null(strstr(text_of(got, "differs"), "2"));
    release(&p);
}

Test(netcheck, a_cable_that_falls_silent_is_a_failure_of_both, .timeout = 100)
{
    struct cable c = {.stop_at = FAR};
    struct pair p = run_pair(&c, "4");
    cr_assert_eq(p.codes[0], 1, "%s", text_of(p.dialler, "why"));
    cr_assert_eq(p.codes[1], 1, "%s", text_of(p.listener, "why"));
    cr_assert_str_eq(text_of(p.dialler, "outcome"), "hangs");
    cr_assert_str_eq(text_of(p.listener, "outcome"), "hangs");
    release(&p);
}

// A piece each 2 ms: at most 8 MB/s, and a round trip of 2 ms.
Test(netcheck, a_slow_cable_shows_in_the_numbers, .timeout = 100)
{
    struct cable c = {.delay_us = 2000};
    struct pair p = run_pair(&c, "60");
    cr_assert_eq(p.codes[0], 0, "%s", text_of(p.dialler, "why"));
    cr_assert_leq(number_of(p.dialler, "mb_s"), 8.3);
    cr_assert_geq(number_of(p.dialler, "rtt_us"), 2000);
    cr_assert_float_eq(number_of(p.listener, "mb_s"), number_of(p.dialler, "mb_s"),
                       1e-3);
    release(&p);
}
