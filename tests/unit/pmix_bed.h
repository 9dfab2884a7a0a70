// A bed for muster-pmixd: some servers as fake pods on this machine, real ranks, and
// the agents' part (routing of fences and modex) played by the test.
#ifndef MUSTER_TESTS_PMIX_BED_H
#define MUSTER_TESTS_PMIX_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/strv.h"
#include "wire/coll.h"
#include "wire/frame.h"
#include "wire/namestore.h"

enum { BED_PODS = 2, BED_RANKS_MAX = 16 };

struct bed;
struct chan;
struct event;
struct event_base;

struct bed_rank {
    struct bed *bed;
    uint32_t rank;
    struct strv env; // from PMIX_READY
    pid_t pid;       // 0: not running
    bool gone;
    int status; // wait(2) status, when gone
    int exit_fd, out_fd;
    struct event *exited, *readable;
    struct buf out; // its stdout
    bool connected, finalized;
    bool killed; // by bed_kill_rank()
};

struct bed_pod {
    struct bed *bed;
    uint32_t index;
    pid_t pid; // of muster-pmixd
    char *dir; // owned, removed at the end
    struct chan *chan;
    bool ready, closed;
    char *error; // of PMIX_READY, owned
};

struct bed {
    struct event_base *base;
    char nspace[64];
    struct bed_pod pods[BED_PODS];
    uint32_t per_pod, size;
    struct bed_rank ranks[BED_RANKS_MAX];
    struct coll_table *colls;
    bool hold;       // keep parts of collectives back
    struct buf held; // frames; src is the pod
    size_t nheld;
    size_t modexes; // routed
    size_t logged;  // bytes of texts for stderr
    struct namestore *names;
    struct event *bound; // of the shortest lookup that waits
    uint32_t bound_pod, bound_s;
    uint64_t bound_id;
    bool aborted;
    uint32_t abort_rank;
    int32_t abort_status;
    char *abort_text; // owned
    bool timed_out;
};

// Starts the servers (pids of children of this process); no setup yet. Fails the test
// when that goes wrong.
struct bed *bed_create(uint32_t per_pod);
// Ends every process of the bed by its pid, removes the directories.
void bed_destroy(struct bed *b);

// Sends PMIX_SETUP to one pod: `nodes` are the names of the pods.
void bed_send_setup(struct bed *b, uint32_t self, char *const nodes[BED_PODS]);
// To all, with names "n0" and "n1"; waits for PMIX_READY without error.
void bed_setup(struct bed *b);
// Starts one rank, or all.
void bed_start(struct bed *b, uint32_t rank, char *const *argv);
void bed_start_all(struct bed *b, char *const *argv);

// Runs the loop until cond(b) holds; false when `ms` pass before.
bool bed_until(struct bed *b, bool (*cond)(const struct bed *b), int ms);
bool bed_all_ready(const struct bed *b);
bool bed_all_gone(const struct bed *b); // every rank that was started has ended
bool bed_aborted(const struct bed *b);

// Passes on what was kept back.
void bed_release(struct bed *b);
// SIGKILL to a rank, and what agent and launcher do then: collectives and modex with it
// fail.
void bed_kill_rank(struct bed *b, uint32_t rank);

// Closes the agent's end; true when the server has ended with code 0 within `ms`.
bool bed_server_ends(struct bed *b, uint32_t pod, int ms);

// A program of the build tree; NULL when it was not built.
char *bed_program(const char *name);

#endif
