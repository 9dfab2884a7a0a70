// Ports for rank 0.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/master_port.h"
#include "common/mem.h"

static void expect_range(const char *ephemeral, unsigned first, unsigned last)
{
    uint16_t f, l;
    master_port_range(ephemeral, &f, &l);
    cr_assert_eq(f, first, "%s: from %u", ephemeral, f);
    cr_assert_eq(l, last, "%s: to %u", ephemeral, l);
}

Test(master_port, stays_outside_the_ephemeral_range)
{
    expect_range("32768\t60999\n", 10240, 29999);
    expect_range("30000 60999", 10240, 29999);
    expect_range("29999 60999", 10240, 29998);
    expect_range("20000 60999", 10240, 19999);
    expect_range("10496 60999", 10240, 10495);
    expect_range("10495 60999", 61000, 65535); // too few below
    expect_range("1024 65000", 65001, 65535);
    expect_range("1024 65535", 10240, 29999); // nothing else is left
    expect_range("1024 2000", 10240, 29999);
    expect_range("", 10240, 29999);
    expect_range(NULL, 10240, 29999);
}

Test(master_port, reads_reserved_lists)
{
    cr_assert(master_port_reserved("8080,9100-9200\n", 8080));
    cr_assert(master_port_reserved("8080,9100-9200\n", 9100));
    cr_assert(master_port_reserved("8080,9100-9200\n", 9200));
    cr_assert_not(master_port_reserved("8080,9100-9200\n", 9201));
    cr_assert_not(master_port_reserved("8080,9100-9200\n", 8081));
    cr_assert_not(master_port_reserved("\n", 1));
    cr_assert_not(master_port_reserved("", 1));
    cr_assert_not(master_port_reserved("junk", 1));
}

// -1 when another process of the machine has taken the port since it was picked.
static int listen_on(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        cr_assert_eq(errno, EADDRINUSE, "port %u", port);
        close(fd);
        return -1;
    }
    cr_assert_eq(listen(fd, 1), 0);
    return fd;
}

// So many picks that chance alone would repeat one within the last 64 about ten times.
Test(master_port, picks_can_be_bound_and_none_comes_again_soon, .timeout = 30)
{
    enum { PICKS = 3000, TAKEN_MAX = 5 };
    static uint16_t got[PICKS];
    int taken = 0;
    ERR_AUTO err = ERR_INIT;
    struct master_port *m = master_port_create();
    for (int i = 0; i < PICKS; i++) {
        got[i] = master_port_pick(m, "127.0.0.1", &err);
        cr_assert_neq(got[i], 0, "%s", err_text(&err));
        int fd = listen_on(got[i]);
        taken += fd < 0 ? 1 : 0;
        mem_cleanup_close(&fd);
        for (int k = i > MASTER_PORT_LATELY ? i - MASTER_PORT_LATELY : 0; k < i; k++)
            cr_assert_neq(got[k], got[i]);
    }
    cr_assert_leq(taken, TAKEN_MAX, "%d of %d were taken", taken, PICKS);
    master_port_destroy(m);
}

Test(master_port, never_picks_what_is_taken, .timeout = 20)
{
    enum { TAKEN = 200 };
    int fd[TAKEN];
    uint16_t port[TAKEN];
    struct master_port *first = master_port_create(), *m = master_port_create();
    for (int i = 0; i < TAKEN; i++) {
        do {
            port[i] = master_port_pick(first, NULL, NULL);
            fd[i] = listen_on(port[i]);
        } while (fd[i] < 0);
    }
    for (int i = 0; i < 2000; i++) {
        uint16_t got = master_port_pick(m, i % 2 == 0 ? "::1" : "127.0.0.1", NULL);
        for (int k = 0; k < TAKEN; k++)
            cr_assert_neq(got, port[k]);
    }
    for (int i = 0; i < TAKEN; i++)
        close(fd[i]);
    master_port_destroy(first);
    master_port_destroy(m);
}

Test(master_port, says_which_address_is_not_ours)
{
    ERR_AUTO err = ERR_INIT;
    struct master_port *m = master_port_create();
    cr_assert_eq(master_port_pick(m, "192.0.2.1", &err), 0);
    cr_assert_not_null(strstr(err.text, "192.0.2.1"));
    cr_assert_not_null(strstr(err.text, "Cannot assign"));
    cr_assert_eq(master_port_pick(m, "pod-0.svc", &err), 0);
    cr_assert_not_null(strstr(err.text, "pod-0.svc"));
    cr_assert_eq(master_port_pick(m, "", &err), 0);
    master_port_destroy(m);
}
