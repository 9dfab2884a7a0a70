// Who listens on a port: from a table of the kernel, and for real.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/port_holder.h"
#include "common/mem.h"

static const char head[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid "
    " timeout inode\n";
static const char listener[] =
    "   0: 00000000:2AF8 00000000:0000 0A 00000000:00000000 00:00000000 00000000"
    "     0        0 4711 1 0000000000000000 100 0 0 10 0\n";
static const char connection[] =
    "   1: 0100007F:2AF9 0200007F:2AF8 01 00000000:00000000 00:00000000 00000000"
    "     0        0 4712 1 0000000000000000 20 4 30 10 -1\n";
static const char local[] =
    " 123: 0100007F:2AFA 00000000:0000 0A 00000000:00000000 00:00000000 00000000"
    "  1000        0 18446744073709551 1 0000000000000000 100 0 0 10 0\n";

Test(port_holder, a_listener_is_found_by_its_port)
{
    cr_assert_eq(port_holder_inode(listener, 0x2af8), 4711);
    cr_assert_eq(port_holder_inode(local, 0x2afa), 18446744073709551ul);
    cr_assert_eq(port_holder_inode(listener, 0x2afa), 0);
}

Test(port_holder, who_only_has_a_connection_holds_nothing)
{
    cr_assert_eq(port_holder_inode(connection, 0x2af9), 0);
    cr_assert_eq(port_holder_inode(connection, 0x2af8), 0);
}

Test(port_holder, what_tells_of_no_socket_has_nobody)
{
    const char *const bad[] = {"", head, "\n\n", "0: x", "0: 00000000:2AF8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(port_holder_inode(bad[i], 0x2af8), 0);
}

Test(port_holder, this_process_is_named_while_it_listens)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&a, len), 0);
    cr_assert_eq(listen(fd, 1), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    CLEANUP_FREE char *held = port_holder_text(ntohs(a.sin_port));
    cr_assert_not_null(held);
    CLEANUP_FREE char *own = xasprintf("process %d (", (int)getpid());
    cr_assert_not_null(strstr(held, own), "%s", held);
    close(fd);
    cr_assert_null(port_holder_text(ntohs(a.sin_port)));
}
