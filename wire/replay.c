// Frames that are not written, or not acknowledged.
#include "wire/replay.h"

#include <stdlib.h>

#include "common/mem.h"

struct replay {
    struct buf bytes; // whole frames, the first at the front
    size_t written;   // of these bytes
    uint64_t last;    // number of the last frame added
    uint64_t acked;
    bool keep;
};

struct replay *replay_create(void)
{
    return xcalloc(1, sizeof(struct replay));
}

void replay_destroy(struct replay *r)
{
    if (r == NULL)
        return;
    buf_free(&r->bytes);
    free(r);
}

void replay_keep(struct replay *r)
{
    r->keep = true;
}

void replay_add(struct replay *r, const struct frame *f)
{
    frame_encode(&r->bytes, f);
    if (f->seq > 0)
        r->last = f->seq;
}

void replay_add_encoded(struct replay *r, const void *p, size_t n)
{
    buf_append(&r->bytes, p, n);
}

// The frame that begins `at` bytes behind the front.
static bool frame_at(const struct replay *r, size_t at, struct frame *f, size_t *used)
{
    const struct buf rest = {
        .mem = r->bytes.mem, .start = r->bytes.start + at, .end = r->bytes.end};
    return at < buf_len(&r->bytes) && frame_decode(&rest, f, used, NULL) == 1;
}

bool replay_move(struct replay *to, struct replay *from)
{
    struct frame f;
    size_t used = 0;
    if (!frame_at(from, from->written, &f, &used))
        return false;
    replay_add_encoded(to, buf_data(&from->bytes) + from->written, used);
    replay_wrote(from, used);
    return true;
}

const void *replay_next(const struct replay *r, size_t *len)
{
    *len = replay_unwritten(r);
    return buf_data(&r->bytes) + r->written;
}

// Drops the frames at the front that nobody will ask for again.
static void trim(struct replay *r)
{
    struct frame f;
    size_t used = 0;
    while (r->written > 0 && frame_at(r, 0, &f, &used) && used <= r->written &&
           (!r->keep || f.seq == 0 || f.seq <= r->acked)) {
        buf_take(&r->bytes, used);
        r->written -= used;
    }
}

void replay_wrote(struct replay *r, size_t n)
{
    r->written += n;
    trim(r);
}

size_t replay_unwritten(const struct replay *r)
{
    return buf_len(&r->bytes) - r->written;
}

size_t replay_held(const struct replay *r)
{
    return buf_len(&r->bytes);
}

int replay_ack(struct replay *r, uint64_t seq, struct err *err)
{
    if (seq > r->last) {
        err_set(err, "the peer has received frame %llu, and there are %llu",
                (unsigned long long)seq, (unsigned long long)r->last);
        return -1;
    }
    if (seq > r->acked) {
        r->acked = seq;
        trim(r);
    }
    return 0;
}

int replay_rewind(struct replay *r, uint64_t seq, const struct frame *first,
                  struct err *err)
{
    if (seq < r->acked) {
        err_set(err, "the peer asks for frame %llu, and it has acknowledged %llu",
                (unsigned long long)seq + 1, (unsigned long long)r->acked);
        return -1;
    }
    if (replay_ack(r, seq, err) < 0)
        return -1;
    struct buf old = r->bytes;
    struct frame f;
    size_t used = 0;
    r->bytes = (struct buf)BUF_INIT;
    r->written = 0;
    if (first != NULL)
        frame_encode(&r->bytes, first);
    while (frame_decode(&old, &f, &used, NULL) == 1) {
        if (f.seq > seq)
            buf_append(&r->bytes, buf_data(&old), used);
        buf_take(&old, used);
    }
    buf_free(&old);
    return 0;
}
