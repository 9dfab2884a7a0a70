// One launcher's (or inner agent's) hold on this agent, from greeting to end.
//
// States (session_fsm.h): GREETED (link up, no ATTACH yet; bounded; questions to a job are
// asked here) -> ATTACHED (vertex known, children dialed) -> ORPHANED (the link was lost, and
// did not come back within the link grace: ranks live on for the orphan grace, counted from the
// loss) or CLOSING (the link was closed in order, or the job took hold anew: ranks are killed)
// -> over, when its attempts are. An attempt is dropped when the next one is prepared. Frames
// from above are handled here when dst is this vertex (or TREE_ALL), and passed down; frames
// from below go up, but for collectives, which attempts merge, and modex requests, which take
// the shortest way.
#ifndef MUSTER_AGENT_SESSION_H
#define MUSTER_AGENT_SESSION_H

#include "agent/agent.h"
#include "wire/tree.h"

struct session;

// The link is given by session_own_link() before any of its callbacks come.
struct session *session_create(struct agent *a);
void session_own_link(struct session *s, struct link *link);
const struct link_ops *session_link_ops(void);      // arg: the session
struct link *session_link(const struct session *s); // NULL: it is down
void session_destroy(struct session *s);            // its attempts' keepers are killed
// Stop all attempts with their grace; the reason is reported up. When none is left, the
// link is closed in order.
void session_stop(struct session *s, const char *why);

// A job that lost this agent can come back over another link. Of two sessions of a job the
// one with the newer ATTACH (term, then generation) stays. The other one gives way: it lets
// its links go without a word, kills its ranks and ends; until then the newer one prepares
// nothing here, so that its READY is the proof.
bool session_is_of(const struct session *s,
                   const struct session *other); // the same job and launcher
// Negative: a is older, or a second one for the same vertex. 0: they can be there together
// (a group that lists the agent twice).
int session_compare(const struct session *a, const struct session *b);
void session_give_way(struct session *s);
// It gives way, or its launcher has gone, and not all of its ranks are gone yet.
bool session_is_leaving(const struct session *s);
// Its launcher is there and commands, or has left ranks that are not gone yet.
bool session_is_holding(const struct session *s);
// A session of the agent is over, or has no ranks any more.
void session_look_again(struct session *s);

// The launchers of a job are told apart by their incarnations; which of them commands, this
// agent's record says (agent/record.h, session_claim.c).
bool session_is_rival(const struct session *s,
                      const struct session *other); // same job, another launcher
// Another launcher commands now: ranks are killed, and the own launcher is told.
void session_depose(struct session *s);

// ---- for attempts -------------------------------------------------------------

struct agent *session_agent(struct session *s);
const struct tree *session_tree(const struct session *s);
uint32_t session_vertex(const struct session *s);
// What had to be done before it could have ranks here; NULL: nothing. For the user.
const char *session_note(const struct session *s);
// To the pod's files (handoff.h); NULL: no ROLL came.
struct handoff_claim *session_claim(const struct session *s);
// Is the pod its job's alone: no other job has ranks here, and it is no machine of a user's?
bool session_owns_pod(struct session *s);
// Own address as the other end sees it.
const char *session_local_address(const struct session *s);
// Its agent ends, and it with it.
bool session_is_stopping(const struct session *s);
// Up to the launcher; src is set to this vertex unless it is set already.
void session_up(struct session *s, const struct frame *f);
// To any vertex: down the own branch, up, or to this vertex itself.
void session_route(struct session *s, const struct frame *f);
// Result of a collective for one child of the tree (its index).
void session_to_child(struct session *s, uint32_t child, const struct frame *f);
// An attempt has ended and is gone after this call.
struct attempt;
void session_attempt_over(struct session *s, struct attempt *at);

#endif
