// The queue of a link's frames: written, acknowledged, written again.
#include <criterion/criterion.h>
#include <string.h>

#include "common/buf.h"
#include "wire/replay.h"

static void add(struct replay *r, uint64_t seq, size_t len)
{
    uint8_t body[256];
    memset(body, (int)seq, sizeof body);
    replay_add(r, &(struct frame){.kind = seq > 0 ? FRAME_GO : FRAME_PING,
                                  .seq = seq,
                                  .body = body,
                                  .len = len});
}

static void add_many(struct replay *r, uint64_t first, uint64_t last)
{
    for (uint64_t seq = first; seq <= last; seq++)
        add(r, seq, (size_t)(seq % 100));
}

// Writes everything, at most `piece` bytes at a time, behind `wire`.
static void write_all(struct replay *r, struct buf *wire, size_t piece)
{
    size_t len;
    for (const void *p = replay_next(r, &len); len > 0; p = replay_next(r, &len)) {
        len = len < piece ? len : piece;
        buf_append(wire, p, len);
        replay_wrote(r, len);
    }
}

// The numbers of all frames in `wire`, in order; 0 is one without a number.
static size_t numbers(struct buf *wire, uint64_t *out, size_t max)
{
    struct frame f;
    size_t used, n = 0;
    while (n < max && frame_decode(wire, &f, &used, NULL) == 1) {
        for (size_t i = 0; i < f.len; i++)
            cr_assert_eq(f.body[i], (uint8_t)f.seq);
        out[n++] = f.seq;
        buf_take(wire, used);
    }
    cr_assert_eq(buf_len(wire), 0);
    return n;
}

static void expect(struct replay *r, const uint64_t *want, size_t n)
{
    BUF_AUTO wire = BUF_INIT;
    uint64_t got[1000];
    write_all(r, &wire, 7);
    cr_assert_eq(numbers(&wire, got, 1000), n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(got[i], want[i]);
}

Test(replay, holds_nothing_that_is_written_unless_asked_to)
{
    struct replay *r = replay_create();
    add_many(r, 1, 50);
    BUF_AUTO wire = BUF_INIT;
    write_all(r, &wire, 33);
    cr_assert_eq(replay_held(r), 0);
    replay_destroy(r);
}

Test(replay, writes_again_what_the_peer_has_not_received)
{
    static const uint64_t want[] = {0, 4, 5, 6};
    struct replay *r = replay_create();
    replay_keep(r);
    add_many(r, 1, 5);
    BUF_AUTO wire = BUF_INIT;
    write_all(r, &wire, 1000);
    add(r, 6, 10); // not written when the connection goes
    struct frame hello = {.kind = FRAME_RESUMED};
    cr_assert_eq(replay_rewind(r, 3, &hello, NULL), 0);
    expect(r, want, 4);
    cr_assert_eq(replay_ack(r, 6, NULL), 0);
    cr_assert_eq(replay_held(r), 0);
    replay_destroy(r);
}

Test(replay, does_not_write_the_links_own_frames_again)
{
    static const uint64_t want[] = {1, 2};
    struct replay *r = replay_create();
    replay_keep(r);
    add(r, 0, 0);
    add(r, 1, 3);
    add(r, 0, 0);
    add(r, 2, 3);
    add(r, 0, 0);
    BUF_AUTO wire = BUF_INIT;
    write_all(r, &wire, 5);
    cr_assert_eq(replay_rewind(r, 0, NULL, NULL), 0);
    expect(r, want, 2);
    replay_destroy(r);
}

Test(replay, a_half_written_frame_is_written_whole_again)
{
    static const uint64_t want[] = {2, 3};
    struct replay *r = replay_create();
    size_t len;
    replay_keep(r);
    add_many(r, 1, 3);
    replay_next(r, &len);
    replay_wrote(r, FRAME_HEADER + 1 + 20); // the first one, and a part of the second
    cr_assert_eq(replay_rewind(r, 1, NULL, NULL), 0);
    expect(r, want, 2);
    replay_destroy(r);
}

Test(replay, memory_is_what_is_not_acknowledged)
{
    struct replay *r = replay_create();
    BUF_AUTO wire = BUF_INIT;
    replay_keep(r);
    for (uint64_t seq = 1; seq <= 10000; seq++) {
        add(r, seq, 200);
        add(r, 0, 0);
        write_all(r, &wire, 4096);
        buf_clear(&wire);
        if (seq > 8)
            cr_assert_eq(replay_ack(r, seq - 8, NULL), 0);
        cr_assert_leq(replay_held(r), 9 * (2 * FRAME_HEADER + 200));
    }
    replay_destroy(r);
}

Test(replay, acknowledgements_come_late_twice_and_not_for_the_future)
{
    struct replay *r = replay_create();
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO wire = BUF_INIT;
    replay_keep(r);
    add_many(r, 1, 4);
    write_all(r, &wire, 1000);
    cr_assert_eq(replay_ack(r, 3, NULL), 0);
    cr_assert_eq(replay_ack(r, 1, NULL), 0);
    cr_assert_eq(replay_ack(r, 3, NULL), 0);
    cr_assert_eq(replay_held(r), FRAME_HEADER + 4);
    cr_assert_eq(replay_ack(r, 5, &err), -1);
    cr_assert_not_null(strstr(err_text(&err), "received frame 5, and there are 4"));
    cr_assert_eq(replay_rewind(r, 5, NULL, NULL), -1);
    cr_assert_eq(replay_rewind(r, 2, NULL, &err), -1); // dropped already
    cr_assert_not_null(strstr(err_text(&err), "asks for frame 3"));
    replay_destroy(r);
}

Test(replay, whole_frames_move_to_another_queue)
{
    static const uint64_t want[] = {7, 1, 2};
    struct replay *to = replay_create(), *from = replay_create();
    add(to, 7, 9);
    add_many(from, 1, 2);
    cr_assert(replay_move(to, from));
    cr_assert(replay_move(to, from));
    cr_assert_not(replay_move(to, from));
    cr_assert_eq(replay_held(from), 0);
    expect(to, want, 3);
    replay_destroy(to);
    replay_destroy(from);
}

Test(replay, any_loss_at_any_byte_gives_every_frame_once)
{
    struct replay *r = replay_create();
    BUF_AUTO in = BUF_INIT;
    struct frame f;
    size_t used, len;
    uint64_t received = 0, sent = 0;
    replay_keep(r);
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned i = 0; i < round % 4; i++) {
            sent++;
            add(r, sent, (size_t)(sent * 7 % 50));
        }
        const void *p = replay_next(r, &len);
        len = len * (round * 37 % 101) / 100; // cut somewhere
        buf_append(&in, p, len);
        replay_wrote(r, len);
        while (frame_decode(&in, &f, &used, NULL) == 1) {
            cr_assert_eq(f.seq, ++received);
            buf_take(&in, used);
        }
        if (round % 3 == 0)
            cr_assert_eq(replay_ack(r, received, NULL), 0);
        if (round % 5 == 0) { // what was on its way is gone
            buf_clear(&in);
            cr_assert_eq(replay_rewind(r, received, NULL, NULL), 0);
        }
    }
    cr_assert_geq(received, sent - 10);
    cr_assert_gt(received, 600);
    replay_destroy(r);
}
