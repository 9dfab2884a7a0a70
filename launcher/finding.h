// What a check found: a judgement of how it ended and what it printed. Pure.
//
// A check prints one JSON object and ends with the exit code that goes with its verdict:
//   {"check": "cpu", "verdict": "pass" | "fail" | "could-not-run" | "not-here", "why": "...", "seconds": 1.2, ...}
// 0, 1, 2, 3. `not-here`: the machine has nothing of what it checks, which does not count.
// `check` and `verdict` have to be there, all else is evidence. What is not so says nothing of
// the machine: it could not run, and nobody is shut out for it. A machine fails, too, when a
// check does not end in its time, leaves a process that outlives SIGKILL, or dies of a signal
// that broken hardware raises (SIGBUS, SIGSEGV, SIGILL, SIGFPE).
#ifndef MUSTER_LAUNCHER_FINDING_H
#define MUSTER_LAUNCHER_FINDING_H

#include <jansson.h>
#include <stdint.h>

#include "wire/muster.pb-c.h"

// Ascending: of several the highest counts.
enum finding_verdict {
    FINDING_NOT_HERE,
    FINDING_PASS,
    FINDING_COULD_NOT,
    FINDING_FAIL,
    FINDING_VERDICTS
};

struct finding {
    enum finding_verdict verdict;
    char *check;      // its own word, else what it was started as
    char *why;        // one line; "" where it passed without a word
    double seconds;   // its own word, else from its start to its end
    json_t *evidence; // an object: what else it said; empty when it said nothing
};

const char *finding_verdict_name(enum finding_verdict v); // "pass", ...
// timeout_ms: that it had, for texts.
void finding_judge(const Muster__CheckEnd *end, uint32_t timeout_ms, struct finding *f);
// Of no check in particular: what the agent, or its silence, says.
void finding_make(enum finding_verdict v, const char *why, struct finding *f);
void finding_free(struct finding *f);
// The worst of them; COULD_NOT of none, or where all are NOT_HERE. `*worst`: whose it is, NULL of none.
enum finding_verdict finding_sum(const struct finding *v, size_t n,
                                 const struct finding **worst);
// "check cpu: two bits differ at 0x7f00", "check gpu". Caller frees.
char *finding_text(const struct finding *f);

#endif
