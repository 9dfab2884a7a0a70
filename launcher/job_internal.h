// The inside of a job, shared by the job_*.c files and by nobody else.
#ifndef MUSTER_LAUNCHER_JOB_INTERNAL_H
#define MUSTER_LAUNCHER_JOB_INTERNAL_H

#include <sys/types.h>
#include <utlist.h>

#include "hostfile/roll.h"
#include "hostfile/source_status.h"
#include "launcher/events.h"
#include "launcher/finding.h"
#include "launcher/group.h"
#include "launcher/inspection.h"
#include "launcher/job.h"
#include "launcher/job_attempt.h"
#include "launcher/job_fsm.h"
#include "launcher/job_stats.h"
#include "launcher/map.h"
#include "launcher/output.h"
#include "launcher/policy.h"
#include "launcher/progress.h"
#include "launcher/verdict.h"
#include "wire/branch.h"
#include "wire/coll.h"
#include "wire/coll_route.h"
#include "wire/namestore.h"
#include "wire/via.h"

struct job {
    struct job_conf conf;
    const struct opts *opts;
    enum job_state state;
    uint32_t term; // in its frames
    unsigned interrupts;
    struct verdict verdict;
    uint64_t id;
    char *key;                 // of the job
    struct job_claim *claim;   // NULL: nobody else can know the key
    struct job_record *record; // the same

    struct source *source;
    struct follow *follow; // of a hostfile, instead of the source
    struct watch *watch;
    struct job_upkeep *upkeep; // of the roll, from connect on
    bool warned;               // the source's warnings were told
    bool local;                // one member, this machine, reached over a socketpair
    pid_t local_agent;
    Muster__Via *via_msg; // until it is the Attach's; NULL: agents listen
    struct via *via;      // made of it
    struct group group;   // their states, as seen from here
    struct roll *roll;    // from connect on
    Muster__Attach *attach;
    struct tree tree;
    struct branch *branch;

    struct map map;
    struct job_attempt *at; // the current one, from connect on
    struct policy *policy;
    struct job_spares *spares;
    struct job_inspect *inspect;
    struct job_pairs *pairs;
    struct job_roles *roles; // NULL: the job is no role of a run with several
    struct strv history;     // why attempts before it ended, a text each
    char *reason;      // the last of these causes; NULL: this is the first attempt
    int reason_code;   // its exit code
    bool began;        // GO was sent, for some attempt
    bool timed;        // --timeout counts
    uint64_t timed_ms; // since then
    bool crowded;      // was told: spawned ranks found no free slots
    bool gave_up;      // output that was not written in time
    uint64_t run_ms;   // when all ranks of this attempt had been started; 0: not yet
    uint64_t
        round_ms; // since when MUSTER and INSPECT, in turn, look for members; 0: they do not
    uint64_t pause_ms;      // MUSTER: not before
    uint64_t last_words_ms; // MUSTER: what old ranks still print is taken until then
    struct output *output;
    struct input *input;  // NULL: nobody gets stdin, or no rank runs yet
    char *lost_output;    // why not all of it reached the user; NULL: nothing is known
    struct strv findings; // of pods, that were told
    uint64_t stop_ms;     // when STOP was sent
    uint64_t printed;     // bytes of output that came
    uint64_t printed_before; // in the attempts before
    uint64_t drained; // of it and of output_passed(), when the drain's timer was armed

    struct event *wait_timer;   // bound of the states before RUN, and of MUSTER
    struct event *stop_timer;   // bound of stop, drain and close
    struct event *run_timer;    // --timeout
    struct event *unread;       // the job goes on though nobody reads its output; NULL
    struct event *tick;         // progress
    struct event *patience;     // DISCOVER: with members that have no address
    struct event *muster_timer; // looks whether the next attempt can begin
    struct progress *progress;
    uint64_t begun_ms, state_ms; // when the job began, and its state
    struct job_stats *stats;
    struct httpd *pages; // NULL: no --status
};

// A frame of this attempt from the launcher to `dst`.
struct frame job_frame(const struct job *j, uint16_t kind, uint32_t dst);
void job_send(struct job *j, uint16_t kind, uint32_t dst, const ProtobufCMessage *msg);
// Feed the state machine; enters the next state.
void job_event(struct job *j, enum job_event ev);
// Record a cause and feed it, where it counts (verdict.h).
void job_fail(struct job *j, enum verdict_strength strength, int code, const char *fmt,
              ...) __attribute__((format(printf, 4, 5)));

// job_stop.c: STOP, and the proofs.
void job_stop_begin(struct job *j);
// Somebody is gone: nobody can make the last checkpoint any more.
void job_stop_without_pre_stop(struct job *j);
void job_stop_now(struct job *j);  // SIGKILL
void job_stop_over(struct job *j); // its bound
void job_stop_proof(struct job *j, uint32_t vertex, const Muster__Stopped *s);
char *job_stop_text(const struct job *j); // what it waits for; caller frees
// Ranks are being stopped for a cause, and the true one may still be on its way.
bool job_settling(const struct job *j);
// All proofs are there, or given up: another attempt follows, or the end.
void job_stopped(struct job *j);

// job_discover.c: the way to a whole group.
int job_discover_start(struct job *j, struct err *err);

// job_roll.c: the roll, kept up from connect on.
void job_roll_start(struct job *j);
void job_roll_end(struct job *j);
// The source's newest list.
void job_roll_update(struct job *j, const struct members *now);
// Ask the source again soon, for that member first of all: it was lost.
void job_roll_recheck(struct job *j, uint32_t vertex);
void job_roll_source(const struct job *j, struct source_status *out);
// To all agents that are attached; before each PREPARE, and after each change.
void job_roll_push(struct job *j);
// The map's positions become the roll's.
int job_roll_seat(struct job *j, struct err *err);
// Connections, where a member's agent is proven to be: lost for now, back, lost for good
// (any number of them).
void job_roll_broken(struct job *j, uint32_t vertex);
void job_roll_resumed(struct job *j, uint32_t vertex);
bool job_roll_is_broken(const struct job *j, uint32_t member);
void job_roll_lost(struct job *j);

// job_connect.c: the way to attached members.
// As its source says, or its agent (CPUs).
uint32_t job_slots(const struct job *j, uint32_t member);
void job_connect_start(struct job *j);
// The other roles have their members, too: CONNECT goes on if it is that what it waits for.
void job_connected(struct job *j);
// Go on to CLAIM without those that are not here: they are dialed as if they had been lost.
void job_connect_late(struct job *j, const Muster__Progress *known);
// A job that begins cannot do without those who are not dialed any more: their first is the cause.
void job_connect_refused(struct job *j);
// --wait is over: a job that only inspects goes on with those that are here. False: it cannot.
bool job_connect_over(struct job *j);
// How a link ended: that to the agent at a vertex.
struct job_loss {
    const char *why;
    bool gone;          // the agent has surely ended, and its ranks with it
    bool hung_up;       // its end of the connection was closed, as when it ends
    uint64_t silent_ms; // for how long it had said nothing
};

void job_member_lost(struct job *j, uint32_t vertex, const struct job_loss *loss);
// code: exit code that the reason stands for, 0: Muster's own.
void job_member_missing(struct job *j, uint32_t vertex, const char *why, int code,
                        bool final);
void job_member_attached(struct job *j, uint32_t vertex, const Muster__Hello *hello);
// Starts another agent of this machine, which has ended: for the only member there is.
void job_connect_local(struct job *j);

// job_claim.c: who commands. Without a stable key nothing is claimed, and CLAIM passes by.
// The key and all that depends on it.
void job_claim_name(struct job *j);
void job_claim_create(struct job *j); // once the members are known
void job_claim_destroy(struct job *j);
// A job that another launcher had goes on without members that do not come (MUSTER waits for
// them). How long they have, since the state's begin, until they are taken for lost; 0: the
// job has no key that another launcher could know.
uint32_t job_claim_patience_ms(const struct job *j);
// CONNECT: it may still show that the job is one that goes on, so that it can do without some.
bool job_claim_may_go_on(const struct job *j);
// CLAIM.
void job_claim_begin(struct job *j);
// RECORD, GRANT, DENY.
void job_claim_frame(struct job *j, const struct frame *f);
void job_claim_lost(struct job *j, uint32_t vertex);
char *job_claim_text(const struct job *j); // what it waits for; caller frees
// CONNECT, CLAIM: it waits for members that others may be able to reach (claim_lacks()); not for
// this one, which stays where it is.
bool job_claim_lacks(const struct job *j);
bool job_claim_pins(const struct job *j, uint32_t member);
// The same, while nobody tells of the job: who is dialed is changed one at a time.
bool job_claim_is_blind(const struct job *j);
// This launcher commands: no agent has said that another one does.
bool job_claim_holds(const struct job *j);
// MUSTER: a member that has come needs a higher term, which is asked for.
void job_claim_renew(struct job *j);
// Why the next attempt may not begin though its members are there; NULL: it may. Caller frees.
char *job_claim_veto(const struct job *j);
// Ranks of the last attempt may run until then on who is not in the group; 0: they do not.
uint64_t job_claim_fence(const struct job *j);
// PREPARE; the member has the attempt in its records; may it get GO? It has.
void job_claim_prepared(struct job *j);
void job_claim_ready(struct job *j, uint32_t vertex);
bool job_claim_may_go(const struct job *j);
void job_claim_gone(struct job *j);
// Members (UINT32_MAX: nobody) of seats that are recorded.
void job_claim_find(const struct job *j, Muster__RecordSeat *const *seats, uint32_t n,
                    uint32_t *found);
// The job closes: agents are told how it ended, where it did and is ours.
void job_claim_tell_end(struct job *j);

// job_record.c: what a launcher leaves to the next one.
void job_record_create(struct job *j);
void job_record_destroy(struct job *j);
// For a PREPARE; NULL: nothing is remembered. Free with msg_free.
Muster__Progress *job_record_progress(struct job *j);
// What the next launcher has to know has changed: agents are told soon.
void job_record_changed(struct job *j);
void job_record_tell(struct job *j); // at once
// All seats of a record, spares behind the positions, and their members as job_claim_find() has
// them; room for n_positions + n_spares each.
void job_record_seats(const struct job *j, const Muster__Progress *p,
                      Muster__RecordSeat **seats, uint32_t *found);
// What is known of members that are not here: from the record.
void job_record_fill(struct job *j, const Muster__Progress *p);
// The job goes on from there; false: its budget does not allow that, which is the verdict.
bool job_record_inherit(struct job *j, const Muster__Record *last);

// job_wait.c: bounds of the states before RUN and of MUSTER, and what is waited for there.
void job_wait_create(struct job *j);
void job_wait_destroy(struct job *j);
void job_wait_begin(struct job *j); // the state's bound begins, and the progress line
void job_wait_end(struct job *j);   // nothing is waited for: the terminal is the ranks'
// "train-2 (10.0.0.5), train-3 (10.0.0.6)": whose proof is missing. Caller frees.
char *job_unproven_text(const struct job *j);
// What the job waits for, in words; NULL: for the end of its ranks. Caller frees.
char *job_wait_text(const struct job *j);

// job_muster.c: from a stopped attempt to the next one.
void job_muster_create(struct job *j); // its timer; the job frees it
// Is one due after the cause that stopped this one? Says why not in the verdict.
bool job_muster_is_due(struct job *j);
void job_muster_begin(struct job *j);
// MUSTER or INSPECT: no rank runs, and members are gathered for the next attempt.
bool job_muster_gathers(const struct job *j);
// Something that MUSTER waits for may be there, or that GO waits for in PREPARE. Looks
// later, from the loop.
void job_muster_check(struct job *j);
char *job_muster_text(const struct job *j); // what it waits for; caller frees
// What is left of --replace-timeout, which counts from the begin of the round.
uint32_t job_muster_bound_ms(const struct job *j);
void job_muster_over(struct job *j); // that
// The next attempt takes the place of the current one.
void job_muster_next(struct job *j);
// All positions have a member for the next attempt, and nothing else holds it back.
bool job_muster_is_whole(const struct job *j);
// At the end: what became of the attempts. Nothing without a restart.
void job_muster_tell(struct job *j);

// job_spares.c: members without a position, and who takes one.
int job_spares_create(struct job *j, struct err *err);
void job_spares_destroy(struct job *j);
void job_spares_start(struct job *j); // the group is whole
// Map the ranks to the members but the last --spares ones. m: of the whole group.
int job_spares_map(const struct job *j, const struct map_member *m, struct map *map,
                   struct err *err);
void job_spares_greeted(struct job *j, uint32_t member);
// It has failed: avoided for a while. lost: it has left its position, too, and has to be
// replaced.
void job_spares_failed(struct job *j, uint32_t member);
void job_spares_lost(struct job *j, uint32_t member, const char *why);
// It is not fit for ranks: as lost, until another agent comes.
void job_spares_unfit(struct job *j, uint32_t member, const char *why);
// A process there outlived SIGKILL: avoided, and another pod is asked for where
// --replace-hook can.
void job_spares_blame(struct job *j, uint32_t member, const char *process);
// MUSTER begins, with the verdict on the attempt before.
void job_spares_begin(struct job *j);
// What is held against a member, for the launcher that comes after this one.
struct job_standing {
    char address[64];  // there: another address is another pod's
    uint32_t avoid_ms; // still; 0: nothing
    bool lost;         // it has left its position, even if it is back
};
void job_spares_standing(const struct job *j, uint32_t member, struct job_standing *s);
void job_spares_restore(struct job *j, uint32_t member, const struct job_standing *s);
// A job is taken over: it is not here. `found`: who sat at each position, UINT32_MAX: nobody
// of the group.
void job_spares_absent(struct job *j, uint32_t member);
void job_spares_inherit(struct job *j, const uint32_t *found);
// The member of each position in the next attempt; returns how many are still vacant.
uint32_t job_spares_plan(const struct job *j, uint32_t *seats);
// Map and roll become so; pods known by addresses alone that crossed go back to where they were.
void job_spares_take(struct job *j);
// An attempt has its positions: its pods are known again.
void job_spares_seated(struct job *j);

// job_inspect.c: who may have ranks in the attempt that comes.
void job_inspect_create(struct job *j);
void job_inspect_destroy(struct job *j);
void job_inspect_start(struct job *j); // the group is whole
void job_inspect_begin(struct job *j); // INSPECT
uint32_t job_inspect_bound_ms(const struct job *j);
void job_inspect_over(struct job *j);        // its bound
char *job_inspect_text(const struct job *j); // what it waits for; caller frees
void job_inspect_verdict(struct job *j, const struct frame *f);
// Its agent is lost; has greeted, and is (not) the one that it was.
void job_inspect_lost(struct job *j, uint32_t member, const char *why);
void job_inspect_greeted(struct job *j, uint32_t member, bool same);
// An attempt will be prepared; a launcher before had one with these agents.
void job_inspect_prepared(struct job *j);
// Its agent was inspected, or did not have to be, when the last attempt was prepared.
bool job_inspect_is_known(const struct job *j, uint32_t member);
void job_inspect_inherit(struct job *j, const Muster__Progress *p);
// Who is to have a position and was not inspected as it should be; NULL: nobody. Caller frees.
char *job_inspect_owed(const struct job *j);
// The same for ranks that are spawned while an attempt runs.
bool job_inspect_owes(const struct job *j, uint32_t member);
const char *job_inspect_state(const struct job *j, uint32_t member);
uint64_t job_inspect_count(const struct job *j, enum finding_verdict v); // so far
// For job_pairs.c: the number of a further INSPECT; members that may be paired, and how fast
// their copies are (GB/s, 0: not known); one is at fault; the phase may be over.
uint32_t job_inspect_number(struct job *j);
bool job_inspect_may_pair(const struct job *j, uint32_t member);
double job_inspect_rate(const struct job *j, uint32_t member);
void job_inspect_blamed(struct job *j, uint32_t member, const char *why);
void job_inspect_look(struct job *j);

// job_pairs.c: INSPECT's second half, between two members each.
void job_pairs_create(struct job *j);
void job_pairs_destroy(struct job *j);
void job_pairs_reset(struct job *j); // another phase: what was found is forgotten
// False: there is nothing to do, or it was done. Else job_inspect_look() follows, at the end.
bool job_pairs_begin(struct job *j);
bool job_pairs_run(const struct job *j);
uint32_t job_pairs_bound_ms(const struct job *j); // of each step
void job_pairs_over(struct job *j);               // that
void job_pairs_count(const struct job *j, size_t *over, size_t *all);
// False: it is none of a pair.
bool job_pairs_verdict(struct job *j, uint32_t member, const Muster__Verdict *m);
void job_pairs_lost(struct job *j, uint32_t member);
// Adds `pairs` and `blamed`.
void job_pairs_report(const struct job *j, json_t *report);

// job_roles.c: this job as one role of several.
void job_roles_create(struct job *j);
void job_roles_destroy(struct job *j);
// An attempt failed, and another one begins. (A launcher that takes its role over does so with all roles'.)
void job_roles_again(struct job *j);
// Something of this role may be new.
void job_roles_tell(struct job *j);
// CONNECT goes on when all roles have their members.
bool job_roles_are_awaited(const struct job *j);
// The launcher of all is gone: this one ends, and the job may be taken over.
bool job_roles_are_orphaned(const struct job *j);
// What the ranks are told of roles, and right before GO what has changed since.
void job_roles_put(struct job *j, Muster__Prepare *p);
void job_roles_start(struct job *j);

// job_return.c: members that were lost, and come back.
// Dial a lost member again, wherever its link hangs; until it is there.
void job_return_want(struct job *j, uint32_t vertex);
// It could not be reached. final: whose child it is does not try again by itself.
void job_return_missing(struct job *j, uint32_t vertex, bool final);
// Ranks of the vertex may outlive its loss, as long as its agent keeps them (graces.h).
// heard_ms: when the last byte came over the link that ended, that of `top`.
void job_return_fence(struct job *j, uint32_t vertex, uint32_t top, uint64_t heard_ms);
// For so long ranks outlive the last word of an agent, wherever in the tree it is.
uint64_t job_return_outlive_ms(const struct job *j);
// The latest of these times; 0: none is known. GO has to wait for it.
uint64_t job_return_fences(const struct job *j);
// Another member is at the vertex from now on: it is dialed there, and who was there is let go.
void job_return_exchange(struct job *j, uint32_t vertex);
// A member is attached again: it learns what it has missed. same: it is the agent that was
// lost, which kills its old ranks before it prepares new ones.
void job_return_greet(struct job *j, uint32_t vertex, bool same);
// Its address on the roll is another one than before.
void job_member_moved(struct job *j, uint32_t member);

// job_exchange.c: who takes the place of a lost inner vertex of the tree.
void job_exchange(struct job *j);
// The same in a claim that is blind: one of them, and when each has had its turn, from the beginning.
void job_exchange_seek(struct job *j);
// Somebody is lost, or could not be reached: it may be due.
void job_exchange_check(struct job *j);
// MUSTER would exchange somebody.
bool job_exchange_waits(const struct job *j);

// job_up.c: frames from below.
void job_up_frame(void *arg, const struct frame *f);
// The same text about many members is told once.
void job_tell_once(struct job *j, uint32_t member, const char *text);
// What its agent says of it, as the cause.
void job_member_failed(struct job *j, uint32_t vertex, enum verdict_strength strength,
                       int code, const char *why);
void job_rank_gone(struct job *j, uint32_t rank, const char *why);

// job_coll.c: collectives, of which the launcher is the root.
void job_coll_start(struct job *j);
void job_coll_part(struct job *j, const struct frame *f);

// job_names.c: what ranks publish and look up.
void job_names_start(struct job *j);
void job_names_end(struct job_attempt *at);
void job_names_request(struct job *j, const struct frame *f);

// job_notify.c: events among ranks, and those that the job raises itself.
void job_notify_relay(struct job *j, const struct frame *f);
void job_notify_ended(struct job *j, uint32_t number, Muster__Notify__Ended how);

// job_spawn.c: worlds that ranks of this attempt start.
void job_spawn_request(struct job *j, const struct frame *f);
void job_spawn_ready(struct job *j, uint32_t vertex, const Muster__Ready *m);
// The vertex hosts no rank and has come late: it gets the worlds that are there.
void job_spawn_resend(struct job *j, uint32_t vertex);
// One of its ranks was started.
void job_spawn_started(struct job *j, const struct job_world *world);
// It cannot be prepared: whoever wanted it gets an error and the job goes on, unless
// others would wait for that world in vain. code: exit code that the reason stands for.
void job_spawn_failed(struct job *j, uint32_t number, int code, const char *why);
const char *job_spawn_nspace(const struct job_world *w);
uint32_t job_spawn_number(const struct job_world *w);
// Its ranks were not meant to use PMIx.
bool job_spawn_is_plain(const struct job_world *w);
// Number of rank 0 of the namespace, of whatever world; -1: there is no such rank.
long job_rank_number(const struct job *j, const char *nspace, uint32_t rank);
void job_spawn_end(struct job_attempt *at);

// job_input.c: stdin, once the ranks run.
void job_input_start(struct job *j);

// job_output.c: what ranks print.
void job_output_start(struct job *j);
// Not all of it reached the user: a good end is none then.
void job_output_lost(struct job *j, const char *why);

// job_ask.c: questions and orders of people.
void job_ask(struct job *j, const struct frame *f);
// Pages over HTTP, where --status wants them.
int job_pages_start(struct job *j, struct err *err);

// job_status.c, job_metrics.c: how the job is, as JSON and as metrics.
void job_status(const struct job *j, struct buf *out);
void job_metrics(const struct job *j, struct buf *out);

// local_agent.c: musterd of this machine.
// Its path, NULL with err. Caller frees.
char *local_agent_path(struct err *err);
// As a child, for a run without a group, and for a member that is this machine.
pid_t local_agent_start(int *fd, struct err *err);
// Its link is closed: it ends by itself, or is killed after some seconds.
void local_agent_end(pid_t pid);

#endif
