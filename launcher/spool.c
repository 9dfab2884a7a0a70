// Starting a writer, hearing from it, and its end.
#include "launcher/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "launcher/writer.h"

struct spool {
    char *name; // of the file, or the directory
    bool dir;
    pid_t pid;
    int data;   // -1: closed
    int status; // read end
};

static void close_fds(int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

// `word`: writer.h; `file` -1: that of a directory.
static pid_t start(int file, const char *word, int data, int status, struct err *err)
{
    CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP_FREE char *argument = word != NULL ? xstrdup(word) : NULL;
    char name[] = "muster", command[] = "writer";
    char *argv[] = {name, command, argument, NULL};
    struct proc_fd fds[] = {{.from = null, .to = 0},
                            {.from = file >= 0 ? file : null, .to = WRITER_FILE},
                            {.from = null, .to = 2},
                            {.from = data, .to = WRITER_IN},
                            {.from = status, .to = WRITER_STATUS}};
    struct proc_spec spec = {.path = "/proc/self/exe",
                             .argv = argv,
                             .envp = environ,
                             .fds = fds,
                             .nfds = sizeof fds / sizeof *fds,
                             .own_session = true};
    if (null < 0) {
        err_set_errno(err, errno, "/dev/null");
        return -1;
    }
    return proc_spawn(&spec, err);
}

static struct spool *create(int file, const char *name, const char *word,
                            struct err *err)
{
    int data[2] = {-1, -1}, status[2] = {-1, -1};
    pid_t pid = -1;
    if (pipe2(data, O_CLOEXEC) < 0 || pipe2(status, O_CLOEXEC) < 0)
        err_set_errno(err, errno, "pipe");
    else
        pid = start(file, word, data[0], status[1], err);
    if (pid < 0) {
        err_prefix(err, "the process that writes %s", name);
        close_fds(data);
        close_fds(status);
        return NULL;
    }
    close(data[0]);
    close(status[1]);
    proc_set_nonblock(status[0]);
    struct spool *s = xcalloc(1, sizeof *s);
    *s = (struct spool){.name = xstrdup(name),
                        .dir = file < 0,
                        .pid = pid,
                        .data = data[1],
                        .status = status[0]};
    return s;
}

struct spool *spool_to_file(int file, const char *name, struct err *err)
{
    return create(file, name, NULL, err);
}

struct spool *spool_to_log(int file, const char *name, struct err *err)
{
    return create(file, name, "", err);
}

struct spool *spool_to_dir(const char *dir, struct err *err)
{
    return create(-1, dir, dir, err);
}

void spool_destroy(struct spool *s)
{
    if (s == NULL)
        return;
    if (s->data >= 0)
        close(s->data);
    close(s->status);
    free(s->name);
    free(s);
}

int spool_fd(const struct spool *s)
{
    return s->data;
}

int spool_status_fd(const struct spool *s)
{
    return s->status;
}

int spool_failed(struct spool *s, char **name, int *errnum)
{
    struct writer_failure f;
    ssize_t n;
    do
        n = read(s->status, &f, sizeof f);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof f)
        return n < 0 ? 0 : -1;
    *name = s->dir ? writer_path(s->name, f.rank, f.stream) : xstrdup(s->name);
    *errnum = f.errnum;
    return 1;
}

static int check_end(const struct spool *s, int status, struct err *err)
{
    if (status == 0)
        return 0;
    CLEANUP_FREE char *how = proc_status_text(status);
    err_set(err, "%s: the process that writes it (pid %d) ended with %s", s->name,
            (int)s->pid, how);
    return -1;
}

// The status pipe hangs up when the writer has closed its files.
static bool hung_up(const struct spool *s, int ms)
{
    uint64_t end = loop_now_ms() + (uint64_t)ms, now;
    struct pollfd p = {.fd = s->status};
    int rc;
    do {
        now = loop_now_ms();
        rc = poll(&p, 1, end > now ? (int)(end - now) : 0);
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

int spool_finish(struct spool *s, int ms, struct err *err)
{
    int status = 0;
    if (s->data >= 0)
        close(s->data);
    s->data = -1;
    if (!hung_up(s, ms)) {
        err_set(err,
                "%s: not all was written within %g s (does its file system hang?); "
                "process %d goes on trying",
                s->name, ms / 1e3, (int)s->pid);
        return -1;
    }
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return check_end(s, status, err);
}
