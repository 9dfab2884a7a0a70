// Where it may listen is test_httpd.c's; here: when it takes connections.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/listener.h"
#include "common/log.h"
#include "common/loop.h"

struct bed {
    struct event_base *base;
    struct listener *listener;
    FILE *told;
    struct log *log;
    unsigned taken;
};

static void on_taken(void *arg, int fd)
{
    ((struct bed *)arg)->taken++;
    close(fd);
}

static void start(struct bed *b)
{
    ERR_AUTO err = ERR_INIT;
    *b = (struct bed){.base = loop_create(), .told = tmpfile()};
    b->log = log_create(fileno(b->told), "test", LOG_LEVEL_WARN);
    b->listener = listener_create(b->base, "0", "test", on_taken, b, b->log, &err);
    cr_assert_not_null(b->listener, "%s", err_text(&err));
}

static void finish(struct bed *b)
{
    listener_destroy(b->listener);
    log_destroy(b->log);
    fclose(b->told);
    loop_destroy(b->base);
}

static int client(const struct bed *b)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)listener_port(b->listener)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

// Until one was taken, or so long.
static void run(struct bed *b, uint64_t ms)
{
    for (uint64_t end = loop_now_ms() + ms; b->taken == 0 && loop_now_ms() < end;) {
        event_base_loop(b->base, EVLOOP_NONBLOCK);
        usleep(1000);
    }
}

static size_t lines(const struct bed *b)
{
    size_t n = 0;
    rewind(b->told);
    for (int c; (c = fgetc(b->told)) != EOF;)
        n += c == '\n';
    return n;
}

// No descriptor that is free is below the limit.
static struct rlimit use_up(void)
{
    struct rlimit before, none;
    int lowest = dup(0);
    close(lowest);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = (rlim_t)lowest;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

Test(listener, without_descriptors_it_pauses_says_so_once_and_goes_on)
{
    struct bed b;
    start(&b);
    int fd = client(&b);
    struct rlimit before = use_up();
    run(&b, LISTENER_PAUSE_MS / 4);
    cr_assert_eq(lines(&b), 1);
    setrlimit(RLIMIT_NOFILE, &before);
    run(&b, 20000);
    cr_assert_eq(b.taken, 1);
    close(fd);
    finish(&b);
}

Test(listener, the_end_of_a_pause_does_not_let_go_what_is_held)
{
    struct bed b;
    start(&b);
    int fd = client(&b);
    struct rlimit before = use_up();
    run(&b, LISTENER_PAUSE_MS / 4);
    setrlimit(RLIMIT_NOFILE, &before);
    listener_hold(b.listener, true);
    run(&b, LISTENER_PAUSE_MS + LISTENER_PAUSE_MS / 2);
    cr_assert_eq(b.taken, 0);
    listener_hold(b.listener, false);
    run(&b, 20000);
    cr_assert_eq(b.taken, 1);
    close(fd);
    finish(&b);
}
