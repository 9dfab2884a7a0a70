// The process that writes files: frames to files, and what it tells of those that fail.
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "launcher/writer.h"

struct bed {
    char dir[32];
    int in[2], status[2];
};

static void set_up(struct bed *b)
{
    strcpy(b->dir, "/tmp/muster-unit-XXXXXX");
    cr_assert_not_null(mkdtemp(b->dir));
    cr_assert_eq(pipe2(b->in, O_CLOEXEC) | pipe2(b->status, O_CLOEXEC | O_NONBLOCK), 0);
}

static void tear_down(struct bed *b)
{
    close(b->in[0]);
    close(b->status[0]);
    close(b->status[1]);
    for (unsigned stream = 1; stream <= 2; stream++) {
        CLEANUP_FREE char *path = writer_path(b->dir, 7, stream);
        remove(path);
    }
    cr_assert_eq(rmdir(b->dir), 0);
}

static void put(struct bed *b, unsigned stream, int fresh, const char *text)
{
    BUF_AUTO frame = BUF_INIT;
    writer_frame(&frame, 7, stream, fresh, text, strlen(text));
    cr_assert_eq(write(b->in[1], buf_data(&frame), buf_len(&frame)),
                 (ssize_t)buf_len(&frame));
}

static int split(struct bed *b)
{
    close(b->in[1]);
    return writer_split(b->in[0], b->dir, b->status[1]);
}

static void expect_file(const struct bed *b, unsigned stream, const char *want)
{
    CLEANUP_FREE char *path = writer_path(b->dir, 7, stream);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[64] = "";
    cr_assert_geq(fd, 0);
    cr_assert_geq(read(fd, text, sizeof text - 1), 0);
    cr_assert_str_eq(text, want);
}

Test(writer, appends_frames_to_their_files, .timeout = 10)
{
    struct bed b;
    set_up(&b);
    put(&b, 1, 1, "one\n");
    put(&b, 2, 1, "");
    put(&b, 1, 0, "two\n");
    cr_assert_eq(split(&b), 0);
    expect_file(&b, 1, "one\ntwo\n");
    expect_file(&b, 2, "");
    tear_down(&b);
}

Test(writer, a_fresh_file_loses_what_was_there, .timeout = 10)
{
    struct bed b;
    set_up(&b);
    put(&b, 1, 1, "old\n");
    put(&b, 1, 1, "new\n");
    cr_assert_eq(split(&b), 0);
    expect_file(&b, 1, "new\n");
    tear_down(&b);
}

Test(writer, a_file_that_fails_is_told_once_and_the_others_go_on, .timeout = 10)
{
    struct bed b;
    struct writer_failure f;
    set_up(&b);
    CLEANUP_FREE char *path = writer_path(b.dir, 7, 1);
    cr_assert_eq(mkdir(path, 0700), 0);
    put(&b, 1, 1, "lost\n");
    put(&b, 1, 0, "lost too\n");
    put(&b, 2, 1, "kept\n");
    cr_assert_eq(split(&b), 0);
    expect_file(&b, 2, "kept\n");
    cr_assert_eq(read(b.status[0], &f, sizeof f), (ssize_t)sizeof f);
    cr_assert(f.rank == 7 && f.stream == 1 && f.errnum == EISDIR);
    cr_assert_eq(read(b.status[0], &f, sizeof f), -1);
    tear_down(&b);
}

Test(writer, what_is_no_frame_ends_it, .timeout = 10)
{
    struct bed b;
    set_up(&b);
    put(&b, 3, 1, "there is no third stream");
    cr_assert_eq(split(&b), -1);
    tear_down(&b);
    set_up(&b);
    put(&b, 1, 1, "whole");
    cr_assert_eq(write(b.in[1], "cut", 3), 3);
    cr_assert_eq(split(&b), 0); // the launcher was killed: what is whole counts
    expect_file(&b, 1, "whole");
    tear_down(&b);
}

Test(writer, a_full_disk_is_told_once_and_the_pipe_is_emptied, .timeout = 10)
{
    struct bed b;
    struct writer_failure f;
    CLEANUP_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    char text[30000] = "";
    set_up(&b);
    cr_assert_eq(write(b.in[1], text, sizeof text), (ssize_t)sizeof text);
    close(b.in[1]);
    writer_copy(b.in[0], full, b.status[1], false);
    cr_assert_eq(read(b.in[0], text, sizeof text), 0);
    cr_assert_eq(read(b.status[0], &f, sizeof f), (ssize_t)sizeof f);
    cr_assert_eq(f.errnum, ENOSPC);
    cr_assert_eq(read(b.status[0], &f, sizeof f), -1);
    tear_down(&b);
}

// The file's limit stands for a disk: it is full in the middle of the second line.
Test(writer, a_log_goes_on_when_there_is_room_again, .timeout = 10)
{
    struct bed b;
    struct writer_failure f;
    struct rlimit small = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY}, room = small;
    room.rlim_cur = RLIM_INFINITY;
    set_up(&b);
    CLEANUP_FREE char *path = writer_path(b.dir, 7, 1);
    CLEANUP_CLOSE int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        close(b.in[1]);
        fcntl(b.status[1], F_SETFL, 0);
        writer_copy(b.in[0], log, b.status[1], true);
        _exit(0);
    }
    cr_assert_eq(write(b.in[1], "first\nsecond\n", 13), 13);
    poll(&(struct pollfd){.fd = b.status[0], .events = POLLIN}, 1, 5000);
    cr_assert_eq(read(b.status[0], &f, sizeof f), (ssize_t)sizeof f);
    cr_assert_eq(f.errnum, EFBIG);
    cr_assert_eq(prlimit(pid, RLIMIT_FSIZE, &room, NULL), 0);
    cr_assert_eq(write(b.in[1], "third\n", 6), 6);
    close(b.in[1]);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    expect_file(&b, 1, "first\nseco\nthird\n");
    cr_assert_eq(read(b.status[0], &f, sizeof f), -1); // told once
    tear_down(&b);
}

// The `file` of these is a socket that keeps the writes apart.
static pid_t start_copy(struct bed *b, int *writes)
{
    int sv[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(b->in[1]);
        writer_copy(b->in[0], sv[0], b->status[1], false);
        _exit(0);
    }
    close(sv[0]);
    *writes = sv[1];
    return pid;
}

static void end_copy(struct bed *b, pid_t pid)
{
    close(b->in[1]);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    tear_down(b);
}

Test(writer, lines_are_written_whole, .timeout = 10)
{
    enum { LINES = 3000, WIDTH = 71 };
    struct bed b;
    int writes;
    char line[WIDTH + 1], text[80000];
    set_up(&b);
    snprintf(line, sizeof line, "%070d\n", 7);
    BUF_AUTO all = BUF_INIT;
    for (int i = 0; i < LINES; i++)
        buf_append(&all, line, WIDTH);
    pid_t feeder = fork();
    if (feeder == 0)
        _exit(write(b.in[1], buf_data(&all), buf_len(&all)) < 0);
    pid_t pid = start_copy(&b, &writes);
    for (size_t got = 0; got < LINES * WIDTH;) {
        ssize_t n = recv(writes, text, sizeof text, 0);
        cr_assert_gt(n, 0);
        cr_assert_eq(text[n - 1], '\n', "a write of %zd bytes ends within a line", n);
        got += (size_t)n;
    }
    cr_assert_eq(waitpid(feeder, NULL, 0), feeder);
    close(writes);
    end_copy(&b, pid);
}

Test(writer, a_line_without_its_end_is_not_kept, .timeout = 10)
{
    struct bed b;
    int writes;
    char text[64] = "";
    set_up(&b);
    pid_t pid = start_copy(&b, &writes);
    cr_assert_eq(write(b.in[1], "a\nprompt> ", 10), 10);
    cr_assert_eq(recv(writes, text, sizeof text, 0), 2);
    cr_assert_eq(recv(writes, text, sizeof text, 0), 8);
    cr_assert_eq(write(b.in[1], "end", 3), 3);
    close(b.in[1]);
    cr_assert_eq(recv(writes, text, sizeof text, 0), 3);
    close(writes);
    end_copy(&b, pid);
}
