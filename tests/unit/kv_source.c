// One connection, one answer, _exit.
#include "tests/unit/kv_source.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/crc32.h"
#include "common/mem.h"
#include "kernels/infer/kvwire.h"

static void put(int fd, const void *p, size_t n)
{
    for (const char *at = p; n > 0;) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            _exit(1);
        at += sent;
        n -= (size_t)sent;
    }
}

static void pause_in(int told)
{
    char c = 'h';
    put(told, &c, 1);
    if (recv(told, &c, 1, 0) != 1)
        _exit(1);
}

_Noreturn static void answer(int fd, enum kv_fault fault, size_t head_dim, int told)
{
    struct kvwire_pull pull;
    if (recv(fd, &pull, sizeof pull, MSG_WAITALL) != (ssize_t)sizeof pull)
        _exit(1);
    size_t bytes = kvwire_bytes(&pull.part, head_dim, pull.n);
    float *floats = xmalloc(bytes);
    for (size_t i = 0; i < bytes / sizeof *floats; i++)
        floats[i] = (float)(i + 1);
    struct kvwire_data d = {.magic = {'M', 'K', 'D', '2'},
                            .hold = pull.hold,
                            .part = pull.part,
                            .n = pull.n,
                            .bytes = bytes};
    const struct kvwire_end e = {.magic = {'M', 'K', 'E', '1'},
                                 .crc = crc32_add(0, floats, bytes)};
    memcpy(d.model, KV_SOURCE_MODEL, sizeof d.model);
    d.model[0] = fault == KV_OTHER_MODEL ? 'x' : d.model[0];
    floats[5] = fault == KV_FLIPPED ? -floats[5] : floats[5];
    put(fd, &d, sizeof d);
    size_t half = fault == KV_PAUSED ? bytes / 2 : 0;
    put(fd, floats, half);
    if (fault == KV_PAUSED)
        pause_in(told);
    put(fd, (char *)floats + half, bytes - half - (fault == KV_CUT ? 1 : 0));
    if (fault != KV_CUT)
        put(fd, &e, sizeof e);
    _exit(0);
}

struct kv_source kv_source_start(enum kv_fault fault, size_t head_dim)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    int pair[2];
    CLEANUP_CLOSE int listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    const struct kv_source s = {.port = ntohs(at.sin_port), .told = pair[0]};
    if (fork() == 0) {
        alarm(60); // where nobody comes
        close(pair[0]);
        answer(accept(listener, NULL, NULL), fault, head_dim, pair[1]);
    }
    close(pair[1]);
    return s;
}
