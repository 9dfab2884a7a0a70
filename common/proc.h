// Processes: find a program, start it, and end whole trees of them.
#ifndef MUSTER_COMMON_PROC_H
#define MUSTER_COMMON_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

// The path that execve(2) would need for `program` as execvp(3) finds it: as it is when
// it holds a slash (relative to dir), else searched in `path` (a PATH value; NULL: the
// default path). err->code is 127 (not found), 126 (not executable), or 125: this machine cannot
// look (a stale mount, no memory), another one may. Caller frees.
char *proc_resolve(const char *program, const char *path, const char *dir,
                   struct err *err);

// The path of the running program, NULL when /proc does not tell. Caller frees.
char *proc_self(void);
// The first of `places` (paths relative to the folder of this very program) that can be
// executed; NULL when none can. Caller frees.
char *proc_find_beside(const char *const *places, size_t n);

enum { PROC_FDS_MAX = 16 };

struct rlimit;

struct proc_fd {
    int from; // fd here
    int to;   // its number in the child
};

struct proc_spec {
    const char *path;
    char *const *argv;
    char *const *envp;
    const char *dir;           // NULL: as the parent's
    const struct proc_fd *fds; // what the child gets; 0 to 2 stay where not named here,
    size_t nfds;               // all others are closed; at most PROC_FDS_MAX
    bool own_session;          // setsid()
    bool own_group;            // setpgid(0, 0)
    int death_signal;          // PR_SET_PDEATHSIG; 0: none
    const struct rlimit *files; // RLIMIT_NOFILE; NULL: the parent's
};

// Fork and exec. Signals are reset and unblocked in the child. A failed exec is an
// error here (err->code as of proc_resolve), not an exit code. Returns the pid or -1.
pid_t proc_spawn(const struct proc_spec *spec, struct err *err);

// Pids of all descendants of `root` (without it), from /proc, but those in `keep` and what
// descends from them: at most `max` are stored; returns how many there are. Zombies are left
// out. 0 is a proof: where /proc cannot be read (EMFILE) it is 1 and nothing is stored.
size_t proc_descendants_but(pid_t root, const pid_t *keep, size_t nkeep, pid_t *pids,
                            size_t max);
// Send `sig` to every descendant of `root` but those in `keep` and their descendants.
// Returns how many there are, as proc_descendants_but does, also those that may not be signalled.
size_t proc_kill_but(pid_t root, int sig, const pid_t *keep, size_t nkeep);
// For texts: "PID (comm, state)", or "PID (comm, D in WCHAN)" where the kernel tells it, for
// each descendant as of proc_descendants_but, at most 16, then "and N more".
struct strv;
void proc_name_but(pid_t root, const pid_t *keep, size_t nkeep, struct strv *names);
// The command name of a process ("?" when it is gone), for texts.
void proc_comm(pid_t pid, char *out, size_t size);
// State letter of /proc/PID/stat ('D', 'Z', ...), 0 when it is gone.
char proc_state(pid_t pid);

// "exit code 3" or "signal 9 (SIGKILL)" for a wait(2) status. Caller frees.
char *proc_status_text(int status);
// Shell's number for a wait(2) status: the exit code, or 128+signal.
int proc_status_code(int status);

// fd helpers; both return -1 with errno on failure.
int proc_set_nonblock(int fd);
int proc_set_cloexec(int fd);

#endif
