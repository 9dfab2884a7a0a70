// Start helper processes and talk with them while they start.
#include "tests/podbox/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/proc.h"

enum { WAIT_S = 30, WORD_MAX = 4096 };

static const char error_word[] = "error ";

static pid_t spawn(const struct bed *bed, const char *role, const char *pod, int line,
                   struct err *err)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    CLEANUP_FREE char *log_path = bed_path(bed, "helpers.log");
    CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP_CLOSE int log =
        open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (null < 0 || log < 0) {
        err_set_errno(err, errno, "cannot open %s", null < 0 ? "/dev/null" : log_path);
        return -1;
    }
    STRV_AUTO argv = STRV_INIT;
    const char *words[] = {"podbox", "--bed", bed->name, role};
    for (size_t i = 0; i < 4; i++)
        strv_add(&argv, words[i]);
    if (pod != NULL)
        strv_add(&argv, pod);
    const struct proc_fd fds[] = {{null, 0}, {log, 1}, {log, 2}, {line, BOOT_FD}};
    struct proc_spec spec = {.path = exe,
                             .argv = argv.v,
                             .envp = environ,
                             .dir = "/",
                             .fds = fds,
                             .nfds = 4,
                             .own_session = true};
    return proc_spawn(&spec, err);
}

int boot_start(const struct bed *bed, const char *role, const char *pod, struct boot *b,
               struct err *err)
{
    int line[2];
    *b = (struct boot){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) < 0) {
        err_set_errno(err, errno, "cannot make a socket pair");
        return -1;
    }
    pid_t pid = spawn(bed, role, pod, line[1], err);
    close(line[1]);
    if (pid < 0) {
        close(line[0]);
        return -1;
    }
    b->id = ident_of(pid);
    b->fd = line[0];
    return 0;
}

int boot_expect(int fd, const char *word, struct err *err)
{
    char text[WORD_MAX + 1];
    struct timeval limit = {.tv_sec = WAIT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ssize_t n = recv(fd, text, WORD_MAX, 0);
    if (n == 0 && word[0] == '\0')
        return 0;
    if (n == 0) {
        err_set(err, "it ended while it started (see helpers.log of the bed)");
        return -1;
    }
    if (n < 0) {
        err_set(err, "it did not answer within %d s", (int)WAIT_S);
        return -1;
    }
    text[n] = '\0';
    if (strcmp(text, word) == 0)
        return 0;
    size_t len = strlen(error_word);
    char *colon = strncmp(text, error_word, len) == 0 ? strchr(text, ':') : NULL;
    if (colon != NULL)
        err_set_kind(err, NULL, atoi(text + len), "%s", colon + 1);
    else
        err_set(err, "it said '%s' instead of '%s'", text, word);
    return -1;
}

int boot_say(int fd, const char *word)
{
    return send(fd, word, strlen(word), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

void boot_say_error(int fd, const struct err *err)
{
    CLEANUP_FREE char *text =
        xasprintf("%s%d:%.*s", error_word, err->code, WORD_MAX - 32, err_text(err));
    boot_say(fd, text);
}

void boot_close(struct boot *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}
