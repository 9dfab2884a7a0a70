// Peers that misbehave or die: silent, garbage, too many, stopped, killed.
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "tests/unit/link_pair.h"

TestSuite(link_peers, .init = pair_keys_make, .fini = pair_keys_remove, .timeout = 60);

// ---- strangers --------------------------------------------------------------

static int raw_connect_from(const struct pair *p, uint32_t host)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
    cr_assert_eq(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    cr_assert_eq(
        connect(fd, (const struct sockaddr *)&p->address, sizeof(struct sockaddr_in)),
        0);
    proc_set_nonblock(fd);
    return fd;
}

static int raw_connect(const struct pair *p)
{
    return raw_connect_from(p, INADDR_LOOPBACK);
}

// Reads away what is there: true once the other side has closed.
static bool is_closed(int fd)
{
    char text[4096];
    ssize_t n;
    while ((n = recv(fd, text, sizeof text, 0)) > 0)
        ;
    return n == 0 || errno == ECONNRESET;
}

static void init_listener(struct pair *p, uint32_t open_ms)
{
    struct keyring *ring = pair_ring_new("ring");
    pair_init(p, ring, ring);
    p->conf[1].open_ms = open_ms;
    pair_listen(p);
}

static bool wait_closed(struct pair *p, int fd, uint64_t ms)
{
    uint64_t end = loop_now_ms() + ms;
    while (!is_closed(fd) && loop_now_ms() < end)
        pair_run_ms(p, 10);
    return is_closed(fd);
}

Test(link_peers, who_connects_and_says_nothing_is_dropped_at_the_deadline)
{
    struct pair p;
    init_listener(&p, 300);
    uint64_t start = loop_now_ms();
    int fd = raw_connect(&p);
    cr_assert(wait_closed(&p, fd, 5000));
    uint64_t took = loop_now_ms() - start;
    cr_assert_geq(took, 290u);
    cr_assert_lt(took, 2000u);
    cr_assert_eq(p.accepts, 0);
    close(fd);
    pair_free(&p);
}

Test(link_peers, the_65th_stranger_is_closed_at_once_and_members_get_in_later)
{
    struct pair p;
    int fds[65];
    init_listener(&p, 6000);
    for (int i = 0; i < 64; i++)
        fds[i] = raw_connect(&p);
    pair_run_ms(&p, 100);
    fds[64] = raw_connect(&p);
    cr_assert(wait_closed(&p, fds[64], 3000));
    for (int i = 0; i < 64; i++)
        cr_assert_not(is_closed(fds[i]), "stranger %d", i);
    close(fds[0]); // one place is free again
    pair_run_ms(&p, 100);
    p.dialler.link = link_dial(&p.conf[0], (struct sockaddr *)&p.address,
                               sizeof(struct sockaddr_in), &pair_ops, &p.dialler);
    pair_run(&p, pair_both_up);
    for (int i = 1; i < 64; i++)
        cr_assert(wait_closed(&p, fds[i], 8000));
    cr_assert_eq(p.dialler.downs, 0);
    for (int i = 1; i < 65; i++)
        close(fds[i]);
    pair_free(&p);
}

// 64 strangers of one host sit at the door for `wait_ms` and stay; then a member comes.
static void crowd_and_member(uint32_t host, uint64_t wait_ms)
{
    struct pair p;
    int fds[64];
    size_t closed = 0;
    init_listener(&p, 60000);
    for (int i = 0; i < 64; i++)
        fds[i] = raw_connect_from(&p, host);
    pair_run_ms(&p, wait_ms);
    p.dialler.link = link_dial(&p.conf[0], (struct sockaddr *)&p.address,
                               sizeof(struct sockaddr_in), &pair_ops, &p.dialler);
    pair_run(&p, pair_both_up);
    for (int i = 0; i < 64; i++)
        closed += is_closed(fds[i]) ? 1 : 0;
    cr_assert_eq(closed, 1);
    for (int i = 0; i < 64; i++)
        close(fds[i]);
    pair_free(&p);
}

Test(link_peers, strangers_that_had_their_time_make_room)
{
    crowd_and_member(INADDR_LOOPBACK, 600);
}

Test(link_peers, a_crowd_of_one_host_makes_room_for_another_at_once)
{
    crowd_and_member(INADDR_LOOPBACK + 1, 50);
}

Test(link_peers, garbage_instead_of_ssh_is_dropped_by_the_listener)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "SSH-2.0-x\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "SSH-1.5-old\r\n",
    };
    struct pair p;
    init_listener(&p, 3000);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int fd = raw_connect(&p);
        cr_assert_gt(send(fd, texts[i], strlen(texts[i]), MSG_NOSIGNAL), 0);
        // More than any banner may hold, so that no end of line is waited for.
        CLEANUP_FREE char *more = xcalloc(1, 8192);
        send(fd, more, 8192, MSG_NOSIGNAL);
        cr_assert(wait_closed(&p, fd, 2000), "text %zu", i);
        close(fd);
    }
    cr_assert_eq(p.accepts, 0);
    pair_free(&p);
}

// A listening socket of our own that the link dials to.
static int dial_raw_server(struct pair *p, uint32_t open_ms)
{
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof any;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(p, ring, ring);
    p->conf[0].open_ms = open_ms;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    cr_assert_eq(listen(fd, 5), 0);
    getsockname(fd, (struct sockaddr *)&any, &len);
    p->dialler.link =
        link_dial(&p->conf[0], (struct sockaddr *)&any, len, &pair_ops, &p->dialler);
    return fd;
}

Test(link_peers, a_server_that_says_nothing_is_a_timeout_that_names_the_stage)
{
    struct pair p;
    int fd = dial_raw_server(&p, 400);
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "TIMEOUT");
    cr_assert_str_eq(p.dialler.text, "no answer within 0.4 s (SSH key exchange)");
    close(fd);
    pair_free(&p);
}

Test(link_peers, a_server_that_speaks_something_else_is_a_protocol_error)
{
    struct pair p;
    int fd = dial_raw_server(&p, 5000);
    int conn = accept(fd, NULL, NULL);
    CLEANUP_FREE char *text = xcalloc(1, 4096);
    memset(text, 'x', 4095);
    text[300] = '\n';
    cr_assert_gt(send(conn, text, 4096, MSG_NOSIGNAL), 0);
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "PROTOCOL", "%s: %s", p.dialler.kind,
                     p.dialler.text);
    close(conn);
    close(fd);
    pair_free(&p);
}

Test(link_peers, a_server_that_closes_at_once_is_named)
{
    struct pair p;
    int fd = dial_raw_server(&p, 5000);
    close(accept(fd, NULL, NULL));
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "LOST", "%s: %s", p.dialler.kind, p.dialler.text);
    cr_assert_not_null(strstr(p.dialler.text, "127.0.0.1:"));
    close(fd);
    pair_free(&p);
}

Test(link_peers, nobody_listening_is_said_with_the_address)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    pair_init(&p, ring, ring);
    pair_listen(&p); // for a port that is free afterwards
    link_server_destroy(p.server);
    p.server = NULL;
    p.dialler.link = link_dial(&p.conf[0], (struct sockaddr *)&p.address,
                               sizeof(struct sockaddr_in), &pair_ops, &p.dialler);
    cr_assert_eq(p.dialler.downs, 0);
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "REFUSED_TCP");
    cr_assert_not_null(strstr(p.dialler.text, link_peer_text(p.dialler.link)));
    cr_assert_not_null(strstr(p.dialler.text, "is musterd running there?"));
    pair_free(&p);
}

Test(link_peers, an_impossible_address_fails_from_the_loop_too)
{
    struct pair p;
    struct keyring *ring = pair_ring_new("ring");
    struct sockaddr_in none = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_BROADCAST),
                               .sin_port = htons(1)};
    pair_init(&p, ring, ring);
    p.dialler.link = link_dial(&p.conf[0], (struct sockaddr *)&none, sizeof none,
                               &pair_ops, &p.dialler);
    cr_assert_eq(p.dialler.downs, 0);
    pair_run(&p, pair_dialler_down);
    cr_assert_str_eq(p.dialler.kind, "UNREACHABLE");
    pair_free(&p);
}

Test(link_peers, two_listeners_on_one_port_are_an_error_that_names_it)
{
    struct pair p;
    ERR_AUTO err = ERR_INIT;
    init_listener(&p, 1000);
    cr_assert_null(link_listen(&p.conf[1], (struct sockaddr *)&p.address,
                               sizeof(struct sockaddr_in), pair_accept, &p, &err));
    cr_assert_str_eq(err.kind, "LISTEN");
    cr_assert_not_null(strstr(err.text, "127.0.0.1:"));
    pair_free(&p);
}

// ---- peers in another process -----------------------------------------------

static enum pair_over transports[] = {PAIR_OVER_SSH, PAIR_OVER_FDS};

static struct criterion_test_params both_transports(void)
{
    return cr_make_param_array(enum pair_over, transports, 2, NULL);
}

enum { DEAD_MS = 1500 };

// A child that only holds the dialling end, for ever.
static void run_child(const struct link_conf *conf, const struct pair *p, int fd)
{
    static struct end end;
    struct link_conf own = *conf;
    own.base = loop_create();
    if (fd >= 0)
        link_over_fds(&own, fd, fd, &pair_ops, &end);
    else
        link_dial(&own, (const struct sockaddr *)&p->address,
                  sizeof(struct sockaddr_in), &pair_ops, &end);
    event_base_loop(own.base, EVLOOP_NO_EXIT_ON_EMPTY);
    _exit(1);
}

static bool listener_up(struct pair *p)
{
    return p->listener.ups > 0;
}

static pid_t start_child_as(struct pair *p, enum pair_over over,
                            const struct link_conf times[2])
{
    int sv[2] = {-1, -1};
    struct keyring *ring = pair_ring_new("ring");
    pair_init(p, ring, ring);
    for (int i = 0; i < 2; i++) {
        p->conf[i].heartbeat_ms = times[i].heartbeat_ms;
        p->conf[i].dead_ms = times[i].dead_ms;
    }
    if (over == PAIR_OVER_SSH)
        pair_listen(p);
    else
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(sv[1]);
        run_child(&p->conf[0], p, sv[0]);
    }
    cr_assert_gt(pid, 0);
    close(sv[0]);
    if (over == PAIR_OVER_FDS)
        p->listener.link =
            link_over_fds(&p->conf[1], sv[1], sv[1], &pair_ops, &p->listener);
    pair_run(p, listener_up);
    return pid;
}

static pid_t start_child(struct pair *p, enum pair_over over)
{
    static const struct link_conf times = {.heartbeat_ms = 100, .dead_ms = DEAD_MS};
    return start_child_as(p, over, (struct link_conf[]){times, times});
}

static uint64_t time_until_down(struct pair *p)
{
    uint64_t start = loop_now_ms();
    pair_run(p, pair_listener_down);
    return loop_now_ms() - start;
}

static void end_child(struct pair *p, pid_t pid)
{
    kill(pid, SIGKILL);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    pair_free(p);
}

ParameterizedTestParameters(link_peers, a_stopped_peer_is_silent_within_its_bounds)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link_peers,
                  a_stopped_peer_is_silent_within_its_bounds)
{
    struct pair p;
    pid_t pid = start_child(&p, *over);
    pair_run_ms(&p, 1000); // heartbeats alone keep it up
    cr_assert_eq(p.listener.downs, 0);
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    uint64_t took = time_until_down(&p);
    cr_assert_str_eq(p.listener.kind, "SILENT", "%s", p.listener.text);
    // Counted from its last heartbeat, at most one interval before the stop; an eighth
    // of DEAD_MS is a tick, and the rest is for a busy machine.
    cr_assert_geq(took, DEAD_MS - 200u);
    cr_assert_leq(took, DEAD_MS + 1500u);
    end_child(&p, pid);
}

ParameterizedTestParameters(link_peers, who_was_told_no_heartbeat_keeps_to_the_peers)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link_peers,
                  who_was_told_no_heartbeat_keeps_to_the_peers)
{
    struct pair p;
    const struct link_conf times[2] = {{.heartbeat_ms = 200}, {0}};
    pid_t pid = start_child_as(&p, *over, times);
    pair_run_ms(&p, 900); // the child, too, hears the listener often enough
    cr_assert_eq(p.listener.downs, 0);
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    uint64_t took = time_until_down(&p);
    cr_assert_str_eq(p.listener.kind, "SILENT", "%s", p.listener.text);
    cr_assert_lt(took, 2000u); // its own would be 3 s
    end_child(&p, pid);
}

ParameterizedTestParameters(link_peers, a_killed_peer_is_lost_at_once)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link_peers, a_killed_peer_is_lost_at_once)
{
    struct pair p;
    pid_t pid = start_child(&p, *over);
    cr_assert_eq(kill(pid, SIGKILL), 0);
    uint64_t took = time_until_down(&p);
    cr_assert_str_eq(p.listener.kind, "LOST", "%s", p.listener.text);
    cr_assert_lt(took, DEAD_MS / 2u); // not by silence
    end_child(&p, pid);
}

ParameterizedTestParameters(link_peers, closing_towards_a_stopped_peer_is_bounded)
{
    return both_transports();
}

ParameterizedTest(enum pair_over *over, link_peers,
                  closing_towards_a_stopped_peer_is_bounded)
{
    struct pair p;
    pid_t pid = start_child(&p, *over);
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    CLEANUP_FREE uint8_t *piece = xcalloc(1, FRAME_BULK_MAX);
    for (int i = 0; i < 200; i++) // more than the kernel takes
        link_send(
            p.listener.link,
            &(struct frame){.kind = FRAME_INPUT, .body = piece, .len = FRAME_BULK_MAX});
    link_close(p.listener.link);
    cr_assert_lt(time_until_down(&p), DEAD_MS + 1500u);
    cr_assert_str_eq(p.listener.kind, "SILENT", "%s", p.listener.text);
    end_child(&p, pid);
}
