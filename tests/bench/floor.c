// The floor of a launch: a TCP message to each pod, posix_spawn and wait there, an answer.
//
//   floor serve PORT                    in each pod: one byte in, `true` run, one byte out
//   floor ask PORT ADDRESS...           ask all at once, wait for all, exit 0
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

enum { ASK_MS = 30000 };

static struct sockaddr_in address_of(const char *text, const char *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, text, &a.sin_addr) != 1) {
        fprintf(stderr, "floor: %s is no IPv4 address\n", text);
        exit(2);
    }
    return a;
}

static void answer(int fd)
{
    char byte, name[] = "true", *argv[] = {name, NULL};
    int status = 1;
    pid_t pid;
    if (read(fd, &byte, 1) == 1 &&
        posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0)
        waitpid(pid, &status, 0);
    byte = (char)(status == 0 ? 0 : 1);
    ssize_t n = write(fd, &byte, 1);
    (void)n;
    close(fd);
}

static int serve(const char *port)
{
    struct sockaddr_in a = address_of("0.0.0.0", port);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 64) < 0) {
        perror("floor: listen");
        return 2;
    }
    for (int peer; (peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        answer(peer);
    return 2;
}

static int ask(const char *port, char **addresses, int n)
{
    CLEANUP_FREE struct pollfd *p = xcalloc((size_t)n, sizeof *p);
    for (int i = 0; i < n; i++) {
        struct sockaddr_in a = address_of(addresses[i], port);
        p[i] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
                               .events = POLLOUT};
        if (connect(p[i].fd, (struct sockaddr *)&a, sizeof a) < 0 &&
            errno != EINPROGRESS)
            return 1;
    }
    for (int open = n; open > 0;) {
        if (poll(p, (nfds_t)n, ASK_MS) <= 0)
            return 1;
        for (int i = 0; i < n; i++) {
            char byte = 1;
            if ((p[i].revents & POLLOUT) != 0) {
                if (write(p[i].fd, &byte, 1) != 1)
                    return 1;
                p[i].events = POLLIN;
            } else if (p[i].revents != 0) {
                if (read(p[i].fd, &byte, 1) != 1 || byte != 0)
                    return 1;
                close(p[i].fd);
                p[i].fd = -1;
                open--;
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2]);
    if (argc > 3 && strcmp(argv[1], "ask") == 0)
        return ask(argv[2], argv + 3, argc - 3);
    fprintf(stderr, "usage: floor serve PORT | floor ask PORT ADDRESS...\n");
    return 2;
}
