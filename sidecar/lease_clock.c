// Judging a beat.
#include "sidecar/lease_clock.h"

#include <string.h>

enum { PROVE_MS = 3 * ROLL_BEAT_MS };

static bool is_same(const struct roll_beat *a, const struct roll_beat *b)
{
    return strcmp(a->id, b->id) == 0 && a->generation == b->generation &&
           a->count == b->count;
}

// The reader looks many times in a lease: what is longer was not its doing.
static void leave_out_pauses(struct lease_clock *c, uint64_t now, uint32_t lease_ms)
{
    uint64_t pause = now - c->looked;
    if (pause > lease_ms / 2)
        c->since += pause;
    c->looked = now;
}

static enum lease_state judge(const struct lease_clock *c, bool changed, uint64_t now,
                              uint32_t lease_ms)
{
    uint64_t quiet = now - c->since;
    if (!c->any)
        return LEASE_OWN;
    if (changed)
        return LEASE_HELD;
    switch (c->state) {
    case LEASE_LOOKING: return quiet < PROVE_MS ? LEASE_LOOKING : LEASE_OWN;
    case LEASE_HELD: return quiet < lease_ms ? LEASE_HELD : LEASE_OWN;
    default: return LEASE_OWN;
    }
}

enum lease_state lease_clock_look(struct lease_clock *c, uint64_t now_ms,
                                  const struct roll_beat *beat, uint32_t lease_ms)
{
    bool first = !c->begun;
    bool changed = !first && beat != NULL && (!c->any || !is_same(beat, &c->beat));
    if (first) {
        c->since = c->looked = now_ms;
        c->begun = true;
    }
    leave_out_pauses(c, now_ms, lease_ms);
    c->any = beat != NULL;
    if (beat != NULL)
        c->beat = *beat;
    if (changed)
        c->since = now_ms;
    c->state = judge(c, changed, now_ms, lease_ms);
    return c->state;
}

const char *lease_state_name(enum lease_state s)
{
    static const char *const names[] = {"looking", "own source", "held"};
    return names[s];
}
