// How long ranks can outlive the last word of them. Pure.
//
// Both ends of a link count from the last byte that they heard. A silent connection is
// broken after dead_ms; a link that is not back by then ends link_ms after that byte, but
// leaves at least GRACES_TRY_MS for a try. An agent whose launcher is gone begins to end its
// ranks orphan_ms after that byte, with SIGTERM for no longer than GRACES_TERM_MS: they have
// nobody left to work with. Its children's links end with its own, and count anew.
//
// The launcher heard of the agent at t. What it sent may still have come there until it gave
// the connection up, dead_ms later: the agent counts from there at the latest.
#ifndef MUSTER_WIRE_GRACES_H
#define MUSTER_WIRE_GRACES_H

#include <stdint.h>

enum {
    GRACES_TRY_MS = 1000,
    GRACES_TERM_MS = 2000,
    GRACES_MARGIN_MS = 1000, // for timers of a machine that is busy
};

struct graces {
    uint32_t dead_ms;   // link.h
    uint32_t link_ms;   // Attach.link_grace_ms
    uint32_t orphan_ms; // Attach.orphan_grace_ms
    uint32_t stop_ms;   // Prepare.grace_ms
};

// Of a connection that was lost at `now_ms`: when its link ends.
uint64_t graces_link_end(uint64_t now_ms, uint64_t heard_ms, uint32_t link_ms);
// Between SIGTERM and SIGKILL of an orphan.
uint32_t graces_term_ms(uint32_t stop_ms);
// Links look at silence each eighth of dead_ms, at both ends: part of the time below.
uint64_t graces_margin_ms(const struct graces *g);
// From the last byte that was heard of an agent until its ranks are gone for sure. below: so
// many levels of the tree lie between it and the link that was heard.
uint64_t graces_outlive_ms(const struct graces *g, unsigned below);

#endif
