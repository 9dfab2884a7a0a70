// A model of launchers, agents and the links between them, around the real claim
// (wire/claim.h) and record (agent/record.h). Who acts next, and what is delivered next, is
// drawn at random from a seed.
//
// A link is two queues that lose what is in them when it breaks. An agent that restarts has
// lost its memory and its ranks. Sessions do what agent/session_claim.c does, launchers what
// job_claim.c, job_muster.c and job_up.c do: members without a position are spares, a launcher
// that is late goes on with those that are there, and each state's wait has a bound.
// Fences are times in which agents must have ended their ranks, and an older launcher must have
// missed them; here they are over when that is so.
#ifndef MUSTER_TESTS_CLAIM_MODEL_H
#define MUSTER_TESTS_CLAIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/muster.pb-c.h"

struct claim;
struct records;

enum { AGENTS = 5, LAUNCHERS = 2, SESSIONS = 2 * LAUNCHERS, QUEUE = 64 };

enum {
    POSITIONS = 3,     // or one less: with two, two attempts fit beside each other
    WAIT = 400,        // turns of a launcher in one phase: then it ends with a reason
    READY_BOUND = 100, // the same for READYING and STOPPING: the attempt has failed
};

enum kind {
    ATTACH,
    CLAIM,
    ACCOUNT,
    PREPARE,
    GO,
    STOP,
    RECORD, // down: asks for it
    GRANT,
    DENY,
    READY,
    STOPPED
};

struct message {
    enum kind kind;
    uint32_t term, attempt;
    Muster__Record *record; // RECORD, DENY
    uint32_t seats;         // PREPARE: members with a position, as bits
};

struct queue {
    struct message v[QUEUE];
    unsigned n;
};

struct run { // of an attempt on an agent, or by a launcher
    uint32_t life, term, attempt, seats;
};

enum ranks { NONE, PREPARED, RUNNING, DYING };

// A launcher's hold on an agent.
struct session {
    bool there, linked, granted, grant_due;
    uint32_t life, term;
    enum ranks ranks;
    struct run run;
    bool stop_due;          // STOPPED, when the ranks are gone
    uint32_t stop_attempt;  // of which
    struct message prepare; // waits until other ranks are gone
    bool prepare_due;
};

struct agent {
    uint32_t incarnation;
    struct records *records;
    struct session
        sessions[SESSIONS]; // a launcher can have an old one beside its new one
};

enum phase { LOOK, GATHER, READYING, GOING, STOPPING, GONE };

struct launcher {
    enum phase phase;
    uint32_t life, members;
    struct claim *claim;
    bool linked[AGENTS]; // as it sees it
    struct queue down[AGENTS], up[AGENTS];
    uint32_t ready, stopped; // bits
    uint32_t attempt, seats;
    uint32_t away;  // bits: cannot be reached for now
    uint32_t fence; // bits: ranks may still run there
    bool late;      // who is not there is not waited for
    unsigned turns; // in this phase
};

struct model {
    unsigned seed;
    unsigned fault_rate; // of 1,000 steps
    unsigned positions;
    uint32_t lives, incarnations;
    bool groups_differ, forgets;
    bool partial;  // launchers can be late
    uint32_t dead; // bits: agents that are out of reach for good
    struct agent agents[AGENTS];
    struct launcher launchers[LAUNCHERS];
    unsigned takeovers, runs, given_up;
};

void claim_model_create(struct model *m, unsigned seed);
void claim_model_destroy(struct model *m);
void claim_model_step(struct model *m, bool faults);
// A new launcher in place of one that is GONE.
void claim_model_launch(struct model *m, struct launcher *l);
// All that is on its way to and from these agents is lost, and they cannot be reached again.
void claim_model_kill(struct model *m, uint32_t agents);
// RUNNING or DYING.
bool claim_model_has_ranks(const struct session *s);

#endif
