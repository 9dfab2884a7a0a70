// Descriptors in batches, one byte of data with each.
#include "agent/rank_fds.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 200 }; // the kernel takes 253 in one message (unix(7))

union control {
    struct cmsghdr align;
    char space[CMSG_SPACE(BATCH * sizeof(int))];
};

void rank_fds_close(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

static int send_batch(int sock, const int *fds, size_t n)
{
    char byte = 0;
    union control c = {0};
    struct iovec data = {&byte, 1};
    struct msghdr msg = {.msg_iov = &data,
                         .msg_iovlen = 1,
                         .msg_control = c.space,
                         .msg_controllen = CMSG_SPACE(n * sizeof *fds)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(n * sizeof *fds);
    memcpy(CMSG_DATA(head), fds, n * sizeof *fds);
    ssize_t sent;
    do
        sent = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == 1 ? 0 : -1;
}

// How many pairs were made; less than n with errno.
static size_t make_pairs(int *mine, int *theirs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int sv[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
            return i;
        mine[i] = sv[0];
        theirs[i] = sv[1];
    }
    return n;
}

static int give_batch(int sock, int *mine, size_t n)
{
    int theirs[BATCH];
    size_t got = make_pairs(mine, theirs, n);
    int rc = got == n ? send_batch(sock, theirs, n) : -1, why = errno;
    rank_fds_close(theirs, got);
    if (rc < 0)
        rank_fds_close(mine, got);
    errno = why;
    return rc;
}

int rank_fds_give(int sock, int *mine, size_t n, struct err *err)
{
    for (size_t done = 0; done < n;) {
        size_t more = n - done < BATCH ? n - done : BATCH;
        if (give_batch(sock, mine + done, more) < 0) {
            err_set_errno(err, errno,
                          "cannot make PMI sockets for %zu ranks (ulimit -n of musterd "
                          "may be too low)",
                          n);
            rank_fds_close(mine, done);
            return -1;
        }
        done += more;
    }
    return 0;
}

// The fds of one message; -1 with errno when it has none.
static ssize_t take_batch(int sock, int *fds, size_t max)
{
    char byte;
    union control c;
    struct iovec data = {&byte, 1};
    struct msghdr msg = {.msg_iov = &data,
                         .msg_iovlen = 1,
                         .msg_control = c.space,
                         .msg_controllen = sizeof c.space};
    ssize_t n;
    do
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *head = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (n >= 0)
        errno = EPROTO;
    if (head == NULL || head->cmsg_type != SCM_RIGHTS ||
        (msg.msg_flags & MSG_CTRUNC) != 0)
        return -1;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
    if (count > max)
        return -1;
    memcpy(fds, CMSG_DATA(head), count * sizeof *fds);
    return (ssize_t)count;
}

int rank_fds_take(int sock, int *fds, size_t n, struct err *err)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = take_batch(sock, fds + done, n - done);
        if (got < 0) {
            err_set_errno(err, errno, "the ranks' PMI sockets: %zu of %zu came", done,
                          n);
            rank_fds_close(fds, done);
            return -1;
        }
        done += (size_t)got;
    }
    return 0;
}
