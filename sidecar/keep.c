// Members in, files out.
#include "sidecar/keep.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "hostfile/addrset.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_diff.h"
#include "hostfile/hosts_file.h"
#include "hostfile/hosts_guard.h"
#include "hostfile/hosts_members.h"
#include "hostfile/mark.h"
#include "hostfile/slurp.h"
#include "sidecar/outfile.h"
#include "sidecar/render.h"

struct target {
    struct outfile *file;
    const struct keep_hostfile *conf;
    char *said; // the last failure
    bool done;
    uint64_t writes, failures;
};

struct keep {
    struct keep_conf conf;
    struct resolvconf resolv;
    struct hosts_guard *guard; // NULL: not kept
    struct target *targets;
    struct members members; // with the addresses that they had
    uint64_t generation;    // 0: nothing is known yet
    char *ruler;            // "the roll of job ..." that counts; NULL: the source does
    bool pods;              // of that roll
    struct members seated;
};

// ---- life -------------------------------------------------------------------------

static void read_resolv_conf(const struct source_spec *spec, struct resolvconf *out)
{
    BUF_AUTO text = BUF_INIT;
    slurp(spec != NULL && spec->resolv_conf != NULL ? spec->resolv_conf
                                                    : "/etc/resolv.conf",
          &text, NULL);
    resolvconf_parse((const char *)buf_data(&text), buf_len(&text), out);
}

static bool can_go_without(const struct err *err)
{
    return err->kind != NULL && (strcmp(err->kind, "HOSTS_READONLY") == 0 ||
                                 strcmp(err->kind, "HOSTS_FOREIGN_FILE") == 0);
}

static int open_hosts(struct keep *k, struct err *err)
{
    const struct keep_conf *c = &k->conf;
    if (c->hosts == NULL)
        return 0;
    if (c->any_hosts || hosts_file_is_pods(c->hosts, err))
        k->guard = hosts_guard_create(c->base, c->watch, c->hosts, c->log, err);
    if (k->guard != NULL)
        return 0;
    if (c->nhostfiles == 0 || !can_go_without(err))
        return -1;
    log_warn(c->log, "%s; hostfiles are kept without it", err_text(err));
    err_clear(err);
    return 0;
}

static int open_targets(struct keep *k, struct err *err)
{
    k->targets = xcalloc(k->conf.nhostfiles + 1, sizeof *k->targets);
    for (size_t i = 0; i < k->conf.nhostfiles; i++) {
        k->targets[i].conf = &k->conf.hostfiles[i];
        k->targets[i].file = outfile_create(k->conf.hostfiles[i].path, err);
        if (k->targets[i].file == NULL)
            return -1;
    }
    return 0;
}

struct keep *keep_create(const struct keep_conf *conf, struct err *err)
{
    struct keep *k = xcalloc(1, sizeof *k);
    k->conf = *conf;
    read_resolv_conf(conf->spec, &k->resolv);
    if (open_targets(k, err) == 0 && open_hosts(k, err) == 0)
        return k;
    keep_destroy(k);
    return NULL;
}

void keep_destroy(struct keep *k)
{
    if (k == NULL)
        return;
    hosts_guard_destroy(k->guard);
    for (size_t i = 0; k->targets != NULL && i < k->conf.nhostfiles; i++) {
        outfile_destroy(k->targets[i].file);
        free(k->targets[i].said);
    }
    free(k->targets);
    members_free(&k->members);
    members_free(&k->seated);
    free(k->ruler);
    resolvconf_free(&k->resolv);
    free(k);
}

// ---- what is known ----------------------------------------------------------------

// Fills in what members had before, where nobody has it now.
static void remember(struct members *now, const struct members *before)
{
    struct addrset *taken = addrset_create();
    for (size_t i = 0; i < now->n; i++)
        if (now->v[i].addr.ss_family != 0)
            addrset_add(taken, &now->v[i].addr, now->v[i].port, i);
    for (size_t i = 0; i < now->n; i++) {
        struct member *m = &now->v[i];
        long at = m->addr.ss_family == 0
                      ? members_find(before, m->name, strlen(m->name))
                      : -1;
        const struct member *was = at >= 0 ? &before->v[at] : NULL;
        if (was != NULL && was->addr.ss_family != 0 &&
            addrset_add(taken, &was->addr, m->port, i) == i)
            m->addr = was->addr;
    }
    addrset_destroy(taken);
}

static bool is_pods(const struct source_spec *spec)
{
    return spec->kind == SOURCE_DNS || spec->kind == SOURCE_PODS;
}

// Of the source. As render(); a group that is not whole is 0, too.
static int render_hostfile(const struct keep_conf *conf, const struct keep_hostfile *h,
                           const struct members *members, struct buf *out,
                           struct strv *warnings, struct err *err)
{
    CLEANUP_FREE char *source = source_describe(conf->spec);
    if (members->n < conf->nmembers || members->n == 0)
        return 0;
    mark_append(out, source);
    return render(h->dialect, members, conf->by_name, out, warnings, err);
}

// Of the roll, where one counts.
static int render_target(const struct keep *k, const struct keep_hostfile *h,
                         struct buf *out, struct strv *warnings, struct err *err)
{
    if (k->ruler == NULL)
        return render_hostfile(&k->conf, h, &k->members, out, warnings, err);
    if (k->seated.n == 0)
        return 0;
    mark_append(out, k->ruler);
    return render(h->dialect, &k->seated, k->conf.by_name, out, warnings, err);
}

// ---- writing ----------------------------------------------------------------------

static void say(struct keep *k, struct target *t, const char *text)
{
    if (text != NULL && (t->said == NULL || strcmp(t->said, text) != 0))
        log_warn(k->conf.log, "%s", text);
    free(t->said);
    t->said = text != NULL ? xstrdup(text) : NULL;
}

static void write_hostfile(struct keep *k, struct target *t)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO text = BUF_INIT;
    STRV_AUTO warnings = STRV_INIT;
    int rc = render_target(k, t->conf, &text, &warnings, &err);
    t->done = false;
    if (rc == 0)
        return;
    if (rc > 0)
        rc = outfile_put(t->file, &text, &err);
    t->failures += rc < 0 ? 1 : 0;
    t->writes += rc == 1 ? 1 : 0;
    say(k, t, rc < 0 ? err_text(&err) : NULL);
    if (rc == 1)
        log_info(k->conf.log, "%s: %zu members", t->conf->path,
                 k->ruler != NULL ? k->seated.n : k->members.n);
    for (size_t i = 0; rc == 1 && i < warnings.n; i++)
        log_warn(k->conf.log, "%s: %s", t->conf->path, warnings.v[i]);
    t->done = rc >= 0;
}

static void write_hosts(struct keep *k)
{
    HOSTS_WANT_AUTO want = HOSTS_WANT_INIT;
    STRV_AUTO refused = STRV_INIT;
    hosts_members(&k->members, &k->resolv,
                  k->ruler != NULL ? k->pods : is_pods(k->conf.spec), &want, &refused);
    for (size_t i = 0; i < refused.n; i++)
        log_warn(k->conf.log, "%s: left out of %s", refused.v[i], k->conf.hosts);
    size_t n = want.n;
    // Why it failed is logged by the guard, which tries again.
    if (hosts_guard_set(k->guard, &want, NULL) == 0)
        log_info(k->conf.log, "%s: %zu lines for %zu members", k->conf.hosts, n,
                 k->members.n);
}

static void write_all(struct keep *k)
{
    if (k->guard != NULL)
        write_hosts(k);
    for (size_t i = 0; i < k->conf.nhostfiles; i++)
        write_hostfile(k, &k->targets[i]);
}

void keep_update(struct keep *k, const struct members *members)
{
    MEMBERS_AUTO now = MEMBERS_INIT;
    members_copy(&now, members);
    remember(&now, &k->members);
    if (k->generation == 0 || !members_equal(&now, &k->members))
        k->generation++;
    members_move(&k->members, &now);
    free(STEAL(k->ruler));
    write_all(k);
}

static int refuse_loopback(const struct members *m, struct err *err)
{
    for (size_t i = 0; i < m->n; i++)
        if (hostname_is_loopback(&m->v[i].addr)) {
            err_set(
                err,
                "member %s has a loopback address, which is another machine on each "
                "pod; give the launcher an address that all pods can reach",
                m->v[i].name);
            return -1;
        }
    return 0;
}

int keep_apply(struct keep *k, const struct roll *r, struct err *err)
{
    MEMBERS_AUTO all = MEMBERS_INIT, seated = MEMBERS_INIT;
    roll_lists(r, &all, &seated);
    if (refuse_loopback(&all, err) < 0)
        return -1;
    if (k->generation == 0 || !members_equal(&all, &k->members) ||
        !members_equal(&seated, &k->seated))
        k->generation++;
    members_move(&k->members, &all);
    members_move(&k->seated, &seated);
    free(k->ruler);
    k->ruler = xasprintf("the roll of job %s", r->job_key);
    k->pods = r->pods;
    write_all(k);
    return 0;
}

void keep_retry(struct keep *k)
{
    for (size_t i = 0; k->generation > 0 && i < k->conf.nhostfiles; i++)
        if (!k->targets[i].done)
            write_hostfile(k, &k->targets[i]);
}

// ---- questions --------------------------------------------------------------------

static char *missing_members(const struct members *m, size_t want)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].addr.ss_family == 0)
            return xasprintf("%s has no address: %s", m->v[i].name,
                             m->v[i].why != NULL ? m->v[i].why : "no answer yet");
    if (m->n < want || m->n == 0)
        return xasprintf("%zu members of %zu are there", m->n, want > 0 ? want : 1);
    return NULL;
}

bool keep_is_done(const struct keep *k, char **why)
{
    char *text = k->generation == 0 ? xstrdup("the source has not answered yet")
                 : k->ruler == NULL ? missing_members(&k->members, k->conf.nmembers)
                 : k->seated.n > 0  ? missing_members(&k->seated, 0)
                                    : NULL;
    if (text == NULL && k->guard != NULL && !hosts_guard_is_current(k->guard))
        text = xasprintf("%s is not written yet", k->conf.hosts);
    for (size_t i = 0; text == NULL && i < k->conf.nhostfiles; i++)
        if (!k->targets[i].done && (k->ruler == NULL || k->seated.n > 0))
            text = xasprintf("%s is not written yet", k->targets[i].conf->path);
    bool done = text == NULL;
    if (why != NULL)
        *why = text;
    else
        free(text);
    return done;
}

uint64_t keep_generation(const struct keep *k)
{
    return k->generation;
}

const struct members *keep_members(const struct keep *k)
{
    return &k->members;
}

static void hosts_status(const struct keep *k, struct keep_file *out)
{
    struct hosts_guard_status s;
    hosts_guard_status(k->guard, &s);
    *out = (struct keep_file){.path = k->conf.hosts,
                              .current = s.current,
                              .failed = s.failed,
                              .writes = s.writes,
                              .failures = s.failures};
}

bool keep_file(const struct keep *k, size_t i, struct keep_file *out)
{
    size_t first = k->guard != NULL ? 1 : 0;
    if (i < first) {
        hosts_status(k, out);
        return true;
    }
    if (i - first >= k->conf.nhostfiles)
        return false;
    const struct target *t = &k->targets[i - first];
    *out = (struct keep_file){.path = t->conf->path,
                              .current = t->done,
                              .failed = t->said != NULL,
                              .writes = t->writes,
                              .failures = t->failures};
    return true;
}

bool keep_is_written(const struct keep *k)
{
    struct keep_file f;
    for (size_t i = 0; keep_file(k, i, &f); i++)
        if (!f.current)
            return false;
    return k->generation > 0;
}

const char *keep_failure(const struct keep *k)
{
    const char *text = k->guard != NULL ? hosts_guard_failure(k->guard) : NULL;
    for (size_t i = 0; text == NULL && i < k->conf.nhostfiles; i++)
        text = k->targets[i].said;
    return text;
}

static int diff_hostfile(const struct keep_conf *conf, const struct keep_hostfile *h,
                         const struct members *members, struct buf *out,
                         struct err *err)
{
    BUF_AUTO now = BUF_INIT, then = BUF_INIT;
    STRV_AUTO warnings = STRV_INIT;
    slurp(h->path, &now, NULL);
    int rc = render_hostfile(conf, h, members, &then, &warnings, err);
    if (rc < 0)
        return -1;
    buf_printf(out, "--- %s%s\n", h->path, rc > 0 ? "" : " (members are missing)");
    if (rc > 0)
        hosts_diff(&now, &then, out);
    return 0;
}

int keep_diff(const struct keep_conf *conf, const struct members *members,
              struct buf *out, struct err *err)
{
    HOSTS_WANT_AUTO want = HOSTS_WANT_INIT;
    STRV_AUTO refused = STRV_INIT;
    struct resolvconf resolv;
    read_resolv_conf(conf->spec, &resolv);
    hosts_members(members, &resolv, is_pods(conf->spec), &want, &refused);
    resolvconf_free(&resolv);
    for (size_t i = 0; i < refused.n; i++)
        log_warn(conf->log, "%s", refused.v[i]);
    if (conf->hosts != NULL) {
        buf_printf(out, "--- %s\n", conf->hosts);
        if (hosts_file_diff(conf->hosts, &want, out, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < conf->nhostfiles; i++)
        if (diff_hostfile(conf, &conf->hostfiles[i], members, out, err) < 0)
            return -1;
    return 0;
}
