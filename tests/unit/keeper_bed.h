// A keeper in a forked child, and the agent's end of its socket, for tests.
#ifndef MUSTER_TESTS_KEEPER_BED_H
#define MUSTER_TESTS_KEEPER_BED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "wire/frame.h"

enum { BED_RANKS = 8, BED_WAIT_MS = 20000 };

struct bed_rank {
    pid_t pid;
    bool exited;
    int status;
    struct buf out[3];   // by stream; [0] stays empty
    uint64_t granted[3]; // credit given so far
    bool eof[3];
};

struct bed {
    int fd;
    int pmixd_fd; // the agent's end of the PMIx server's socket; -1: none
    pid_t keeper;
    bool auto_credit; // give back what came at once
    struct bed_rank rank[BED_RANKS];
    struct buf in;
    struct frame last; // the last frame without its body
    uint32_t failed_code;
    char *failed_text; // of FAILED; owned
    size_t leftovers;  // of STOPPED, as the next two
    uint32_t took_ms, killed;
    bool closed;      // the keeper closed its end
    bool broke_rules; // more than the credit, after eof, exited twice, ...
};

struct bed_spawn {
    const char *path; // NULL: /bin/sh -c script
    const char *script;
    const char *wdir;
    char *const *env;     // common, NULL-terminated; NULL: PATH only
    const char *rank_env; // one entry for the rank rank_env_of
    uint32_t rank_env_of;
    uint32_t first, ranks, credit; // numbers first, first + 1, ...
};

void bed_start(struct bed *b, const char *pmixd);
void bed_spawn(struct bed *b, const struct bed_spawn *s);
void bed_signal(struct bed *b, uint32_t number);
void bed_stop(struct bed *b, uint32_t grace_ms);
// With a pre-stop signal.
void bed_pre_stop(struct bed *b, int signo, uint32_t ms, uint32_t grace_ms);
void bed_credit(struct bed *b, uint32_t rank, uint32_t stream, uint32_t bytes);
// A raw frame with this body.
void bed_send(struct bed *b, uint16_t kind, const void *body, size_t len);

// Takes frames until one of `kind` came: true; false when the keeper closes, or after
// BED_WAIT_MS.
bool bed_until(struct bed *b, uint16_t kind);
// Takes one frame of any kind.
bool bed_take(struct bed *b);
// Takes frames until the stream's output contains `text`.
bool bed_until_text(struct bed *b, uint32_t rank, uint32_t stream, const char *text);
bool bed_until_eof(struct bed *b, uint32_t rank, uint32_t stream);
bool bed_until_exited(struct bed *b, uint32_t rank);
// The stream's output so far, NUL-terminated; valid until the next call.
const char *bed_text(struct bed *b, uint32_t rank, uint32_t stream);
// The i-th number in what rank 0 printed on stdout.
pid_t bed_number(struct bed *b, int i);

// Closes the agent's end, waits for the keeper: its exit status. Frees all.
int bed_end(struct bed *b);
// Waits until no process has this pid, or only a zombie: false after BED_WAIT_MS.
bool bed_gone(pid_t pid);

#endif
