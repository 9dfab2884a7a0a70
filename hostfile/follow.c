// Starting the source again when it has to be read again.
#include "hostfile/follow.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/sha256.h"
#include "common/watchpath.h"
#include "hostfile/mark.h"
#include "hostfile/slurp.h"

enum {
    CLOSED_MS = 10,       // after a close or a rename
    CLOSED_MAX_MS = 200,  // ... while there are more and more of them
    OPEN_MS = 1000,       // a writer that has it open is quiet for so long
    OPEN_MAX_MS = 5000,   // ... or writes on and on
    SECOND_MS = 10,       // between the two looks at another text
    SECOND_POLL_MS = 200, // ... without inotify
    MISSING_MS = 500,     // how often what is not there on the way is looked for
};

enum state { FOLLOW_CURRENT, FOLLOW_UNSETTLED, FOLLOW_SEEN };

struct follow {
    struct follow_conf conf;
    struct source *source;
    struct event *timer, *soon;
    enum state state;
    uint64_t since;          // of FOLLOW_UNSETTLED
    struct watchpath *way;   // to the hostfile; NULL: polling
    char digest[SHA256_HEX]; // of the text that the source was made from
    struct buf text;         // hostfile: as it was taken last
    struct buf seen;         // FOLLOW_SEEN: the other text
    char *said;              // the last complaint
    bool lost;               // it was about a file that could not be read
    bool good;               // there was an update
    bool polls;              // that there is no watch was said
    uint64_t read_ms;        // hostfile: when it was read well, 0: never
    uint64_t changes, failures;
    struct source_status past; // of sources that were started before this one
};

// Keeps its counters.
static void end_source(struct follow *f)
{
    if (f->source == NULL)
        return;
    follow_status(f, &f->past);
    source_destroy(f->source);
    f->source = NULL;
}

// ---- what the source says ---------------------------------------------------------

static void complain(struct follow *f, const struct err *err)
{
    f->failures++;
    f->lost = false;
    if (f->said != NULL && strcmp(f->said, err_text(err)) == 0)
        return;
    free(f->said);
    f->said = xstrdup(err_text(err));
    log_warn(f->conf.log, "%s; %s", f->said,
             f->good ? "what was known before stays" : "it is waited for");
}

static void praise(struct follow *f)
{
    free(f->said);
    f->said = NULL;
}

static void on_update(void *arg, const struct members *members)
{
    struct follow *f = arg;
    f->good = true;
    praise(f);
    f->conf.ops.update(f->conf.arg, members);
}

static void on_failed(void *arg, const struct err *err)
{
    struct follow *f = arg;
    if (!f->good || f->conf.strict) {
        f->conf.ops.failed(f->conf.arg, err);
        return;
    }
    complain(f, err);
    end_source(f); // the interval starts it again
}

// ---- reading it -------------------------------------------------------------------

static bool is_hostfile(const struct follow *f)
{
    return f->conf.spec->kind == SOURCE_HOSTFILE;
}

static bool same_text(const struct buf *a, const struct buf *b)
{
    return buf_len(a) == buf_len(b) &&
           (buf_len(a) == 0 || memcmp(buf_data(a), buf_data(b), buf_len(a)) == 0);
}

static void move_text(struct buf *to, struct buf *from)
{
    buf_free(to);
    *to = *from;
    *from = (struct buf)BUF_INIT;
}

static int restart(struct follow *f, struct err *err)
{
    static const struct source_ops ops = {.update = on_update, .failed = on_failed};
    struct source_spec spec = *f->conf.spec;
    spec.poll_ms = f->conf.interval_ms;
    spec.content = is_hostfile(f) ? &f->text : NULL;
    struct source *s = source_start(f->conf.base, &spec, &ops, f, f->conf.log, err);
    if (s == NULL)
        return -1;
    end_source(f);
    f->source = s;
    if (is_hostfile(f)) {
        sha256_hex(buf_data(&f->text), buf_len(&f->text), f->digest);
        log_info(f->conf.log, "hostfile %s: %zu bytes, SHA-256 %s", f->conf.spec->text,
                 buf_len(&f->text), f->digest);
    }
    return 0;
}

static int read_text(struct follow *f, struct buf *out, struct err *err)
{
    if (slurp(f->conf.spec->text, out, err) < 0)
        return -1;
    if (mark_is_there((const char *)buf_data(out), buf_len(out))) {
        err_set_kind(
            err, "HF_OWN_OUTPUT", 0,
            "%s: HF_OWN_OUTPUT: muster-sidecar wrote this file: it is no source; "
            "name the one that it was made from",
            f->conf.spec->text);
        return -1;
    }
    f->read_ms = loop_now_ms();
    return 0;
}

static bool is_watched(const struct follow *f)
{
    return f->way != NULL && watchpath_is_live(f->way);
}

static void enter(struct follow *f, enum state to)
{
    static const char *const names[] = {"current", "unsettled", "seen"};
    if (to != f->state)
        log_debug(f->conf.log, "hostfile %s: %s -> %s", f->conf.spec->text,
                  names[f->state], names[to]);
    f->state = to;
    if (to != FOLLOW_SEEN)
        buf_free(&f->seen);
    if (to == FOLLOW_CURRENT)
        loop_timer_disarm(f->soon);
    if (to == FOLLOW_SEEN)
        loop_timer_arm(f->soon, is_watched(f) ? SECOND_MS : SECOND_POLL_MS);
}

static void take(struct follow *f, struct buf *now, struct err *err)
{
    move_text(&f->text, now);
    enter(f, FOLLOW_CURRENT);
    f->changes++;
    if (restart(f, err) < 0)
        complain(f, err);
}

// The one place that moves a hostfile on.
static void look(struct follow *f)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO now = BUF_INIT;
    if (read_text(f, &now, &err) < 0) {
        enter(f, FOLLOW_CURRENT);
        complain(f, &err);
        f->lost = true;
    } else if (same_text(&now, &f->text) && f->changes > 0) {
        enter(f, FOLLOW_CURRENT);
        if (f->source == NULL && restart(f, &err) < 0)
            complain(f, &err);
        else if (f->lost)
            praise(f); // it is back as it was
    } else if (f->state == FOLLOW_SEEN && same_text(&now, &f->seen)) {
        take(f, &now, &err);
    } else {
        move_text(&f->seen, &now);
        enter(f, FOLLOW_SEEN);
    }
}

static void on_soon(int fd, short what, void *arg)
{
    look(arg);
}

static uint64_t interval(const struct follow *f)
{
    bool missing = f->way != NULL && !f->polls && !is_watched(f);
    return missing && f->conf.interval_ms > MISSING_MS ? MISSING_MS
                                                       : f->conf.interval_ms;
}

static void on_change(void *arg, bool closed)
{
    struct follow *f = arg;
    uint64_t now = loop_now_ms();
    if (!is_watched(f)) // a directory is gone
        loop_timer_arm(f->timer, interval(f));
    if (f->state != FOLLOW_UNSETTLED)
        f->since = now;
    enter(f, FOLLOW_UNSETTLED);
    uint64_t latest = f->since + (closed ? CLOSED_MAX_MS : OPEN_MAX_MS);
    uint64_t due = now + (closed ? CLOSED_MS : OPEN_MS);
    due = due < latest ? due : latest;
    loop_timer_arm(f->soon, due > now ? due - now : 0);
}

// ---- watching ---------------------------------------------------------------------

// What the path leads to may be there at last.
static void watch_again(struct follow *f)
{
    ERR_AUTO err = ERR_INIT;
    if (f->way == NULL)
        return;
    bool polled = f->polls;
    int why = watchpath_renew(f->way, &err) == 0 ? 0 : errno;
    f->polls = why != 0 && why != ENOENT && why != ENOTDIR;
    if (f->polls && !polled) {
        log_warn(f->conf.log, "%s; the hostfile is read every %u ms instead",
                 err_text(&err), f->conf.interval_ms);
    }
}

static void on_interval(int fd, short what, void *arg)
{
    ERR_AUTO err = ERR_INIT;
    struct follow *f = arg;
    if (is_hostfile(f)) {
        watch_again(f); // before it is read
        if (f->state == FOLLOW_CURRENT)
            look(f);
    } else if (f->source == NULL && restart(f, &err) < 0) {
        complain(f, &err);
    }
    loop_timer_arm(f->timer, interval(f));
}

// ---- life -------------------------------------------------------------------------

// The first text is taken as it is. 1: it is to be waited for.
static int read_first(struct follow *f, struct err *err)
{
    watch_again(f); // before it is read
    if (read_text(f, &f->text, err) == 0) {
        f->changes = 1;
        return 0;
    }
    if (!f->conf.patient || strcmp(err->kind, "HF_NOT_FOUND") != 0)
        return -1;
    buf_clear(&f->text);
    complain(f, err);
    f->lost = true;
    err_clear(err);
    return 1;
}

struct follow *follow_start(const struct follow_conf *conf, struct err *err)
{
    struct follow *f = xcalloc(1, sizeof *f);
    f->conf = *conf;
    f->timer = loop_timer(conf->base, on_interval, f);
    f->soon = loop_timer(conf->base, on_soon, f);
    if (is_hostfile(f) && conf->watch != NULL)
        f->way = watchpath_create(conf->watch, conf->spec->text, on_change, f);
    int rc = is_hostfile(f) ? read_first(f, err) : 0;
    if (rc == 0)
        rc = restart(f, err);
    if (rc < 0) {
        follow_stop(f);
        return NULL;
    }
    loop_timer_arm(f->timer, interval(f));
    return f;
}

void follow_status(const struct follow *f, struct source_status *out)
{
    struct source_status now = f->past;
    if (f->source != NULL) {
        source_status(f->source, &now);
        now.rounds += f->past.rounds;
        dns_stats_add(&now.dns, &f->past.dns);
    }
    now.good_age_ms =
        now.dns.good_ms > 0 ? (int64_t)(loop_now_ms() - now.dns.good_ms) : -1;
    *out = now;
}

// "There is no such name" is an answer, too.
static bool dns_has_answered(const struct source_status *s)
{
    return s->dns.answers[DNS_OK] + s->dns.answers[DNS_NXDOMAIN] +
               s->dns.answers[DNS_NODATA] >
           0;
}

void follow_health(const struct follow *f, struct follow_health *out)
{
    struct source_status s;
    follow_status(f, &s);
    bool by_dns = f->conf.spec->kind == SOURCE_DNS || f->conf.spec->kind == SOURCE_PODS;
    *out = (struct follow_health){
        .read = f->good && (!by_dns || s.dns.queries == 0 || dns_has_answered(&s)),
        .age_ms = s.good_age_ms,
        .changes = f->changes,
        .failures = f->failures,
        .said = f->said};
    if (is_hostfile(f))
        out->age_ms = f->read_ms > 0 ? (int64_t)(loop_now_ms() - f->read_ms) : -1;
}

void follow_recheck(struct follow *f, const char *lost)
{
    if (f->source != NULL)
        source_recheck(f->source, lost);
}

void follow_hold(struct follow *f)
{
    f->conf.strict = false;
}

const char *follow_digest(const struct follow *f)
{
    return is_hostfile(f) ? f->digest : NULL;
}

void follow_stop(struct follow *f)
{
    if (f == NULL)
        return;
    watchpath_destroy(f->way);
    source_destroy(f->source);
    loop_timer_free(f->timer);
    loop_timer_free(f->soon);
    buf_free(&f->text);
    buf_free(&f->seen);
    free(f->said);
    free(f);
}
