// Sockets, then `musterd keeper` with their other ends.
#include "agent/kit.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/proc.h"
#include "common/strv.h"

static int make_pair(int *mine, int *theirs, struct err *err)
{
    int sv[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0) {
        err_set_errno(err, errno, "socketpair");
        return -1;
    }
    *mine = sv[0];
    *theirs = sv[1];
    return 0;
}

static int make_pairs(struct kit *mine, struct kit *theirs, bool pmixd, struct err *err)
{
    return make_pair(&mine->keeper, &theirs->keeper, err) < 0 ||
                   make_pair(&mine->pmi, &theirs->pmi, err) < 0 ||
                   (pmixd && make_pair(&mine->pmixd, &theirs->pmixd, err) < 0)
               ? -1
               : 0;
}

static pid_t spawn_keeper(const struct kit *theirs, const char *pmixd, char *const *env,
                          struct err *err)
{
    STRV_AUTO argv = STRV_INIT;
    strv_add(&argv, "musterd");
    strv_add(&argv, "keeper");
    strv_add(&argv, "--pmi");
    if (pmixd != NULL) {
        strv_add(&argv, "--pmixd");
        strv_add(&argv, pmixd);
    }
    struct proc_fd fds[] = {{theirs->keeper, 3}, {theirs->pmi, 5}, {theirs->pmixd, 4}};
    struct proc_spec spec = {.path = "/proc/self/exe",
                             .argv = argv.v,
                             .envp = env,
                             .fds = fds,
                             .nfds = pmixd != NULL ? 3 : 2,
                             .own_session = true};
    pid_t pid = proc_spawn(&spec, err);
    err_prefix(err, "keeper");
    return pid;
}

int kit_start(struct kit *k, const char *pmixd, char *const *env, struct err *err)
{
    *k = (struct kit){.pid = -1, .keeper = -1, .pmi = -1, .pmixd = -1};
    struct kit theirs = *k;
    if (make_pairs(k, &theirs, pmixd != NULL, err) == 0)
        k->pid = spawn_keeper(&theirs, pmixd, env, err);
    kit_close(&theirs);
    if (k->pid > 0)
        return 0;
    kit_close(k);
    return -1;
}

bool kit_is_dead(const struct kit *k)
{
    struct pollfd ends[] = {{.fd = k->keeper, .events = POLLRDHUP},
                            {.fd = k->pmixd, .events = POLLRDHUP}};
    return poll(ends, 2, 0) != 0; // a negative fd is never ready
}

void kit_close(struct kit *k)
{
    int *const fds[] = {&k->keeper, &k->pmi, &k->pmixd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
