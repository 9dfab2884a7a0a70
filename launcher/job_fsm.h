// The states of a job, as a table. Pure.
//
//   DISCOVER --found--> CONNECT --connected--> CLAIM --claimed--> INSPECT --inspected--> PREPARE
//   PREPARE --ready--> START --started--> RUN
//   RUN --ended--> STOP --stopped--> DRAIN --drained--> CLOSE --closed--> DONE
//   STOP, CLAIM --again--> MUSTER --mustered--> INSPECT --inspected--> PREPARE (of the next
//   attempt; out of CLAIM that of a launcher before)
//   INSPECT --again--> MUSTER: a position has no member that is fit
// A cause (a failure, a signal, a time-out) leads from DISCOVER, CONNECT and CLAIM to CLOSE,
// and from PREPARE, START and RUN to STOP: there ranks may exist, and each agent has to
// prove that none is left. In MUSTER and INSPECT there are none: a cause leads to DRAIN, as
// output of the attempt before may still be on its way. Whose job it is not (it is done, or another
// launcher's) leaves from wherever it is to CLOSE, and touches nothing.
#ifndef MUSTER_LAUNCHER_JOB_FSM_H
#define MUSTER_LAUNCHER_JOB_FSM_H

enum job_state {
    JOB_DISCOVER, // a source looks for the members
    JOB_CONNECT,  // links are dialed and attached
    JOB_CLAIM,    // agents say who commands the job, and grant it
    JOB_MUSTER, // no rank runs; the positions' members are gathered for the next attempt
    JOB_INSPECT, // members that --check names are looked at; no rank runs
    JOB_PREPARE, // agents resolve the program and register the ranks
    JOB_START,   // GO was sent, ranks are forked
    JOB_RUN,     // all ranks were started
    JOB_STOP,    // STOP was sent, waiting for the proofs
    JOB_DRAIN,   // all ranks are gone, their output is still being written
    JOB_CLOSE,   // BYE was sent
    JOB_DONE,
    JOB_STATES,
};

enum job_event {
    JOB_EV_FOUND,
    JOB_EV_CONNECTED,
    JOB_EV_CLAIMED,
    JOB_EV_LEAVE, // the job is done already, or another launcher has it
    JOB_EV_READY,
    JOB_EV_STARTED,
    JOB_EV_ENDED,
    JOB_EV_CAUSE,
    JOB_EV_STOPPED, // and no attempt follows
    JOB_EV_AGAIN,   // stopped, or taken over, and another attempt follows; or: not yet
    JOB_EV_MUSTERED,
    JOB_EV_INSPECTED,
    JOB_EV_DRAINED,
    JOB_EV_CLOSED,
    JOB_EVENTS,
};

// The state after `ev`; the same state when the event means nothing there (a late
// answer).
enum job_state job_fsm_next(enum job_state s, enum job_event ev);
const char *job_state_name(enum job_state s);
const char *job_event_name(enum job_event ev);

#endif
