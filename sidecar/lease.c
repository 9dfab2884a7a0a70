// Reading rolls, applying and answering them.
#include "sidecar/lease.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/watch.h"
#include "hostfile/roll_json.h"
#include "hostfile/slurp.h"
#include "sidecar/keep.h"
#include "sidecar/lease_clock.h"
#include "sidecar/outfile.h"

enum {
    TICK_MS = 500,
    POLL_MS = 50, // without inotify
    ANSWER_MS = 10,
    ANSWER_BOUND_MS = 1000,
};

struct lease {
    struct lease_conf conf;
    struct outfile *applied;
    struct watch_item *item;
    struct event *tick, *answer;
    char *roll_path, *beat_path;
    struct lease_clock clock;
    struct roll *roll; // the newest that was read; NULL: none
    struct roll_lease of;
    struct err refused; // by the keep
    uint64_t asked_ms;  // when it was read
    bool answered;      // the roll as it was applied last
    bool told, held;    // what the owner knows
    char *said;         // the last complaint
};

static void complain(struct lease *l, const char *path, const char *why)
{
    CLEANUP_FREE char *text = xasprintf("%s: %s", path, why);
    if (l->said == NULL || strcmp(l->said, text) != 0)
        log_warn(l->conf.log, "%s", text);
    free(l->said);
    l->said = STEAL(text);
}

// ---- answering ----------------------------------------------------------------

static void put_answer(struct lease *l, const char *error)
{
    BUF_AUTO text = BUF_INIT;
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *copy = xstrdup(error);
    struct roll_applied a = {.job = l->roll->job_key,
                             .term = l->roll->term,
                             .generation = l->roll->generation,
                             .error = copy};
    roll_applied_write(&a, &text);
    int rc = outfile_put(l->applied, &text, &err);
    bool news = rc > 0 || !l->answered;
    l->answered = rc >= 0;
    if (rc < 0)
        complain(l, ROLL_APPLIED_FILE, err_text(&err));
    else if (news && error[0] == '\0')
        log_info(l->conf.log, "roll %llu of job %s is applied",
                 (unsigned long long)a.generation, a.job);
    else if (news)
        log_warn(l->conf.log, "roll %llu of job %s is not applied: %s",
                 (unsigned long long)a.generation, a.job, error);
}

// NULL: it is not known yet. Caller frees.
static char *error_of(const struct lease *l)
{
    CLEANUP_FREE char *why = NULL;
    if (l->refused.text != NULL)
        return xstrdup(l->refused.text);
    if (keep_is_done(l->conf.keep, &why))
        return xstrdup("");
    const char *failure = keep_failure(l->conf.keep);
    if (failure != NULL)
        return xstrdup(failure);
    return loop_now_ms() - l->asked_ms >= ANSWER_BOUND_MS ? STEAL(why) : NULL;
}

static void answer(struct lease *l)
{
    CLEANUP_FREE char *error = error_of(l);
    if (error != NULL)
        put_answer(l, error);
    else
        loop_timer_arm(l->answer, ANSWER_MS);
}

static void on_answer(int fd, short what, void *arg)
{
    answer(arg);
}

// ---- reading ------------------------------------------------------------------

static bool read_beat(const struct lease *l, struct roll_beat *beat)
{
    BUF_AUTO text = BUF_INIT;
    return slurp(l->beat_path, &text, NULL) == 0 &&
           roll_beat_read((const char *)buf_data(&text), buf_len(&text), beat) == 0;
}

static bool is_news(const struct lease *l)
{
    const struct roll_beat *b = &l->clock.beat;
    return l->roll == NULL || strcmp(l->of.id, b->id) != 0 ||
           l->roll->generation != b->generation;
}

static void read_roll(struct lease *l)
{
    BUF_AUTO text = BUF_INIT;
    ERR_AUTO err = ERR_INIT;
    struct roll_lease of;
    struct roll *r = NULL;
    if (slurp(l->roll_path, &text, &err) == 0)
        r = roll_json_read((const char *)buf_data(&text), buf_len(&text), &of, &err);
    if (r == NULL) {
        complain(l, l->roll_path, err_text(&err));
        return;
    }
    roll_destroy(l->roll);
    l->roll = r;
    l->of = of;
}

static void apply(struct lease *l)
{
    err_clear(&l->refused);
    l->answered = false;
    l->asked_ms = loop_now_ms();
    keep_apply(l->conf.keep, l->roll, &l->refused);
    answer(l);
    if (l->conf.applied != NULL)
        l->conf.applied(l->conf.arg);
}

static void tell(struct lease *l, bool held)
{
    if (l->told && l->held == held)
        return;
    l->told = true;
    l->held = held;
    l->conf.changed(l->conf.arg, held);
}

static void look(struct lease *l)
{
    struct roll_beat beat;
    bool there = read_beat(l, &beat);
    uint32_t ms = l->roll != NULL ? l->of.ms : ROLL_LEASE_MS;
    enum lease_state was = l->clock.state;
    enum lease_state now =
        lease_clock_look(&l->clock, loop_now_ms(), there ? &beat : NULL, ms);
    if (now != was)
        log_debug(l->conf.log, "lease: %s -> %s", lease_state_name(was),
                  lease_state_name(now));
    if (now == LEASE_LOOKING)
        return;
    bool news = now == LEASE_HELD && is_news(l);
    if (news)
        read_roll(l);
    bool held = now == LEASE_HELD && l->roll != NULL && strcmp(l->of.id, beat.id) == 0;
    bool again = held && !l->held;
    tell(l, held);
    if (held && (news || again))
        apply(l);
    else if (held)
        answer(l); // an error may be gone
}

static void on_change(void *arg, bool closed)
{
    look(arg);
}

static void on_tick(int fd, short what, void *arg)
{
    struct lease *l = arg;
    loop_timer_arm(l->tick, l->item != NULL ? TICK_MS : POLL_MS);
    look(l);
}

// ---- life ---------------------------------------------------------------------

struct lease *lease_create(const struct lease_conf *conf, struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    CLEANUP_FREE char *path = xasprintf("%s/" ROLL_APPLIED_FILE, conf->dir);
    struct outfile *applied = outfile_create(path, err);
    if (applied == NULL)
        return NULL;
    struct lease *l = xcalloc(1, sizeof *l);
    l->conf = *conf;
    l->applied = applied;
    l->roll_path = xasprintf("%s/" ROLL_FILE, conf->dir);
    l->beat_path = xasprintf("%s/" ROLL_BEAT_FILE, conf->dir);
    l->tick = loop_timer(conf->base, on_tick, l);
    l->answer = loop_timer(conf->base, on_answer, l);
    if (conf->watch != NULL)
        l->item = watch_dir(conf->watch, conf->dir, on_change, l, &why);
    if (l->item == NULL)
        log_warn(conf->log, "%s is looked at every %d ms: %s", conf->dir, POLL_MS,
                 conf->watch != NULL ? err_text(&why) : "there is no inotify");
    loop_timer_arm(l->tick, 0);
    return l;
}

void lease_destroy(struct lease *l)
{
    if (l == NULL)
        return;
    watch_remove(l->item);
    loop_timer_free(l->tick);
    loop_timer_free(l->answer);
    outfile_destroy(l->applied);
    roll_destroy(l->roll);
    err_clear(&l->refused);
    free(l->roll_path);
    free(l->beat_path);
    free(l->said);
    free(l);
}

bool lease_is_held(const struct lease *l)
{
    return l->held;
}
