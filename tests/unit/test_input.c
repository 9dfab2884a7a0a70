// The window of stdin: how far it is read ahead of the ranks.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "launcher/input.h"

struct bed {
    struct event_base *base;
    struct input *input;
    int pipe[2];
    size_t sent;
    int ends;
};

static void on_send(void *arg, const void *data, size_t n, bool eof)
{
    struct bed *b = arg;
    b->sent += n;
    b->ends += eof ? 1 : 0;
}

static void set_up(struct bed *b, uint32_t who, uint32_t ranks)
{
    *b = (struct bed){.base = loop_create()};
    cr_assert_eq(pipe2(b->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    b->input = input_create(b->base, b->pipe[0], who, ranks, on_send, b);
}

static void tear_down(struct bed *b)
{
    input_destroy(b->input);
    loop_destroy(b->base);
    close(b->pipe[0]);
    close(b->pipe[1]);
}

// Fills the pipe and lets the loop take it, until nothing more is taken.
static void pump(struct bed *b)
{
    static const char zeros[65536];
    for (size_t before = b->sent + 1; before != b->sent;) {
        before = b->sent;
        ssize_t n = write(b->pipe[1], zeros, sizeof zeros);
        (void)n;
        for (int i = 0; i < 8; i++)
            event_base_loop(b->base, EVLOOP_NONBLOCK);
    }
}

Test(input, reads_one_window_ahead_of_its_rank, .timeout = 20)
{
    struct bed b;
    set_up(&b, 1 + 1, 2);
    pump(&b);
    cr_assert_eq(b.sent, INPUT_WINDOW);
    input_taken(b.input, 0, 1000); // not the one
    pump(&b);
    cr_assert_eq(b.sent, INPUT_WINDOW);
    input_taken(b.input, 1, 1000);
    pump(&b);
    cr_assert_eq(b.sent, INPUT_WINDOW + 1000);
    tear_down(&b);
}

Test(input, waits_for_the_slowest_until_it_is_gone, .timeout = 20)
{
    struct bed b;
    set_up(&b, INPUT_ALL, 2);
    pump(&b);
    input_taken(b.input, 0, INPUT_WINDOW);
    pump(&b);
    cr_assert_eq(b.sent, INPUT_WINDOW);
    input_rank_gone(b.input, 1);
    pump(&b);
    cr_assert_eq(b.sent, 2 * INPUT_WINDOW);
    input_rank_gone(b.input, 0);
    pump(&b);
    cr_assert_eq(b.sent, 2 * INPUT_WINDOW); // nobody is left
    tear_down(&b);
}

Test(input, passes_the_end_on_once, .timeout = 20)
{
    struct bed b;
    set_up(&b, INPUT_ALL, 1);
    cr_assert_eq(write(b.pipe[1], "abc", 3), 3);
    close(b.pipe[1]);
    b.pipe[1] = -1;
    while (b.ends == 0)
        event_base_loop(b.base, EVLOOP_ONCE);
    cr_assert_eq(b.sent, 3);
    input_taken(b.input, 0, 3);
    event_base_loop(b.base, EVLOOP_NONBLOCK);
    cr_assert_eq(b.ends, 1);
    tear_down(&b);
}
