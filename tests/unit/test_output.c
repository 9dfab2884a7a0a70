// Whole lines of many ranks, credit, and a reader that does not read.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "launcher/output.h"

struct bed {
    struct event_base *base;
    struct output *output;
    struct output_style style;
    int out[2], err[2];
    size_t credit[4];
    int drained, broken;
};

static void on_credit(void *arg, uint32_t rank, unsigned stream, size_t bytes)
{
    ((struct bed *)arg)->credit[rank] += bytes;
}

static void on_drained(void *arg)
{
    ((struct bed *)arg)->drained++;
}

static void on_broken(void *arg, const char *name, int errnum)
{
    ((struct bed *)arg)->broken++;
}

static void set_up(struct bed *b, uint32_t ranks)
{
    static const struct output_ops ops = {on_credit, on_drained, on_broken};
    struct output_style style = b->style;
    *b = (struct bed){.base = loop_create(), .style = style};
    cr_assert_eq(pipe2(b->out, O_CLOEXEC) | pipe2(b->err, O_CLOEXEC), 0);
    struct output_places to = {.out = b->out[1], .err = b->err[1], .dir = b->out[1]};
    b->output = output_create(b->base, &to, ranks, &b->style, &ops, b);
}

static void tear_down(struct bed *b)
{
    output_destroy(b->output);
    loop_destroy(b->base);
    close(b->out[0]);
    close(b->out[1]);
    close(b->err[0]);
    close(b->err[1]);
}

static void put(struct bed *b, uint32_t rank, unsigned stream, const char *text)
{
    output_data(b->output, rank, stream, text, strlen(text));
}

static void end(struct bed *b, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++) {
        output_eof(b->output, r, 1);
        output_eof(b->output, r, 2);
        output_eof(b->output, r, 2); // repeats are allowed
    }
}

static void expect_read(int fd, const char *want)
{
    char text[256];
    size_t len = strlen(want);
    cr_assert_lt(len, sizeof text);
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    cr_assert_str_eq(text, want);
}

Test(output, pieces_of_lines_are_not_mixed, .timeout = 20)
{
    struct bed b = {0};
    set_up(&b, 2);
    put(&b, 0, 1, "rank ze");
    put(&b, 1, 1, "rank one\nand");
    put(&b, 0, 1, "ro\n");
    put(&b, 1, 1, " more");
    end(&b, 2);
    expect_read(b.out[0], "rank one\nrank zero\nand more");
    cr_assert_eq(b.drained, 1);
    cr_assert_eq(b.credit[0], 10);
    cr_assert_eq(b.credit[1], 17);
    tear_down(&b);
}

Test(output, streams_go_to_their_own_places_and_binary_stays, .timeout = 20)
{
    struct bed b = {0};
    set_up(&b, 1);
    output_data(b.output, 0, 1, "a\0b\xff\n", 5);
    put(&b, 0, 2, "oops\n");
    end(&b, 1);
    char raw[8];
    cr_assert_eq(read(b.out[0], raw, sizeof raw), 5);
    cr_assert_eq(memcmp(raw, "a\0b\xff\n", 5), 0);
    expect_read(b.err[0], "oops\n");
    tear_down(&b);
}

Test(output, one_rank_alone_keeps_its_missing_newline, .timeout = 20)
{
    struct bed b = {0};
    set_up(&b, 1);
    put(&b, 0, 1, "no newline");
    end(&b, 1);
    expect_read(b.out[0], "no newline");
    tear_down(&b);
}

Test(output, an_unfinished_line_is_ended_only_for_another_stream, .timeout = 20)
{
    struct bed b = {0};
    set_up(&b, 3);
    put(&b, 0, 1, "zero");
    output_eof(b.output, 0, 1);
    put(&b, 1, 1, "one\ntwo");
    output_eof(b.output, 1, 1);
    put(&b, 2, 2, "other place\n");
    end(&b, 3);
    expect_read(b.out[0], "zero\none\ntwo");
    tear_down(&b);
}

Test(output, a_reader_that_does_not_read_holds_credit_back, .timeout = 20)
{
    struct bed b = {0};
    set_up(&b, 1);
    enum { LINE = 1000, LINES = 1000 };
    char line[LINE];
    memset(line, 'x', LINE);
    line[LINE - 1] = '\n';
    for (int i = 0; i < LINES; i++)
        output_data(b.output, 0, 1, line, LINE);
    end(&b, 1);
    cr_assert_lt(b.credit[0], LINE * LINES); // a pipe holds less
    cr_assert_eq(b.drained, 0);
    size_t got = 0;
    char piece[65536];
    while (got < LINE * LINES) {
        ssize_t n = read(b.out[0], piece, sizeof piece);
        cr_assert_gt(n, 0);
        got += (size_t)n;
        event_base_loop(b.base, EVLOOP_NONBLOCK);
    }
    cr_assert_eq(b.credit[0], LINE * LINES);
    cr_assert_eq(b.drained, 1);
    tear_down(&b);
}

Test(output, tags_every_line_and_merges, .timeout = 20)
{
    struct bed b = {.style = {.tag = true, .merge = true}};
    set_up(&b, 2);
    put(&b, 1, 1, "one\ntwo\nthr");
    put(&b, 0, 2, "oops\n");
    put(&b, 1, 1, "ee\n");
    end(&b, 2);
    expect_read(b.out[0], "[1]<stdout>: one\n[1]<stdout>: two\n[0]<stderr>: oops\n"
                          "[1]<stdout>: three\n");
    cr_assert_eq(b.credit[1], 14);
    tear_down(&b);
}

Test(output, keeps_the_last_words_of_a_rank, .timeout = 20)
{
    struct bed b = {0};
    set_up(&b, 1);
    BUF_AUTO words = BUF_INIT;
    output_last_words(b.output, 0, 2, "| ", &words);
    cr_assert_eq(buf_len(&words), 0);
    put(&b, 0, 2, "first\nsecond\nth\x1bird\n\n");
    output_last_words(b.output, 0, 2, "| ", &words);
    char *text = buf_steal_str(&words);
    cr_assert_str_eq(text, "| second\n| th?ird");
    free(text);
    output_last_words(b.output, 0, 9, "", &words);
    text = buf_steal_str(&words);
    cr_assert_str_eq(text, "first\nsecond\nth?ird");
    free(text);
    tear_down(&b);
}

// A terminal that says writable with room for less than what there is to write.
Test(output, a_stopped_terminal_blocks_nobody, .timeout = 20)
{
    struct bed b = {0};
    int master, slave;
    set_up(&b, 1);
    cr_assert_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
    output_destroy(b.output);
    static const struct output_ops ops = {on_credit, on_drained, on_broken};
    struct output_places to = {.out = slave, .err = b.err[1]};
    b.output = output_create(b.base, &to, 1, &b.style, &ops, &b);
    char line[500];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 200; i++) // nobody reads the master
        output_data(b.output, 0, 1, line, sizeof line);
    cr_assert_lt(b.credit[0], 200 * sizeof line);
    cr_assert_eq(fcntl(slave, F_GETFL) & O_NONBLOCK, 0); // the shell's stays as it is
    end(&b, 1);
    char piece[65536];
    while (b.drained == 0) {
        cr_assert_gt(read(master, piece, sizeof piece), 0);
        event_base_loop(b.base, EVLOOP_NONBLOCK);
    }
    cr_assert_eq(b.credit[0], 200 * sizeof line);
    close(master);
    close(slave);
    tear_down(&b);
}

Test(output, a_closed_reader_drops_output_and_gives_credit, .timeout = 20)
{
    struct bed b = {0};
    signal(SIGPIPE, SIG_IGN);
    set_up(&b, 1);
    close(b.out[0]);
    b.out[0] = -1;
    put(&b, 0, 1, "lost\n");
    put(&b, 0, 1, "lost too\n");
    end(&b, 1);
    cr_assert_eq(b.broken, 1);
    cr_assert_eq(b.credit[0], 14);
    cr_assert_eq(b.drained, 1);
    tear_down(&b);
}

Test(output, ranks_that_are_added_count_like_the_others, .timeout = 10)
{
    struct bed b = {0};
    set_up(&b, 1);
    output_add(b.output, 2);
    put(&b, 2, 1, "third\n");
    cr_assert_eq(b.credit[2], 6);
    for (uint32_t r = 0; r < 2; r++)
        for (unsigned stream = 1; stream <= 2; stream++)
            output_eof(b.output, r, stream);
    cr_assert(!output_is_drained(b.output));
    output_eof(b.output, 2, 1);
    output_eof(b.output, 2, 2);
    cr_assert(output_is_drained(b.output));
    tear_down(&b);
}

// Reads until `want` bytes are there, and drops them.
static void swallow(struct bed *b, size_t want)
{
    char piece[65536];
    for (size_t got = 0; got < want;) {
        ssize_t n = read(b->out[0], piece, sizeof piece);
        cr_assert_gt(n, 0);
        got += (size_t)n;
        event_base_loop(b->base, EVLOOP_NONBLOCK);
    }
}

Test(output, ranks_that_start_again_have_new_streams_and_no_old_credit, .timeout = 20)
{
    enum { BYTES = 1 << 20 };
    struct bed b = {0};
    set_up(&b, 2);
    char *block = calloc(1, BYTES);
    memset(block, 'x', BYTES);
    block[BYTES - 1] = '\n';
    output_data(b.output, 0, 1, block, BYTES);
    put(&b, 1, 1, "cut off");
    output_add(b.output, 1); // spawned
    cr_assert(!output_is_ended(b.output));
    output_again(b.output, 2);
    b.credit[0] = b.credit[1] = 0;
    put(&b, 0, 1, "again\n");
    swallow(&b, BYTES);
    cr_assert_eq(b.credit[0], strlen("again\n"));
    output_add(b.output, 1); // of the new attempt: number 2
    put(&b, 2, 1, "child\n");
    end(&b, 3);
    expect_read(b.out[0], "cut off\nagain\nchild\n");
    cr_assert_eq(b.credit[2], strlen("child\n"));
    cr_assert(output_is_ended(b.output));
    cr_assert_eq(b.drained, 1);
    free(block);
    tear_down(&b);
}

// A progress bar is a line without an end. As many as there are ranks are not kept for ever.
Test(output, unfinished_lines_are_bounded_all_together, .timeout = 20)
{
    enum { MOST = 60 << 20, REST = 9 << 20, SHORT = 1000 };
    struct bed b = {0};
    char *text = xmalloc(MOST);
    memset(text, '.', MOST);
    set_up(&b, 4);
    output_data(b.output, 0, 1, text, MOST);
    output_data(b.output, 1, 1, text, MOST);
    output_data(b.output, 2, 2, text, SHORT);
    cr_assert_eq(output_passed(b.output), 0);
    output_data(b.output, 2, 1, text, REST);
    cr_assert(output_waits(b.output)); // more than a pipe takes, and nobody reads it
    size_t passed = output_passed(b.output);
    cr_assert_gt(passed, 0);
    output_data(b.output, 3, 2, text, SHORT); // short lines are whole all the same
    cr_assert_eq(output_passed(b.output), passed);
    free(text);
    tear_down(&b);
}
