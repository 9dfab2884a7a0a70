// One world as libpmix knows it: its namespace, its clients and their environments.
#ifndef MUSTER_AGENT_PMIX_JOB_H
#define MUSTER_AGENT_PMIX_JOB_H

#include "common/err.h"
#include "wire/muster.pb-c.h"

struct pmixd_job;

// Registers the namespace and every local rank, and collects the ranks' environments. A
// namespace without local ranks is registered, too: ranks of other worlds may ask about it.
// The calls wait for libpmix's thread, which never waits for us. No rank is forked before.
struct pmixd_job *pmixd_job_create(const Muster__PmixSetup *setup, struct err *err);
void pmixd_job_destroy(struct pmixd_job *job); // NULL-safe; libpmix keeps the namespace

// The answer for the agent; lives as long as the job.
const Muster__PmixReady *pmixd_job_ready(const struct pmixd_job *job);

#endif
