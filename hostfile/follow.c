// Starting the source again when it has to be read again.
#include "hostfile/follow.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "common/sha256.h"
#include "common/watch.h"
#include "hostfile/mark.h"
#include "hostfile/slurp.h"

// A file that somebody writes in place is read when they have been quiet for so long, or
// go on and on.
enum { QUIET_MS = 20, SETTLE_MAX_MS = 200 };

struct follow {
    struct follow_conf conf;
    struct source *source;
    struct event *timer, *soon;
    uint64_t changing_since; // 0: quiet
    struct watch_item *item;
    struct buf text; // hostfile: as it was read last, if it was
    bool was_read;
    char digest[SHA256_HEX];   // of the text that the source was made from
    char *said;                // the last complaint
    bool good;                 // there was an update
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
    if (f->said != NULL && strcmp(f->said, err_text(err)) == 0)
        return;
    free(f->said);
    f->said = xstrdup(err_text(err));
    log_warn(f->conf.log, "%s; what was known before stays", f->said);
}

static void on_update(void *arg, const struct members *members)
{
    struct follow *f = arg;
    f->good = true;
    free(f->said);
    f->said = NULL;
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

// 1: the text is another one than before.
static int read_text(struct follow *f, struct err *err)
{
    BUF_AUTO now = BUF_INIT;
    if (slurp(f->conf.spec->text, &now, err) < 0)
        return -1;
    size_t n = buf_len(&now);
    if (mark_is_there((const char *)buf_data(&now), n)) {
        err_set_kind(
            err, "HF_OWN_OUTPUT", 0,
            "%s: HF_OWN_OUTPUT: muster-sidecar wrote this file: it is no source; "
            "name the one that it was made from",
            f->conf.spec->text);
        return -1;
    }
    if (f->was_read && n == buf_len(&f->text) &&
        memcmp(buf_data(&now), buf_data(&f->text), n) == 0)
        return 0;
    buf_clear(&f->text);
    buf_append(&f->text, buf_data(&now), n);
    f->was_read = true;
    return 1;
}

static void look_again(struct follow *f)
{
    ERR_AUTO err = ERR_INIT;
    int changed = is_hostfile(f) ? read_text(f, &err) : 0;
    if (changed < 0 || ((changed == 1 || f->source == NULL) && restart(f, &err) < 0))
        complain(f, &err);
}

static void on_interval(int fd, short what, void *arg)
{
    struct follow *f = arg;
    loop_timer_arm(f->timer, f->conf.interval_ms);
    look_again(f);
}

static void on_quiet(int fd, short what, void *arg)
{
    struct follow *f = arg;
    f->changing_since = 0;
    look_again(f);
}

static void on_change(void *arg, bool closed)
{
    struct follow *f = arg;
    uint64_t now = loop_now_ms();
    if (f->changing_since == 0)
        f->changing_since = now;
    if (now - f->changing_since < SETTLE_MAX_MS)
        loop_timer_arm(f->soon, QUIET_MS);
}

// ---- life -------------------------------------------------------------------------

static void watch_hostfile(struct follow *f)
{
    ERR_AUTO err = ERR_INIT;
    const char *path = f->conf.spec->text, *slash = strrchr(path, '/');
    CLEANUP_FREE char *dir = slash == NULL   ? xstrdup(".")
                             : slash == path ? xstrdup("/")
                                             : xstrndup(path, (size_t)(slash - path));
    if (f->conf.watch != NULL)
        f->item = watch_dir(f->conf.watch, dir, on_change, f, &err);
    if (f->item == NULL)
        log_warn(f->conf.log, "%s is read every %u ms: %s", path, f->conf.interval_ms,
                 f->conf.watch != NULL ? err_text(&err) : "there is no inotify");
}

struct follow *follow_start(const struct follow_conf *conf, struct err *err)
{
    struct follow *f = xcalloc(1, sizeof *f);
    f->conf = *conf;
    f->timer = loop_timer(conf->base, on_interval, f);
    f->soon = loop_timer(conf->base, on_quiet, f);
    if (is_hostfile(f))
        watch_hostfile(f); // before it is read
    if ((is_hostfile(f) && read_text(f, err) < 0) || restart(f, err) < 0) {
        follow_stop(f);
        return NULL;
    }
    loop_timer_arm(f->timer, conf->interval_ms);
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
    watch_remove(f->item);
    source_destroy(f->source);
    loop_timer_free(f->timer);
    loop_timer_free(f->soon);
    buf_free(&f->text);
    free(f->said);
    free(f);
}
