// Budgets for restarts.
#include "launcher/policy.h"

#include <stdlib.h>

#include "common/mem.h"

enum { PAUSE_FIRST_MS = 1000 };

struct policy {
    struct policy_conf conf;
    uint64_t *restarts; // when they were, oldest first; owned, max_restarts entries
    uint32_t nrestarts;
    uint32_t quick; // attempts in a row that made no progress
    // The failure that the last attempts had in common, and how many of them.
    long rank;
    int code;
    uint32_t same;
};

struct policy *policy_create(const struct policy_conf *conf)
{
    struct policy *p = xcalloc(1, sizeof *p);
    p->conf = *conf;
    p->restarts = xcalloc(conf->max_restarts, sizeof *p->restarts);
    return p;
}

void policy_destroy(struct policy *p)
{
    if (p == NULL)
        return;
    free(p->restarts);
    free(p);
}

static void forget_old(struct policy *p, uint64_t now_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->nrestarts; i++)
        if (now_ms - p->restarts[i] < p->conf.window_ms)
            p->restarts[kept++] = p->restarts[i];
    p->nrestarts = kept;
}

// The next restart after quick failures waits longer and longer.
static uint32_t pause_of(const struct policy *p)
{
    uint64_t ms = PAUSE_FIRST_MS;
    if (p->quick <= 1)
        return 0;
    for (uint32_t i = 2; i < p->quick && ms < POLICY_PAUSE_MAX_MS; i++)
        ms *= 2;
    return ms < POLICY_PAUSE_MAX_MS ? (uint32_t)ms : POLICY_PAUSE_MAX_MS;
}

static void count(struct policy *p, const struct policy_failure *f)
{
    bool healthy = f->ran_ms >= p->conf.healthy_ms;
    bool known = f->rank >= 0 && f->rank == p->rank && f->code == p->code;
    p->quick = healthy ? 0 : p->quick;
    p->quick++;
    p->same = known && !healthy ? p->same + 1 : 1;
    p->rank = f->rank;
    p->code = f->code;
}

bool policy_judge(struct policy *p, const struct policy_failure *f, uint32_t *pause_ms,
                  struct err *why)
{
    const struct policy_conf *c = &p->conf;
    if (c->on_failure == POLICY_ABORT || f->order)
        return false;
    count(p, f);
    if (c->same_failures > 0 && f->rank >= 0 && p->same >= c->same_failures) {
        err_set(why,
                "the same failure of the same rank ended %u attempts in a row, none of "
                "which ran for %g s (--same-failures, --healthy): it is not restarted "
                "again",
                p->same, c->healthy_ms / 1e3);
        return false;
    }
    forget_old(p, f->now_ms);
    if (c->max_restarts == 0) {
        err_set(why, "--max-restarts 0 allows no restart");
        return false;
    }
    if (p->nrestarts >= c->max_restarts) {
        err_set(why,
                "it was restarted %u times within %g s (--max-restarts, "
                "--restart-window): it is not restarted again",
                p->nrestarts, c->window_ms / 1e3);
        return false;
    }
    p->restarts[p->nrestarts++] = f->now_ms;
    *pause_ms = pause_of(p);
    return true;
}

void policy_save(const struct policy *p, uint64_t now_ms, struct policy_past *past)
{
    *past = (struct policy_past){.ago_ms = xcalloc(p->nrestarts, sizeof *past->ago_ms),
                                 .n = p->nrestarts,
                                 .quick = p->quick,
                                 .same = p->same,
                                 .rank = p->rank,
                                 .code = p->code};
    for (uint32_t i = 0; i < p->nrestarts; i++)
        past->ago_ms[i] = now_ms - p->restarts[i];
}

// A clock that has just begun makes these times wrap; their differences do not.
void policy_restore(struct policy *p, uint64_t now_ms, const struct policy_past *past)
{
    uint32_t max = p->conf.max_restarts;
    uint32_t skip = past->n > max ? past->n - max : 0;
    p->nrestarts = past->n - skip;
    for (uint32_t i = 0; i < p->nrestarts; i++)
        p->restarts[i] = now_ms - past->ago_ms[skip + i];
    p->quick = past->quick;
    p->same = past->same;
    p->rank = past->rank;
    p->code = past->code;
}
