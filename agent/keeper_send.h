// What a keeper says to its agent: one function a message.
#ifndef MUSTER_AGENT_KEEPER_SEND_H
#define MUSTER_AGENT_KEEPER_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/strv.h"
#include "wire/frame.h"

struct chan;
struct keeper_ranks;

// Where to, and job, term and attempt of what is sent.
struct keeper_send {
    struct chan *chan; // borrowed
    struct frame head;
};

// What the end of the ranks took.
struct keeper_proof {
    struct strv leftovers; // who outlived SIGKILL
    uint32_t took_ms;      // from STOP until nobody else was left
    uint32_t killed;       // processes that SIGTERM had not ended
};

// Those from the first-th on.
void keeper_send_started(const struct keeper_send *s, const struct keeper_ranks *ranks,
                         size_t first);
void keeper_send_failed(const struct keeper_send *s, const struct err *why);
// All their paths, or why they were not found (code, text of `why`).
void keeper_send_found(const struct keeper_send *s, uint32_t world,
                       const struct strv *paths, const struct err *why);
void keeper_send_output(const struct keeper_send *s, uint32_t rank, uint32_t stream,
                        const uint8_t *data, size_t len, bool eof);
void keeper_send_exited(const struct keeper_send *s, uint32_t rank, pid_t pid,
                        int status);
void keeper_send_stopped(const struct keeper_send *s, const struct keeper_proof *p);
// A rank took so many bytes of its stdin.
void keeper_send_taken(const struct keeper_send *s, uint32_t rank, uint32_t bytes);
void keeper_send_ping(const struct keeper_send *s);

#endif
