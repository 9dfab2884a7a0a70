// `musterd --lead -- muster run ...`: the agent of the leader's pod starts the launcher and
// sees it through, so that neither takes the other along.
//
//   RUNNING --exit--> LEAVING --no other launcher has ranks here--> over
//      ^  +--killed, crashed--> PAUSE --back-off--+
//      +------------------------------------------+
//   RUNNING --terminate--> ENDING (the launcher stops the job) --gone--> over
// What the launcher says by an exit code is the job's end, and musterd's own code; only one
// that was killed is started again. It finds the job as its predecessor left it, by its key:
// where the command is `muster run` itself, the pod's host name unless --job says another.
#ifndef MUSTER_AGENT_LEAD_H
#define MUSTER_AGENT_LEAD_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct event_base;
struct lead;
struct log;

enum {
    LEAD_PAUSE_FIRST_MS = 100, // before a launcher is started again; doubled each time
    LEAD_PAUSE_MAX_MS = 5000,
    LEAD_HEALTHY_MS = 60000, // who ran so long begins with the first pause again
    LEAD_CRASHES_MAX = 10,   // in a row, none healthy: musterd ends with 128 + signal
};

// What to do about a launcher that ended. Pure.
struct lead_tries {
    unsigned crashes; // in a row
};
// True: it is started again after *pause_ms. status: as from wait(2).
bool lead_again(struct lead_tries *t, int status, uint64_t ran_ms, uint32_t *pause_ms);

struct lead_conf {
    struct event_base *base;
    struct log *log;
    struct agent *agent;
    char *const *argv;                 // NULL-terminated; borrowed
    void (*done)(void *arg, int code); // it is over: once
    void *arg;
};

struct lead *lead_create(const struct lead_conf *conf);
// SIGTERM and its kin: passed on; the end follows. The second time: nothing is waited for.
void lead_terminate(struct lead *l, int signo);
void lead_destroy(struct lead *l); // NULL-safe; kills a launcher that still runs

#endif
