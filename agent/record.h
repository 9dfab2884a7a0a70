// What an agent remembers of jobs, in its memory alone: who commands each of them, and how
// far it has come. Pure: the caller has the clock.
//
//   blank --grant t--> held by t --progress--> came so far --done--> ended like this
//   any --grant of a higher term--> held by that one; the progress stays until its launcher
//   writes its own
// A record belongs to the agent and not to a session: the next launcher finds it by the key.
// A new agent in the pod (another incarnation) is blank.
#ifndef MUSTER_AGENT_RECORD_H
#define MUSTER_AGENT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/muster.pb-c.h"

struct records;

enum { RECORD_JOBS_MAX = 64, RECORD_LAUNCHER_BYTES = 16 };
// The term of a job without a key whose launcher is not to have this agent again; no job
// with a key comes so far (CLAIM_TERM_MAX).
#define RECORD_TERM_BANNED UINT32_MAX

// Who claims which job. All borrowed.
struct record_claim {
    const char *job_key;
    uint32_t term;                           // from 1
    uint8_t launcher[RECORD_LAUNCHER_BYTES]; // its incarnation
    const char *host;                        // where it runs, for texts
};

struct records *records_create(void);
void records_destroy(struct records *r); // NULL-safe

// Granted when the term is higher than all that were granted before, or when it is the one
// that was granted to this very launcher. Of more than RECORD_JOBS_MAX jobs the one that was
// touched longest ago is forgotten, bans and those that are done first.
bool records_grant(struct records *r, const struct record_claim *c);
// Does this launcher command the job with this term?
bool records_is_held(const struct records *r, const struct record_claim *c);
// The job has come so far (copied). Only for a job that is held with the progress' term.
void records_progress(struct records *r, const char *job_key, const Muster__Progress *p,
                      uint64_t now_ms);
// What has changed since that attempt was prepared; the attempt is this term's from then on,
// as a launcher that has taken the job over begins with what it found. Only for a job that is
// held with the term; nothing for another attempt.
void records_account(struct records *r, const char *job_key, uint32_t term,
                     uint32_t attempt, const Muster__Account *a, uint64_t now_ms);
// The attempt that was written last has ended the job. Nothing for another one.
void records_done(struct records *r, const char *job_key, uint32_t term,
                  uint32_t attempt, const Muster__Done *done);
// A copy to send; blank (term 0) of a job that is not known. Free with msg_free.
Muster__Record *records_read(const struct records *r, const char *job_key,
                             uint64_t now_ms);

#endif
