// One attempt: one start of all the ranks, with a number and PMIx namespaces of its own.
//
// A job has one current attempt from CONNECT on, at first one of number 0 that nobody will
// see. It stays current, stopped, while the next one is mustered and inspected (MUSTER,
// INSPECT), so that the last output is still taken; entering PREPARE puts the next one in its
// place. What outlives attempts is the job's: group, roll, map, links, output.
#ifndef MUSTER_LAUNCHER_JOB_ATTEMPT_H
#define MUSTER_LAUNCHER_JOB_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/map.h"
#include "launcher/verdict.h"
#include "wire/muster.pb-c.h"

struct coll_route;
struct coll_table;
struct job;
struct job_names_bound;
struct job_world;
struct namestore;

// By number in the attempt (muster.proto, Prepare).
struct job_rank {
    const struct job_world *world; // NULL: the first
    uint32_t rank;                 // in its world
    uint32_t member;
    uint32_t pid;
    bool started, exited;
    bool idle_exit; // ended with 0 and never called PMIx_Init
};

// What a member is to the attempt.
struct job_seat {
    bool hosts; // ranks of any world
    bool ready, started, stopped;
    bool leaves;       // its agent ends, or the next attempt does without it
    bool replaced;     // by an operator: this agent is not taken again
    bool moved;        // it was lost, and has another address since
    bool hung_up;      // when it was lost, its end of the connection was closed
    bool exchanged;    // after it: it went to a lost one's vertex
    bool fetched;      // it is this machine, and another agent was started here
    uint64_t fence_ms; // until then ranks may still run there; 0: they do not
    bool back; // the agent that was lost is here again: its READY says that they do not
};

struct job_attempt {
    uint32_t number;          // from 1; 0: none was prepared yet
    char *nspace;             // of the first world
    Muster__Prepare *prepare; // of the first world; NULL: not sent yet
    struct coll_route *route;
    struct coll_table *colls;
    uint64_t groups; // constructed so far: the last one's number
    struct namestore *names;
    struct job_names_bound *name_bounds; // utlist
    struct job_rank *ranks;
    uint32_t nranks; // of all worlds
    uint32_t exited;
    struct job_seat *seats;    // by member
    uint32_t ready, started;   // positions of the first world that said so
    uint32_t hosts, stopped;   // members with ranks of any world; that said so
    struct job_world **worlds; // spawned: number i + 1
    size_t nworlds;
    bool pmix_used;
    bool went;     // GO was sent
    bool unproven; // some of its ranks may still run
    uint64_t
        pre_stop_until_ms; // 0: no pre-stop signal was sent, or it is not waited for
    char *libpmix; // version that ranks were the first to bring; NULL: none so far
    uint32_t libpmix_from; // vertex of these
    uint32_t master_port;
};

// Nothing is sent yet. The group has to be whole.
struct job_attempt *job_attempt_create(const struct job *j, uint32_t number);
void job_attempt_destroy(struct job_attempt *at); // NULL-safe

// ---- of the current attempt ---------------------------------------------------

// Ranks may run: from PREPARE to RUN.
bool job_attempt_lives(const struct job *j);
// What ranks that were never started will not print.
void job_end_unstarted(struct job *j);
struct job_seat *job_seat(const struct job *j, uint32_t vertex);
// Ranks more, placed by `map`, numbered on from nranks. NULL: of the first world.
void job_add_ranks(struct job *j, const struct job_world *world, const struct map *map);
// The member, the rank, as texts name them.
struct verdict_rank job_rank_text(struct job *j, uint32_t rank);
// The namespace of a rank.
const char *job_rank_nspace(const struct job *j, uint32_t number);
// Position of the first world hosted by a vertex, NULL when it hosts none.
const struct map_position *job_position(const struct job *j, uint32_t vertex);
// Is it a rank, and does it run at this vertex? What comes from the network may lie.
bool job_rank_is_at(const struct job *j, uint32_t vertex, uint32_t number);

#endif
