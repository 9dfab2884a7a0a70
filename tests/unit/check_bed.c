// SIGSTOP, /proc/PID/mem, SIGCONT.
#include "check_bed.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"

enum { LIMIT_MS = 60000, OUTPUT_MAX = 65536 };

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void pin_to_one_core(void)
{
    cpu_set_t allowed, one;
    int i = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    while (!CPU_ISSET(i, &allowed))
        i++;
    CPU_ZERO(&one);
    CPU_SET(i, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

static pid_t child_of(pid_t pid)
{
    pid_t child = 0;
    return proc_descendants_but(pid, NULL, 0, &child, 1) > 0 ? child : 0;
}

void check_bed_start(struct check_bed *b, const char *name, const char *const *options)
{
    int fds[2], errs[2];
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO argv = STRV_INIT;
    const char *build = getenv("MUSTER_BUILDDIR");
    cpu_set_t before;
    CLEANUP_FREE char *path =
        xasprintf("%s/kernels/check/%s", build != NULL ? build : ".", name);
    strv_add(&argv, path);
    for (size_t i = 0; options[i] != NULL; i++)
        strv_add(&argv, options[i]);
    cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
    cr_assert_eq(pipe2(errs, O_CLOEXEC), 0);
    sched_getaffinity(0, sizeof before, &before);
    pin_to_one_core();
    struct proc_fd pass[] = {{fds[1], STDOUT_FILENO}, {errs[1], STDERR_FILENO}};
    extern char **environ;
    struct proc_spec spec = {.path = path,
                             .argv = argv.v,
                             .envp = environ,
                             .fds = pass,
                             .nfds = 2,
                             .death_signal = SIGKILL};
    *b = (struct check_bed){.out = fds[0], .err = errs[0], .mem = -1};
    b->pid = proc_spawn(&spec, &err);
    sched_setaffinity(0, sizeof before, &before);
    close(fds[1]);
    close(errs[1]);
    cr_assert_gt(b->pid, 0, "%s", err_text(&err));
    for (uint64_t end = loop_now_ms() + LIMIT_MS; b->worker == 0; wait_a_little()) {
        cr_assert_lt(loop_now_ms(), end);
        b->worker = child_of(b->pid);
        if (b->worker == 0 && proc_state(b->pid) == 'Z')
            return;
    }
    CLEANUP_FREE char *mem = xasprintf("/proc/%d/mem", (int)b->worker);
    b->mem = open(mem, O_RDWR | O_CLOEXEC);
}

unsigned short check_bed_port(struct check_bed *b)
{
    char line[200] = "";
    for (size_t n = 0; n < sizeof line - 1 && strchr(line, '\n') == NULL; n++) {
        struct pollfd p = {.fd = b->err, .events = POLLIN};
        cr_assert_gt(poll(&p, 1, LIMIT_MS), 0, "it does not say where it listens");
        cr_assert_eq(read(b->err, line + n, 1), 1, "%s", line);
    }
    const char *colon = strrchr(line, ':');
    cr_assert_not_null(colon, "%s", line);
    return (unsigned short)atoi(colon + 1);
}

// The begin of the mapping of exactly so many bytes; 0: not yet.
static uint64_t find_mapping(pid_t pid, uint64_t bytes)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%d/maps", (int)pid);
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    uint64_t at = 0;
    FILE *f = fopen(path, "re");
    while (f != NULL && at == 0 && getline(&line, &size, f) > 0) {
        unsigned long long from, to;
        char rights[8];
        if (sscanf(line, "%llx-%llx %7s", &from, &to, rights) == 3 &&
            to - from == bytes && strcmp(rights, "rw-p") == 0)
            at = from;
    }
    if (f != NULL)
        fclose(f);
    return at;
}

static bool all_stopped(pid_t pid)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    bool stopped = dir != NULL;
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.')
            stopped = stopped && proc_state((pid_t)atoi(e->d_name)) == 'T';
    }
    if (dir != NULL)
        closedir(dir);
    return stopped;
}

bool check_bed_stop(struct check_bed *b, uint64_t bytes)
{
    for (uint64_t end = loop_now_ms() + LIMIT_MS;; wait_a_little()) {
        char state = b->worker != 0 ? proc_state(b->worker) : 0;
        cr_assert_lt(loop_now_ms(), end, "it does not stop");
        if (state == 0 || state == 'Z')
            return false;
        b->at = b->at != 0 ? b->at : find_mapping(b->worker, bytes);
        if (b->at == 0)
            continue;
        kill(b->worker, SIGSTOP);
        if (all_stopped(b->worker))
            return true;
    }
}

void check_bed_step(struct check_bed *b)
{
    kill(b->worker, SIGCONT);
    wait_a_little();
}

void check_bed_go(struct check_bed *b)
{
    kill(b->worker, SIGCONT);
}

uint64_t check_bed_word(struct check_bed *b, uint64_t index)
{
    uint64_t word = 0;
    cr_assert_eq(pread(b->mem, &word, sizeof word, (off_t)(b->at + index * 8)),
                 sizeof word);
    return word;
}

void check_bed_flip(struct check_bed *b, uint64_t byte, uint8_t bits)
{
    uint8_t v = 0;
    off_t at = (off_t)(b->at + byte);
    cr_assert_eq(pread(b->mem, &v, 1, at), 1);
    v ^= bits;
    cr_assert_eq(pwrite(b->mem, &v, 1, at), 1);
}

json_t *check_bed_end(struct check_bed *b, int *code)
{
    CLEANUP_FREE char *text = xmalloc(OUTPUT_MAX);
    size_t n = 0;
    int status = 0;
    json_error_t why;
    for (ssize_t got; n < OUTPUT_MAX - 1; n += (size_t)got) {
        struct pollfd p = {.fd = b->out, .events = POLLIN};
        cr_assert_gt(poll(&p, 1, LIMIT_MS), 0, "it says nothing");
        got = read(b->out, text + n, OUTPUT_MAX - 1 - n);
        if (got <= 0)
            break;
    }
    text[n] = '\0';
    cr_assert_eq(waitpid(b->pid, &status, 0), b->pid);
    *code = proc_status_code(status);
    close(b->out);
    close(b->err);
    if (b->mem >= 0)
        close(b->mem);
    json_t *said = json_loads(text, 0, &why);
    cr_assert_not_null(said, "%s: %s", why.text, text);
    return said;
}

static json_t *wrong(json_t *said, const char *name)
{
    return json_object_get(json_array_get(json_object_get(said, "wrong"), 0), name);
}

const char *check_bed_text(json_t *said, const char *name)
{
    return json_string_value(wrong(said, name));
}

json_int_t check_bed_number(json_t *said, const char *name)
{
    json_t *v = wrong(said, name);
    return json_is_integer(v) ? json_integer_value(v) : -1;
}
