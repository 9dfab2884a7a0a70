// When to look at the file, and when to write.
#include "hostfile/hosts_guard.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/watch.h"
#include "hostfile/hosts_file.h"

enum {
    QUIET_MS = 40,      // nobody has written for so long, and has not closed it
    SETTLE_MAX_MS = 80, // they write on and on
    POLL_MS = 40,       // without inotify
    POLL_BESIDE_MS = 5000,
    RETRY_MS = 1000,
};

enum state { GUARD_CURRENT, GUARD_UNSETTLED, GUARD_FAILED };

enum what {
    SEEN_CHANGE, // the file was written to
    SEEN_CLOSE,  // and closed
    SEEN_TIME,   // the timer
    SEEN_WANT,   // other lines are wanted
};

struct hosts_guard {
    struct log *log;
    struct watch *watch; // NULL: polling
    struct watch_item *item;
    struct event *timer;
    char *path;
    struct hosts_file *file;
    struct hosts_want want;
    bool any; // something is wanted
    enum state state;
    uint64_t unsettled_at;
    char *said; // the last failure that was logged
    uint64_t writes, failures;
};

// ---- transitions ------------------------------------------------------------------

static void watch_again(struct hosts_guard *g);

static void enter(struct hosts_guard *g, enum state to)
{
    static const char *const names[] = {"current", "unsettled", "failed"};
    uint64_t wait = to == GUARD_UNSETTLED ? QUIET_MS
                    : to == GUARD_FAILED  ? RETRY_MS
                    : g->item == NULL     ? POLL_MS
                                          : POLL_BESIDE_MS;
    if (to != g->state)
        log_debug(g->log, "%s: %s -> %s", g->path, names[g->state], names[to]);
    if (to == GUARD_UNSETTLED && g->state != GUARD_UNSETTLED)
        g->unsettled_at = loop_now_ms();
    g->state = to;
    loop_timer_arm(g->timer, wait);
}

static void say(struct hosts_guard *g, const char *text)
{
    if (g->said != NULL && text != NULL && strcmp(g->said, text) == 0)
        return;
    if (text != NULL)
        log_warn(g->log, "%s", text);
    else if (g->said != NULL)
        log_info(g->log, "%s: written again", g->path);
    free(g->said);
    g->said = text != NULL ? xstrdup(text) : NULL;
}

static int sync_file(struct hosts_guard *g, bool settled, struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    watch_again(g); // before the file is looked at
    enum hosts_result r = hosts_file_sync(g->file, &g->want, settled, &why);
    if (r == HOSTS_DISTURBED) {
        enter(g, GUARD_UNSETTLED);
        return 0;
    }
    if (r == HOSTS_FAILED) {
        g->failures++;
        say(g, why.text);
        err_copy(err, &why);
        enter(g, GUARD_FAILED);
        return -1;
    }
    if (r == HOSTS_WRITTEN) {
        g->writes++;
        log_debug(g->log, "%s: written, %zu lines", g->path, g->want.n);
    }
    say(g, NULL);
    enter(g, GUARD_CURRENT);
    return 0;
}

// Own writes are seen as well: the file is as wanted then.
static int step(struct hosts_guard *g, enum what what, struct err *err)
{
    bool late =
        g->state == GUARD_UNSETTLED && loop_now_ms() - g->unsettled_at >= SETTLE_MAX_MS;
    if (!g->any)
        return 0;
    switch (g->state) {
    case GUARD_CURRENT:
    case GUARD_FAILED: return sync_file(g, what == SEEN_CLOSE, err);
    case GUARD_UNSETTLED:
        if (what == SEEN_CLOSE || what == SEEN_TIME || late)
            return sync_file(g, true, err);
        if (what == SEEN_CHANGE)
            enter(g, GUARD_UNSETTLED);
        return 0;
    }
    return 0;
}

static void on_change(void *arg, bool closed)
{
    step(arg, closed ? SEEN_CLOSE : SEEN_CHANGE, NULL);
}

static void on_timer(int fd, short what, void *arg)
{
    step(arg, SEEN_TIME, NULL);
}

// ---- watching ---------------------------------------------------------------------

// The inode may be another one by now.
static void watch_again(struct hosts_guard *g)
{
    ERR_AUTO err = ERR_INIT;
    if (g->watch == NULL || (g->item != NULL && watch_is_live(g->item)))
        return;
    watch_remove(g->item);
    g->item = watch_file(g->watch, g->path, on_change, g, &err);
    if (g->item == NULL)
        log_warn(g->log, "%s; it is looked at every %d ms instead", err_text(&err),
                 POLL_MS);
}

struct hosts_guard *hosts_guard_create(struct event_base *base, struct watch *watch,
                                       const char *path, struct log *log,
                                       struct err *err)
{
    struct hosts_file *file = hosts_file_open(path, err);
    if (file == NULL)
        return NULL;
    struct hosts_guard *g = xcalloc(1, sizeof *g);
    g->log = log;
    g->watch = watch;
    g->timer = loop_timer(base, on_timer, g);
    g->path = xstrdup(path);
    g->file = file;
    watch_again(g);
    return g;
}

void hosts_guard_destroy(struct hosts_guard *g)
{
    if (g == NULL)
        return;
    watch_remove(g->item);
    loop_timer_free(g->timer);
    hosts_file_close(g->file);
    hosts_want_free(&g->want);
    free(g->path);
    free(g->said);
    free(g);
}

int hosts_guard_set(struct hosts_guard *g, struct hosts_want *want, struct err *err)
{
    hosts_want_move(&g->want, want);
    g->any = true;
    return step(g, SEEN_WANT, err);
}

const char *hosts_guard_failure(const struct hosts_guard *g)
{
    return g->said;
}

bool hosts_guard_is_current(const struct hosts_guard *g)
{
    return g->any && g->state == GUARD_CURRENT;
}

void hosts_guard_status(const struct hosts_guard *g, struct hosts_guard_status *out)
{
    *out = (struct hosts_guard_status){.current = hosts_guard_is_current(g),
                                       .failed = g->state == GUARD_FAILED,
                                       .writes = g->writes,
                                       .failures = g->failures};
}
