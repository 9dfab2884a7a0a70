// Does the roll in the run directory count? Judged by its beat, on the reader's own
// monotonic clock. Pure.
//
//   LOOKING --beat changed--> HELD      at the start: what lies there may be of an agent
//   LOOKING --3 beats' time--> OWN      that is long gone, so a change has to be seen
//   LOOKING --nothing there--> OWN
//   OWN     --beat changed--> HELD      also when it appears
//   HELD    --gone--> OWN               the job has ended
//   HELD    --no change for the lease--> OWN   agent killed, frozen, or without its launcher
// Time in which the reader did not run itself (frozen, starved) does not count.
#ifndef MUSTER_SIDECAR_LEASE_CLOCK_H
#define MUSTER_SIDECAR_LEASE_CLOCK_H

#include <stdbool.h>

#include "hostfile/roll_json.h"

enum lease_state { LEASE_LOOKING, LEASE_OWN, LEASE_HELD };

struct lease_clock {
    enum lease_state state;
    bool begun, any;       // looked before; the beat was there then
    struct roll_beat beat; // as it was seen last
    uint64_t since;        // the last change, or the begin; ms
    uint64_t looked;       // the last look
};

// One look at `now_ms`: beat NULL when there is none. Returns the state.
enum lease_state lease_clock_look(struct lease_clock *c, uint64_t now_ms,
                                  const struct roll_beat *beat, uint32_t lease_ms);
const char *lease_state_name(enum lease_state s);

#endif
