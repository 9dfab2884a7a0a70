// The agent of a pod: what its sessions and attempts share.
//
// Ownership: the agent owns its sessions, a session its attempts, an attempt its keeper
// process and its two sockets (keeper, muster-pmixd). Nothing here outlives the loop.
#ifndef MUSTER_AGENT_AGENT_H
#define MUSTER_AGENT_AGENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/strv.h"
#include "wire/link.h"

struct agent;
struct agent_child;
struct event_base;
struct handoff;
struct inspect;
struct keep;
struct keyring;
struct log;
struct master_port;
struct records;
struct session;
struct warm;

struct agent_conf {
    struct event_base *base;
    struct log *log;
    const struct keyring *keys; // borrowed; NULL with --stdio
    const Muster__Hello *hello; // borrowed
    char *const *environ;       // of the container: base of the ranks' environment
    bool once;                  // --stdio: the loop ends with the first session
    const char *run_dir;        // shared with a sidecar (handoff.h); NULL: none
    struct keep *keep;          // borrowed: files that the agent keeps; NULL: none
    bool standby;               // keep a keeper and a PMIx server ready (warm.h)
};

struct agent *agent_create(const struct agent_conf *conf);
// Ends all ranks at once, waits (bounded) for the keepers.
void agent_destroy(struct agent *a); // NULL-safe
// Serve a launcher (or an inner agent) that dials.
int agent_listen(struct agent *a, const struct sockaddr *addr, socklen_t len,
                 struct err *err);
// Serve one launcher over these fds.
void agent_serve_fds(struct agent *a, int in, int out);
// A signal of that name: stop all ranks with their grace, then break the loop.
void agent_terminate(struct agent *a, const char *name);

// ---- for sessions and attempts ------------------------------------------------

const struct agent_conf *agent_conf(const struct agent *a);
struct master_port *agent_master_port(struct agent *a);
// Path of muster-pmixd, NULL when it is not installed.
const char *agent_pmixd(const struct agent *a);
struct warm *agent_warm(struct agent *a);
struct records *agent_records(struct agent *a); // of jobs
struct handoff *agent_handoff(struct agent *a);
struct inspect *agent_inspect(struct agent *a);
// Tell when a child ends; the entry is gone after the call. `gone` comes from the loop.
typedef void (*agent_child_fn)(void *arg, int status);
struct agent_child *agent_watch_child(struct agent *a, pid_t pid, agent_child_fn gone,
                                      void *arg);
// From now on tell another, or nobody (NULL). NULL-safe.
void agent_tell_child(struct agent_child *c, agent_child_fn gone, void *arg);
// SIGKILL whoever is below the agent and not below a keeper that it knows: what a
// killed keeper left. Returns how many were signalled.
size_t agent_kill_strays(struct agent *a);
// Adds a text for each of them that is left.
void agent_name_strays(const struct agent *a, struct strv *names);
// Others of its job give way to this session; false when it is older than one of them.
bool agent_take_over(struct agent *a, struct session *s);
// Its launcher commands the job now: sessions of other launchers end their ranks.
void agent_depose_others(struct agent *a, const struct session *s);
// Has another session of its job, of whatever launcher, still to end its ranks?
bool agent_is_leaving(const struct agent *a, const struct session *s);
// Each of its sessions in turn, until `fn` returns false.
typedef bool (*agent_session_fn)(void *arg, struct session *s);
void agent_each_session(struct agent *a, agent_session_fn fn, void *arg);
// Ranks of a session that was to end them are gone: others may wait for that.
void agent_look_again(struct agent *a);
// Does a launcher command ranks here, or is it about to?
bool agent_is_held(const struct agent *a);
// A session is over (called by the session itself, last).
void agent_session_over(struct agent *a, struct session *s);

#endif
