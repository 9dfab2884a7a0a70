// The inside of an attempt, shared by the attempt*.c files and by nobody else.
#ifndef MUSTER_AGENT_ATTEMPT_INTERNAL_H
#define MUSTER_AGENT_ATTEMPT_INTERNAL_H

#include "agent/attempt.h"
#include "agent/attempt_fsm.h"
#include "common/strv.h"
#include "wire/chan.h"
#include "wire/coll.h"
#include "wire/coll_route.h"

// What a local rank said over PMIx or PMI-1, and an exit that waits for its last word.
struct attempt_rank {
    bool connected, finalized, gone;
    Muster__Exited *exited; // owned; NULL: none waits
};

// One world of the attempt (muster.proto, Prepare): the first, or one that was spawned.
struct attempt_world {
    struct attempt *attempt;
    Muster__Prepare *prepare;         // owned
    const Muster__Position *position; // NULL: none of its ranks are here
    uint32_t index;                   // of the position
    char **programs;                  // owned, path of each app; NULL: not found yet
    Muster__PmixReady *pmix_ready;    // owned
    struct attempt_rank *ranks;       // owned, by local rank
    struct pmi1 *pmi1; // of its ranks here; NULL: none, or not started yet
    bool begun;        // READY or FAILED is due, or was sent:
    bool said;
};

struct attempt {
    struct session *session;
    uint64_t job;
    uint32_t term, number;
    struct attempt_world **worlds; // owned, by number; there is a first one always
    size_t nworlds;
    enum attempt_state state;

    struct chan *keeper;
    struct agent_child *keeper_child; // NULL when it was reaped
    pid_t keeper_pid;
    unsigned strays_left; // rounds of looking for what a killed keeper left

    struct chan *pmixd;
    int64_t oom_kills;      // of this container when the first ranks were started
    struct strv shm_before; // what was in /dev/shm then (shm_files.h)
    bool started_ranks;
    bool failed_here;     // a rank here did not end well, or may not have
    char *tmpdir;         // of the PMIx server and the ranks' sessions; NULL: none
    char *role_file;      // that its ranks read; NULL: the job has no roles
    uint16_t master_port; // of the first world's rank 0, when that is here; else 0
    bool pmix_used;       // a rank has called MPI_Init, over PMIx or PMI-1
    int pmi_sock;         // takes the ranks' PMI sockets to the keeper; -1: no keeper

    struct handoff_wait *roll_wait; // for the pod's files; NULL: not any more
    char *roll_note;                // what READY says of them; NULL: nothing

    struct modex *modex; // that other pods ask of our ranks

    struct coll_route *route;
    struct coll_table *colls;

    bool letting_go;     // ends when the keeper is gone
    char *why;           // stopped without being asked: reported with STOPPED
    struct event *bound; // of the state, and of letting go
    struct event *timer; // strays, exits that wait
    struct event *over;
};

struct frame attempt_header(const struct attempt *at, uint16_t kind);
void attempt_up(struct attempt *at, uint16_t kind, const ProtobufCMessage *msg);
void attempt_event(struct attempt *at, enum attempt_event ev);
// FAILED goes up for the whole attempt; nothing runs.
void attempt_fail(struct attempt *at, const struct err *err);
// FAILED goes up, the state stays. World 0 is the whole attempt.
void attempt_report_failure(struct attempt *at, uint32_t world, const struct err *err);
// STOPPED, with what the keeper says and what this agent finds; once.
void attempt_report_stopped(struct attempt *at, const Muster__Stopped *proof);
// How long the state may last; armed by each change of it.
void attempt_arm_bound(struct attempt *at);
// A local rank has called MPI_Init or MPI_Finalize.
// libpmix: the version that the rank uses; NULL or "": none, or not known.
void attempt_rank_said(struct attempt *at, struct attempt_rank *r, bool finalized,
                       const char *libpmix);

// attempt_world.c: the worlds.
// Takes over `prepare`. -1 with err when it makes no sense; nothing has begun yet.
int attempt_world_add(struct attempt *at, Muster__Prepare *prepare, struct err *err);
// Starts preparing the newest world; READY or FAILED goes up later.
void attempt_world_begin(struct attempt *at);
// READY, once nothing is missing; after each thing that may have been the last.
void attempt_world_check(struct attempt *at, struct attempt_world *w);
// What READY of the newest world waits for, as a text; caller frees.
char *attempt_world_missing(const struct attempt *at);
// The keeper's answer.
void attempt_world_found(struct attempt *at, const Muster__LookupDone *m);
void attempt_world_free(struct attempt_world *w);
// By namespace, NULL when there is none.
struct attempt_world *attempt_world_find(const struct attempt *at, const char *nspace);
// A local rank by its rank in a world, and by its number; NULL when it is not here.
struct attempt_rank *attempt_world_rank(const struct attempt_world *w, uint32_t rank);
struct attempt_rank *attempt_rank(const struct attempt *at, uint32_t number);
// The world that has the number, NULL when there is none.
struct attempt_world *attempt_world_of(const struct attempt *at, uint32_t number);

// attempt_keeper.c: the keeper process and its frames.
int attempt_keeper_start(struct attempt *at, struct err *err);
// Where are they? attempt_world_found has the answer.
void attempt_keeper_look_up(struct attempt *at, const Muster__Lookup *m);
void attempt_keeper_spawn(struct attempt *at, struct attempt_world *w,
                          const Muster__Go *go);
void attempt_keeper_stop(struct attempt *at, const Muster__Stop *stop);
void attempt_keeper_flush_exits(struct attempt *at);
void attempt_keeper_let_go(struct attempt *at);
// It did not answer in time: SIGKILL for it and for all that it leaves.
void attempt_keeper_kill(struct attempt *at);
// One round of ending what a keeper that is gone has left; true: another one is due.
bool attempt_keeper_hunt(struct attempt *at, struct strv *leftovers);

// attempt_proof.c: what is left of an attempt beside its processes.
// Removes its temporary files; a text for each thing that is left, or stands in the way of
// the next attempt. Once none of its ranks is left.
void attempt_proof(struct attempt *at, struct strv *findings);
// Only removes them; NULL: nobody is told.
void attempt_proof_clear(struct attempt *at, struct strv *findings);

// attempt_pmix.c: muster-pmixd and collectives.
void attempt_pmix_start(struct attempt *at, int fd);
void attempt_pmix_setup(struct attempt *at, const struct attempt_world *w);
void attempt_pmix_frame(struct attempt *at, const struct frame *f); // from above
// The first world, or a further one.
int attempt_coll_add(struct attempt *at, const Muster__Prepare *p, struct err *err);
// A local rank has ended: what others ask of it is answered.
void attempt_pmix_rank_gone(struct attempt *at, const struct attempt_world *w,
                            const struct attempt_rank *r);
// muster-pmixd is gone, and the keeper lives: it ended by itself.
void attempt_pmix_lost(struct attempt *at);

// attempt_roll.c: the pod's files, which READY of the first world waits for.
void attempt_roll_wait(struct attempt *at);
void attempt_roll_end(struct attempt *at);

// attempt_roles.c: the file that tells the ranks where other roles are.
// -1 with err where it cannot be written. Nothing to do without roles.
int attempt_roles_begin(struct attempt *at, struct err *err);
void attempt_roles_frame(struct attempt *at, const struct frame *f);

// attempt_pmi1.c: PMI-1 of a world's ranks here.
// Their sockets go to the keeper, right before the SPAWN of the same ranks.
int attempt_pmi1_start(struct attempt *at, struct attempt_world *w, struct err *err);
void attempt_pmi1_result(struct attempt *at, const Muster__Coll *result);
// An answer to what a PMI-1 rank has asked for? Not then: muster-pmixd has asked.
bool attempt_pmi1_answer(struct attempt *at, const struct frame *f);

#endif
