// The inside of a session, shared by the session*.c files and by nobody else.
#ifndef MUSTER_AGENT_SESSION_INTERNAL_H
#define MUSTER_AGENT_SESSION_INTERNAL_H

#include "agent/inner.h"
#include "agent/session.h"
#include "agent/session_fsm.h"
#include "wire/branch.h"

struct attempt;
struct handoff_claim;
struct inspect_order;

enum { SESSION_ATTACH_MS = 10000 }; // from the greeting, or a question, to ATTACH

struct running {
    struct attempt *attempt;
    struct running *prev, *next;
};

struct session {
    struct agent *agent;
    enum session_state state;
    struct link *link; // NULL when it is down
    uint32_t vertex;
    struct tree tree;
    Muster__Attach *attach;
    uint64_t job;
    uint32_t term;         // that the launcher has claimed; 0: it only looks so far
    bool granted;          // it commands here: attempts are its
    bool grant_due;        // GRANT waits until the ranks of others are gone
    uint64_t stale;        // frames that were dropped
    struct branch *branch; // NULL: no children
    struct inner inner;    // what the branch dials with
    struct running *attempts;
    Muster__Prepare **pending; // worlds of one attempt that wait until the pod is free
    size_t npending;
    struct frame pending_head;        // of their PREPAREs
    Muster__Inspect *inspect_due;     // waits until ranks of before have ended; NULL
    struct inspect_order *inspection; // under way; NULL: none is
    struct handoff_claim *claim;      // to the pod's files; NULL: no ROLL came
    bool stopping;       // SIGTERM: the link is closed when nothing runs any more
    struct event *bound; // of GREETED and ORPHANED
    struct event *over;  // ends the session from the loop, outside of all callbacks
    char *address;
    bool doubted;   // its launcher was asked whether it lives (session_beside.c)
    bool displaced; // it did not answer, and its ranks are being killed
    char *note;     // for the launcher: whose ranks had to go first; NULL: nobody's
    struct event *doubt; // the answer's bound
    char *taken_by;      // where the launcher is that wants its place
    bool client;         // says of itself that it only asks
    uint64_t ask;        // GREETED: the question that is put to a launcher; 0: none
};

static inline struct log *session_log(const struct session *s)
{
    return agent_conf(s->agent)->log;
}

struct attempt *session_find_attempt(struct session *s, uint32_t number);
void session_add_attempt(struct session *s, struct attempt *at);
// Has an attempt ranks here? It may also only be a vertex of the tree.
bool session_has_ranks(const struct session *s);
// Ends a session that nothing holds: no attempt, no link above, and no child that still
// has to hear BYE (else it would take itself for an orphan).
void session_over_when_idle(struct session *s);

// Kills its ranks; the session goes on while its link does.
void session_end_ranks(struct session *s, const char *why);
void session_up_msg(struct session *s, uint16_t kind, const ProtobufCMessage *msg);
// About one attempt.
void session_up_attempt_msg(struct session *s, uint16_t kind, uint32_t attempt,
                            const ProtobufCMessage *msg);
// Of a launcher that does not command here, or of another job: counted, told once.
void session_drop_stale(struct session *s, const struct frame *f);

// session_claim.c: who commands.
// After ATTACH: RECORD goes up, and the answer to the claim that the ATTACH is.
void session_claim_attached(struct session *s);
// CLAIM, RECORD, DONE, ACCOUNT; false: it is another frame.
bool session_claim_frame(struct session *s, const struct frame *f);
// CLAIM, with the term that holds from now on for the launcher's frames.
void session_claim_raise(struct session *s, uint32_t term);
// PREPARE brings what is to remember.
void session_claim_prepare(struct session *s, const Muster__Prepare *m);
// GRANT, once it may be sent.
void session_claim_look_again(struct session *s);

bool session_is_named(
    const struct session *s); // its job has a key that others may know
void session_say_denied(struct session *s);

// session_place.c: ranks come to the pod once it is free.
void session_prepare(struct session *s, const struct frame *f);
// Are ranks of it this vertex's?
bool session_hosts(const struct session *s, const Muster__Prepare *m);
// A PREPARE waits, which may have its turn now.
bool session_place_waits(const struct session *s);
void session_place_look_again(struct session *s);
// It is not wanted any more: whatever it is, or that of this attempt.
void session_place_forget(struct session *s);
void session_place_stopped(struct session *s, uint32_t attempt);

// session_beside.c: other jobs' ranks on this agent.
// Ask the launchers of other jobs with ranks here whether they live.
void session_doubt_others(struct session *s);
// Not all of them have answered, or have ended their ranks.
bool session_waits_for_others(struct session *s);
void session_alive(struct session *s);      // the launcher has answered
void session_doubt_over(struct session *s); // it has not, or its link is down

// session_inspect.c: checks of this pod's machine.
void session_inspect(struct session *s, const struct frame *f);
void session_inspect_look_again(struct session *s);
void session_inspect_cancel(struct session *s);
// Those of other jobs, as ranks of this one are prepared; inspect_is_ending() until they are over.
void session_inspect_end_others(struct session *s);

// session_children.c: the vertices below.
void session_dial_children(struct session *s);
// A vertex of the tree is dialed anew: by us, when it is a child of ours.
void session_reattach(struct session *s, const struct frame *f);

// session_ask.c: questions to a job, from who dialled and will not ATTACH.
// The question goes up to the launcher of a job that holds the agent; without one it is
// answered here. Each gives the session the time for one more.
void session_ask(struct session *s, const struct frame *f);
// The launcher's answer to a question that went up from this vertex.
void session_answer(struct session *s, const struct frame *f);

#endif
