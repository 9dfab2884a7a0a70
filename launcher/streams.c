// Files behind pipes.
#include "launcher/streams.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "launcher/spool.h"

enum { OUT, ERR, DIR, PLACES };

struct streams {
    struct spool *spool[PLACES]; // NULL: no file, or (ERR) the same file as OUT
    bool behind[2];              // are fds 1 and 2 pipes to a writer?
    struct event *news[PLACES];
    streams_failed_fn failed;
    void *arg;
};

static int make_dir(const char *dir, struct err *err)
{
    struct stat st;
    int rc = stat(dir, &st);
    if (rc < 0 && errno == ENOENT)
        rc = mkdir(dir, 0777) == 0 ? stat(dir, &st) : -1;
    if (rc == 0 && !S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        rc = -1;
    }
    if (rc == 0 && access(dir, W_OK | X_OK) == 0)
        return 0;
    err_set_errno(err, errno, "--output %s: cannot write there", dir);
    return -1;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// From here on the file is open in its writer alone: closing it can hang, too.
static int put_behind(struct streams *s, int fd, const struct spool *spool,
                      struct err *err)
{
    s->behind[fd - 1] = dup2(spool_fd(spool), fd) >= 0;
    if (s->behind[fd - 1])
        return 0;
    err_set_errno(err, errno, "fd %d", fd);
    return -1;
}

// Where no further process may be started the launcher writes by itself, and hangs with the
// file: worse than a writer, and better than no launch.
static struct spool *spool_of(int fd, const char *name)
{
    ERR_AUTO err = ERR_INIT;
    struct spool *spool = spool_to_file(fd, name, &err);
    if (spool == NULL)
        fprintf(stderr,
                "muster: warning: %s; muster writes it by itself, and stops where that "
                "file's file system hangs\n",
                err_text(&err));
    return spool;
}

static int open_files(struct streams *s, struct err *err)
{
    struct stat out = {0}, st = {0};
    bool is_out = fstat(1, &out) == 0 && S_ISREG(out.st_mode);
    bool is_err = fstat(2, &st) == 0 && S_ISREG(st.st_mode);
    bool one = is_out && is_err && same_file(&out, &st);
    if (is_out)
        s->spool[OUT] = spool_of(1, "stdout");
    if (is_err && !one)
        s->spool[ERR] = spool_of(2, "stderr");
    struct spool *for_err = s->spool[one ? OUT : ERR];
    if (s->spool[OUT] != NULL && put_behind(s, 1, s->spool[OUT], err) < 0)
        return -1;
    return for_err != NULL ? put_behind(s, 2, for_err, err) : 0;
}

struct streams *streams_open(const char *dir, struct err *err)
{
    struct streams *s = xcalloc(1, sizeof *s);
    if ((dir != NULL && (make_dir(dir, err) < 0 ||
                         (s->spool[DIR] = spool_to_dir(dir, err)) == NULL)) ||
        open_files(s, err) < 0) {
        streams_destroy(s);
        return NULL;
    }
    return s;
}

static void let_go(struct streams *s, int fd)
{
    CLEANUP_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (s->behind[fd - 1] && dup2(null, fd) < 0)
        close(fd);
}

void streams_destroy(struct streams *s)
{
    if (s == NULL)
        return;
    streams_unwatch(s);
    let_go(s, 1);
    let_go(s, 2);
    for (int i = 0; i < PLACES; i++)
        spool_destroy(s->spool[i]);
    free(s);
}

bool streams_is_file(const struct streams *s, int fd)
{
    return s->behind[fd - 1];
}

int streams_dir_fd(const struct streams *s)
{
    return s->spool[DIR] != NULL ? spool_fd(s->spool[DIR]) : -1;
}

// ---- failures ------------------------------------------------------------------

// Returns false when the writer is gone.
static bool tell_failures(struct streams *s, struct spool *spool)
{
    char *name = NULL;
    int errnum = 0, rc;
    while ((rc = spool_failed(spool, &name, &errnum)) > 0) {
        s->failed(s->arg, name, errnum);
        free(name);
    }
    return rc == 0;
}

static void on_news(evutil_socket_t fd, short what, void *arg)
{
    struct streams *s = arg;
    for (int i = 0; i < PLACES; i++)
        if (s->news[i] != NULL && !tell_failures(s, s->spool[i]))
            event_del(s->news[i]); // streams_finish() says why
}

void streams_watch(struct streams *s, struct event_base *base, streams_failed_fn failed,
                   void *arg)
{
    s->failed = failed;
    s->arg = arg;
    for (int i = 0; i < PLACES; i++) {
        if (s->spool[i] == NULL)
            continue;
        s->news[i] = event_new(base, spool_status_fd(s->spool[i]), EV_READ | EV_PERSIST,
                               on_news, s);
        event_add(s->news[i], NULL);
    }
}

void streams_unwatch(struct streams *s)
{
    for (int i = 0; i < PLACES; i++) {
        if (s->news[i] != NULL)
            event_free(s->news[i]);
        s->news[i] = NULL;
    }
}

// ---- the end -------------------------------------------------------------------

static int finish(struct streams *s, int place, int ms, struct err *err)
{
    char *name = NULL;
    int errnum = 0, rc = spool_finish(s->spool[place], ms, err);
    while (spool_failed(s->spool[place], &name, &errnum) > 0) {
        if (rc == 0)
            err_set_errno(err, errnum, "cannot write to %s", name);
        rc = -1;
        free(name);
    }
    return rc;
}

int streams_finish(struct streams *s, int ms, struct err *err)
{
    bool shared = s->spool[ERR] == NULL && s->behind[1];
    int rc = 0;
    if (s->spool[OUT] != NULL && !shared) {
        let_go(s, 1);
        rc = finish(s, OUT, ms, err);
    }
    if (rc == 0 && s->spool[DIR] != NULL)
        rc = finish(s, DIR, ms, err);
    return rc;
}

int streams_finish_stderr(struct streams *s, int ms, struct err *err)
{
    if (!s->behind[1])
        return 0;
    let_go(s, 1);
    let_go(s, 2);
    return finish(s, s->spool[ERR] != NULL ? ERR : OUT, ms, err);
}
