// A model of launchers, agents and the links between them, around the real claim
// (wire/claim.h) and record (agent/record.h). Who acts next, and what is delivered next, is
// drawn at random from a seed.
//
// A link is two queues that lose what is in them when it breaks. An agent that restarts has
// lost its memory and its ranks. Sessions do what agent/session_claim.c does.
#ifndef MUSTER_TESTS_CLAIM_MODEL_H
#define MUSTER_TESTS_CLAIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/muster.pb-c.h"

struct claim;
struct records;

enum { AGENTS = 5, LAUNCHERS = 2, SESSIONS = 2 * LAUNCHERS, QUEUE = 64 };

enum kind { ATTACH, CLAIM, PREPARE, GO, STOP, RECORD, GRANT, DENY, READY, STOPPED };

struct message {
    enum kind kind;
    uint32_t term, attempt;
    Muster__Record *record; // RECORD, DENY
    uint32_t members;       // PREPARE: of the attempt, as bits
};

struct queue {
    struct message v[QUEUE];
    unsigned n;
};

struct run { // of an attempt on an agent, or by a launcher
    uint32_t life, term, attempt, members;
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
    uint32_t attempt;
};

struct model {
    unsigned seed;
    unsigned fault_rate; // of 1,000 steps
    uint32_t lives, incarnations;
    bool groups_differ, forgets;
    struct agent agents[AGENTS];
    struct launcher launchers[LAUNCHERS];
    unsigned takeovers, runs;
};

void claim_model_create(struct model *m, unsigned seed);
void claim_model_destroy(struct model *m);
void claim_model_step(struct model *m, bool faults);
// A new launcher in place of one that is GONE.
void claim_model_launch(struct model *m, struct launcher *l);
// RUNNING or DYING.
bool claim_model_has_ranks(const struct session *s);

#endif
