// A child with a deadline, and its last words.
#include "kernels/check/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/std.h"

enum {
    STAGE_LEN = 120,
    STAGES_SAID = 4,  // of those that hang
    RESERVE_MS = 500, // what the work leaves of the time, to say what it has
    REAP_MS = 1000,   // a child that closed its pipe is awaited so long
    LINE_MAX_LEN = 1 << 20,
    WRITE_MS = 2000,
};

struct stages {
    char text[STAGES_MAX][STAGE_LEN];
};

void stages_set(struct stages *s, size_t slot, const char *fmt, ...)
{
    va_list ap;
    if (slot >= STAGES_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(s->text[slot], STAGE_LEN, fmt, ap);
    va_end(ap);
}

static uint64_t work_ends(uint64_t begun, uint32_t deadline_ms)
{
    uint32_t reserve = deadline_ms / 4 < RESERVE_MS ? deadline_ms / 4 : RESERVE_MS;
    return begun + deadline_ms - reserve;
}

// When memory is out this child is to go, and no rank beside it.
static void offer_to_oom_killer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && fd_write(fd, "1000", 4) < 0)
        errno = 0; // it stays as likely as its parent
    if (fd >= 0)
        close(fd);
}

struct run {
    const struct supervise_conf *conf;
    uint64_t begun;
    struct stages *stages; // shared with the child
    pid_t pid;
    int fd; // the child's line comes out of it
};

static _Noreturn void be_child(const struct run *r, pid_t parent, int out,
                               void (*work)(void *, const struct supervised *),
                               void *arg)
{
    struct finding f;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(FINDING_COULD_NOT_RUN);
    dup2(STDERR_FILENO,
         STDOUT_FILENO); // for libraries that talk: stdout has one object
    offer_to_oom_killer();
    finding_init(&f);
    work(arg, &(struct supervised){&f, r->stages,
                                   work_ends(r->begun, r->conf->deadline_ms)});
    CLEANUP_FREE char *line =
        finding_line(&f, r->conf->check, (double)(loop_now_ms() - r->begun) / 1e3);
    char verdict = (char)('0' + (int)f.verdict);
    if (fd_write(out, &verdict, 1) < 0 || fd_write(out, line, strlen(line)) < 0)
        _exit(FINDING_COULD_NOT_RUN);
    _exit((int)f.verdict); // no destructors of libraries: they hang, too
}

static int start(struct run *r, void (*work)(void *, const struct supervised *),
                 void *arg, struct err *err)
{
    int fds[2];
    pid_t parent = getpid();
    r->stages = mmap(NULL, sizeof *r->stages, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->stages == MAP_FAILED || pipe2(fds, O_CLOEXEC) < 0) {
        err_set_errno(err, errno, "the check cannot be started");
        return -1;
    }
    r->pid = fork();
    if (r->pid == 0) {
        close(fds[0]);
        be_child(r, parent, fds[1], work, arg);
    }
    close(fds[1]);
    r->fd = fds[0];
    if (r->pid < 0)
        err_set_errno(err, errno, "the check cannot be forked");
    return r->pid < 0 ? -1 : 0;
}

// Until the pipe ends (true) or the deadline comes.
static bool read_line(const struct run *r, struct buf *line)
{
    uint64_t end = r->begun + r->conf->deadline_ms;
    for (;;) {
        uint64_t now = loop_now_ms();
        struct pollfd p = {.fd = r->fd, .events = POLLIN};
        if (now >= end)
            return false;
        if (poll(&p, 1, (int)(end - now)) <= 0)
            continue;
        ssize_t n = read(r->fd, buf_reserve(line, 4096), 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || buf_len(line) > LINE_MAX_LEN)
            return true;
        buf_commit(line, (size_t)n);
    }
}

static bool is_whole(const struct buf *line)
{
    size_t n = buf_len(line);
    return n > 1 && buf_data(line)[n - 1] == '\n';
}

// The parts that are not done, as a text; owned by the caller.
static char *name_stages(const struct stages *s)
{
    BUF_AUTO out = BUF_INIT;
    unsigned n = 0;
    for (size_t i = 0; i < STAGES_MAX; i++) {
        char text[STAGE_LEN];
        memcpy(text, s->text[i], sizeof text);
        text[STAGE_LEN - 1] = '\0';
        if (text[0] == '\0' || ++n > STAGES_SAID)
            continue;
        buf_printf(&out, "%s%s", n > 1 ? "; " : "", text);
    }
    if (n > STAGES_SAID)
        buf_printf(&out, "; and %u more", n - STAGES_SAID);
    if (n == 0)
        buf_append_str(&out, "the start or the end");
    return buf_steal_str(&out);
}

static void say_hung(const struct run *r, struct finding *f)
{
    CLEANUP_FREE char *where = name_stages(r->stages);
    double s = r->conf->deadline_ms / 1e3;
    char letter[2] = {proc_state(r->pid), '\0'};
    finding_fail(f, "it hangs (deadline: %g s) in: %s", s, where);
    finding_set(f, "hung_in", jsonpack_text(where));
    finding_set(f, "state", jsonpack_text(letter));
}

// The status of a child that has closed its pipe; false: it does not end.
static bool reap(struct run *r, int *status)
{
    for (uint64_t end = loop_now_ms() + REAP_MS; loop_now_ms() < end;
         poll(NULL, 0, 5)) {
        if (waitpid(r->pid, status, WNOHANG) == r->pid) {
            r->pid = -1;
            return true;
        }
    }
    return false;
}

// What a faulty machine does to a process. Whatever else ends it was sent by somebody, or by itself
// (SIGABRT).
static bool is_fault(int status)
{
    if (!WIFSIGNALED(status))
        return false;
    int n = WTERMSIG(status);
    return n == SIGBUS || n == SIGSEGV || n == SIGILL || n == SIGFPE;
}

static void say_crashed(struct run *r, struct finding *f)
{
    int status = 0;
    CLEANUP_FREE char *where = name_stages(r->stages);
    if (!reap(r, &status)) {
        say_hung(r, f);
        return;
    }
    CLEANUP_FREE char *how = proc_status_text(status);
    if (r->conf->crash_fails && is_fault(status))
        finding_fail(f, "it was ended by %s in: %s", how, where);
    else
        finding_could_not_run(f, "it ended with %s in: %s", how, where);
}

static int print(const struct run *r, const struct finding *f)
{
    CLEANUP_FREE char *line =
        finding_line(f, r->conf->check, (double)(loop_now_ms() - r->begun) / 1e3);
    if (!std_write(STDOUT_FILENO, line, strlen(line), WRITE_MS))
        return FINDING_COULD_NOT_RUN;
    return (int)f->verdict;
}

// What the child said: its verdict's digit, and the line.
static int pass_on(struct buf *line)
{
    int code = buf_data(line)[0] - '0';
    buf_take(line, 1);
    if (!std_write(STDOUT_FILENO, buf_data(line), buf_len(line), WRITE_MS))
        return FINDING_COULD_NOT_RUN;
    return code;
}

int supervise(const struct supervise_conf *conf,
              void (*work)(void *arg, const struct supervised *s), void *arg)
{
    struct run r = {.conf = conf, .begun = loop_now_ms(), .pid = -1, .fd = -1};
    struct finding f;
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO line = BUF_INIT;
    int code;
    finding_init(&f);
    if (start(&r, work, arg, &err) < 0) {
        finding_could_not_run(&f, "%s", err_text(&err));
    } else {
        bool ended = read_line(&r, &line);
        if (ended && !is_whole(&line))
            say_crashed(&r, &f);
        else if (!ended)
            say_hung(&r, &f);
        if (r.pid > 0)
            kill(r.pid, SIGKILL);
    }
    code = f.verdict == FINDING_PASS ? pass_on(&line) : print(&r, &f);
    finding_clear(&f);
    return code;
}
