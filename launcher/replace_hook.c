// A queue of losses, and one child.
#include "launcher/replace_hook.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/child.h"
#include "common/jsonpack.h"
#include "common/mem.h"
#include "common/strv.h"
#include "launcher/events.h"
#include "launcher/oneline.h"

enum { REASON_MAX = 1000 }; // bytes: it goes into an environment

struct waiting {
    uint32_t member;
    char *name;
    struct strv env;
    struct waiting *next;
};

struct replace_hook {
    struct replace_hook_conf conf;
    struct child *child;
    struct waiting *queue;   // utlist
    struct waiting *running; // NULL: none
};

static void waiting_free(struct waiting *w)
{
    if (w == NULL)
        return;
    strv_free(&w->env);
    free(w->name);
    free(w);
}

static void tell(const struct replace_hook *h, const char *member, const char *how)
{
    events_write(h->conf.events, "replace-hook",
                 jsonpack("{s:s, s:s}", "member", member, "how", how));
}

static void failed(const struct replace_hook *h, const char *member, const char *why)
{
    log_warn(h->conf.log, "replace-hook: %s: for member %s: %s", h->conf.program,
             member, why);
    tell(h, member, why);
}

static void run_next(struct replace_hook *h)
{
    while (h->queue != NULL && h->running == NULL) {
        ERR_AUTO err = ERR_INIT;
        struct waiting *w = h->queue;
        LL_DELETE(h->queue, w);
        if (!h->conf.is_wanted(h->conf.arg, w->member)) {
            waiting_free(w);
        } else if (child_start(h->child, -1, w->env.v, &err) < 0) {
            failed(h, w->name, err_text(&err));
            waiting_free(w);
        } else {
            tell(h, w->name, "started");
            h->running = w;
        }
    }
}

static void on_ended(void *arg, bool well, const char *how)
{
    struct replace_hook *h = arg;
    struct waiting *w = STEAL(h->running);
    if (well)
        tell(h, w->name, how);
    else
        failed(h, w->name, how);
    waiting_free(w);
    run_next(h);
}

struct replace_hook *replace_hook_create(const struct replace_hook_conf *conf,
                                         struct err *err)
{
    struct replace_hook *h = xcalloc(1, sizeof *h);
    const struct child_conf child = {.base = conf->base,
                                     .log = conf->log,
                                     .role = "replace-hook",
                                     .program = conf->program,
                                     .limit_ms = REPLACE_HOOK_MS,
                                     .level = LOG_LEVEL_WARN, // the launcher's default
                                     .ended = on_ended,
                                     .arg = h};
    h->conf = *conf;
    h->child = child_create(&child, err);
    if (h->child != NULL)
        return h;
    free(h);
    return NULL;
}

void replace_hook_destroy(struct replace_hook *h)
{
    struct waiting *w, *next;
    if (h == NULL)
        return;
    child_destroy(h->child);
    LL_FOREACH_SAFE (h->queue, w, next)
        waiting_free(w);
    waiting_free(h->running);
    free(h);
}

void replace_hook_tell(struct replace_hook *h, const struct replace_hook_loss *loss)
{
    struct waiting *w = xcalloc(1, sizeof *w);
    CLEANUP_FREE char *reason = oneline(loss->reason, REASON_MAX);
    w->member = loss->member;
    w->name = xstrdup(loss->name);
    strv_setenv(&w->env, "MUSTER_MEMBER", loss->name);
    strv_setenv(&w->env, "MUSTER_ADDRESS", loss->address);
    strv_setenv(&w->env, "MUSTER_REASON", reason);
    strv_setenv(&w->env, "MUSTER_JOB", h->conf.job);
    strv_setenvf(&w->env, "MUSTER_ATTEMPT", "%u", loss->attempt);
    LL_APPEND(h->queue, w);
    run_next(h);
}
