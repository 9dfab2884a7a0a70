// The inside of a session, shared by the session*.c files and by nobody else.
#ifndef MUSTER_AGENT_SESSION_INTERNAL_H
#define MUSTER_AGENT_SESSION_INTERNAL_H

#include "agent/inner.h"
#include "agent/session.h"
#include "wire/branch.h"

struct attempt;
struct handoff_claim;

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
    uint32_t term;
    struct branch *branch; // NULL: no children
    struct inner inner;    // what the branch dials with
    struct running *attempts;
    Muster__Prepare *pending; // waits until older sessions have ended; NULL: none does
    struct frame pending_head;
    struct handoff_claim *claim; // to the pod's files; NULL: no ROLL came
    bool stopping;       // SIGTERM: the link is closed when nothing runs any more
    struct event *bound; // of GREETED and ORPHANED
    struct event *over;  // ends the session from the loop, outside of all callbacks
    char *address;
    bool client;  // says of itself that it only asks
    uint64_t ask; // GREETED: the question that is put to a launcher; 0: none
};

static inline struct log *session_log(const struct session *s)
{
    return agent_conf(s->agent)->log;
}

struct attempt *session_find_attempt(struct session *s, uint32_t number);
// Ends a session that nothing holds: no attempt, no link above, and no child that still
// has to hear BYE (else it would take itself for an orphan).
void session_over_when_idle(struct session *s);

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
