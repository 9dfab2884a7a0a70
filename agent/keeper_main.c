// Starting a keeper: arguments, inherited fds, signals, loop.
#include "agent/keeper_main.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"

enum { AGENT_FD = 3, PMIXD_FD = 4, PMI_FD = 5 };

struct options {
    const char *pmixd; // NULL: none
    bool pmi;          // the ranks' PMI sockets come over fd 5
    bool debug;
};

static int parse(int argc, char **argv, struct options *o, struct err *err)
{
    *o = (struct options){0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--debug") == 0) {
            o->debug = true;
        } else if (strcmp(argv[i], "--pmixd") == 0 && i + 1 < argc) {
            o->pmixd = argv[++i];
        } else if (strcmp(argv[i], "--pmi") == 0) {
            o->pmi = true;
        } else {
            err_set(err, "%s: usage: musterd keeper [--debug] [--pmixd PATH] [--pmi]",
                    argv[i]);
            return -1;
        }
    }
    return 0;
}

static int check_socket(int fd, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode)) {
        proc_set_cloexec(fd);
        return 0;
    }
    err_set(err, "fd %d is no socket: keepers are started by musterd, not by hand", fd);
    return -1;
}

// Only fd 3 counts: signals meant for the agent's process group end no rank.
static void ignore_signals(void)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
}

static int become_subreaper(struct err *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0)
        return 0;
    err_set_errno(err, errno, "cannot become a subreaper");
    return -1;
}

static void keep(const struct options *o, struct log *log)
{
    ERR_AUTO err = ERR_INIT;
    struct event_base *base = loop_create();
    struct keeper *k = keeper_create(base, AGENT_FD, log);
    if (o->pmi)
        keeper_pmi_from(k, PMI_FD);
    if (o->pmixd != NULL && keeper_start_pmixd(k, o->pmixd, PMIXD_FD, &err) < 0)
        log_error(log, "the PMIx server: %s", err_text(&err));
    event_base_dispatch(base);
    keeper_destroy(k);
    loop_destroy(base);
}

int keeper_main(int argc, char **argv)
{
    ERR_AUTO err = ERR_INIT;
    struct options o;
    struct log *log = log_create(STDERR_FILENO, "musterd keeper", LOG_LEVEL_INFO);
    bool ok = parse(argc, argv, &o, &err) == 0 && check_socket(AGENT_FD, &err) == 0 &&
              (o.pmixd == NULL || check_socket(PMIXD_FD, &err) == 0) &&
              (!o.pmi || check_socket(PMI_FD, &err) == 0) &&
              become_subreaper(&err) == 0;
    prctl(PR_SET_NAME, "keeper (ready)"); // for ps and top
    if (ok) {
        log_set_level(log, o.debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
        ignore_signals();
        keep(&o, log);
    } else {
        log_error(log, "%s", err_text(&err));
    }
    log_destroy(log);
    return ok ? 0 : 125;
}
