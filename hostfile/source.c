// Sources: reads what the spec names and starts the engine that resolves it.
#include "hostfile/source.h"

#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/hostlist.h"
#include "hostfile/hostname.h"
#include "hostfile/slurp.h"
#include "hostfile/source_impl.h"

struct source {
    struct source_env env;
    struct source_list *list; // one of the two
    struct source_service *service;
};

char *source_describe(const struct source_spec *spec)
{
    switch (spec->kind) {
    case SOURCE_LOCAL: return xstrdup("this machine");
    case SOURCE_HOSTFILE: return xasprintf("hostfile %s", spec->text);
    case SOURCE_HOSTS: return xasprintf("host list %s", spec->text);
    case SOURCE_DNS: return xasprintf("headless Service %s", spec->text);
    case SOURCE_PODS: return xasprintf("pods %s", spec->text);
    }
    return xstrdup("source");
}

bool source_can_grow(const struct source_spec *spec)
{
    return spec->kind == SOURCE_DNS;
}

// ---- what the engines share -------------------------------------------------------

void source_report(struct source_env *env, const struct members *now)
{
    if (env->reported && members_equal(&env->last, now))
        return;
    members_copy(&env->last, now);
    env->reported = true;
    env->ops.update(env->arg, now);
}

static bool all_known(const struct members *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].addr.ss_family == 0)
            return false;
    return m->n > 0;
}

// Members that are missing are told by whoever waits for them; that DNS fails while all are
// known nobody would notice.
void source_trouble(struct source_env *env, const char *why)
{
    bool same = env->trouble != NULL && why != NULL && strcmp(env->trouble, why) == 0;
    if (why != NULL && !same && all_known(&env->last))
        log_warn(env->log, "%s: %s; what is known stays", env->what, why);
    if (same)
        return;
    free(env->trouble);
    env->trouble = why != NULL ? xstrdup(why) : NULL;
}

// A random number from lo to hi.
static uint64_t jitter(uint64_t lo, uint64_t hi)
{
    uint32_t r;
    evutil_secure_rng_get_bytes(&r, sizeof r);
    return lo + r % (hi - lo + 1);
}

void source_pace_begin(struct source_pace *pace)
{
    pace->ttl = pace->no_ttl = 0;
    pace->questions = 0;
}

void source_pace_count(struct source_pace *pace, const struct resolver_result *r)
{
    pace->questions++;
    if (r->ttl == 0)
        return;
    if (r->n > 0)
        pace->ttl = pace->ttl == 0 || r->ttl < pace->ttl ? r->ttl : pace->ttl;
    else
        pace->no_ttl = r->ttl > pace->no_ttl ? r->ttl : pace->no_ttl;
}

static uint64_t clamp(uint64_t v, uint64_t lo, uint64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

uint64_t source_pace_poll(const struct source_pace *pace)
{
    uint64_t hi = pace->poll_ms > 0 ? pace->poll_ms : SOURCE_POLL_MAX_MS;
    uint64_t lo = hi < SOURCE_POLL_MIN_MS ? hi : SOURCE_POLL_MIN_MS;
    uint64_t wait = pace->ttl > 0 ? clamp((uint64_t)pace->ttl * 1000, lo, hi) : hi;
    return jitter(wait * 3 / 4, wait);
}

uint64_t source_pace_retry(struct source_pace *pace)
{
    enum { A_SECOND = 500, DOUBLINGS = 3, PATIENCE = 30 };
    unsigned step = pace->step < DOUBLINGS ? pace->step : DOUBLINGS;
    uint64_t hi = (uint64_t)SOURCE_RETRY_MIN_MS << step;
    uint64_t wait = jitter(step > 0 ? hi / 2 : hi, hi);
    uint64_t no = clamp((uint64_t)pace->no_ttl * 1000, 0, SOURCE_RETRY_MAX_MS);
    uint64_t least = pace->questions * 1000 / A_SECOND;
    uint64_t poll = source_pace_poll(pace);
    pace->step++;
    if (wait < no)
        wait = jitter(no * 3 / 4, no);
    if (pace->poll_ms > 0 && (wait > poll || pace->step > PATIENCE))
        wait = poll;
    return wait > least ? wait : least;
}

// ---- reading the spec -------------------------------------------------------------

static void add_local(struct members *to)
{
    CLEANUP_FREE char *self = hostname_own();
    struct member *m = members_add(to, self, strlen(self));
    hostname_literal("127.0.0.1", strlen("127.0.0.1"), &m->addr);
}

static int read_hostfile(const struct source_spec *spec, struct log *log,
                         struct members *to, struct err *err)
{
    CLEANUP_FREE char *self = hostname_own();
    const struct dialect *as,
        *d = spec->dialect != NULL ? spec->dialect : dialect_auto();
    BUF_AUTO own = BUF_INIT;
    const struct buf *text = spec->content != NULL ? spec->content : &own;
    if ((spec->content == NULL && slurp(spec->text, &own, err) < 0) ||
        dialect_read(d, (const char *)buf_data(text), buf_len(text), spec->text, self,
                     to, &as, err) < 0)
        return -1;
    log_info(log, "%s: read as %s", spec->text, dialect_name(as));
    return members_merge(to, spec->text, err);
}

static int read_hosts(const struct source_spec *spec, struct members *to,
                      struct err *err)
{
    CLEANUP_FREE char *self = hostname_own();
    bool pods = spec->kind == SOURCE_PODS;
    int bare = spec->slots >= 0 || pods ? spec->slots : 1;
    return hostlist_read(spec->text, pods ? "--pods" : "--host", bare, self, to, err);
}

static int read_members(const struct source_spec *spec, struct log *log,
                        struct members *to, struct err *err)
{
    int rc = 0;
    if (spec->kind == SOURCE_HOSTFILE)
        rc = read_hostfile(spec, log, to, err);
    else if (spec->kind == SOURCE_LOCAL)
        add_local(to);
    else
        rc = read_hosts(spec, to, err);
    for (size_t i = 0; rc == 0 && i < to->n; i++)
        if (to->v[i].slots < 0)
            to->v[i].slots = spec->slots;
    return rc;
}

static int start_list(struct source *s, const struct source_spec *spec,
                      struct resolver_config *config, struct err *err)
{
    MEMBERS_AUTO members = MEMBERS_INIT;
    if (read_members(spec, s->env.log, &members, err) < 0)
        return -1;
    config->alone = members.n == 1;
    enum names_kind kind = spec->kind == SOURCE_PODS ? NAMES_POD : NAMES_HOST;
    s->list = source_list_create(&s->env, &members, kind, config, err);
    return s->list != NULL ? 0 : -1;
}

static int start_service(struct source *s, const struct source_spec *spec,
                         const struct resolver_config *config, struct err *err)
{
    struct place at = {.file = "--dns", .column = 1};
    if (place_check_bytes(&at, spec->text, strlen(spec->text), err) < 0 ||
        hostname_check(spec->text, strlen(spec->text), &at, err) < 0)
        return -1;
    s->service = source_service_create(&s->env, spec->text, spec->slots, config, err);
    return s->service != NULL ? 0 : -1;
}

struct source *source_start(struct event_base *base, const struct source_spec *spec,
                            const struct source_ops *ops, void *arg, struct log *log,
                            struct err *err)
{
    struct source *s = xcalloc(1, sizeof *s);
    s->env = (struct source_env){.base = base,
                                 .ops = *ops,
                                 .arg = arg,
                                 .log = log,
                                 .poll_ms = spec->poll_ms,
                                 .what = source_describe(spec)};
    struct resolver_config config = {.resolv_conf = spec->resolv_conf,
                                     .hosts_file = spec->hosts_file,
                                     .dns_servers = spec->dns_servers};
    int rc = spec->kind == SOURCE_DNS ? start_service(s, spec, &config, err)
                                      : start_list(s, spec, &config, err);
    if (rc == 0)
        return s;
    source_destroy(s);
    return NULL;
}

void source_recheck(struct source *s, const char *lost)
{
    if (s->list != NULL)
        source_list_recheck(s->list, lost);
    else
        source_service_recheck(s->service, lost);
}

void source_status(const struct source *s, struct source_status *out)
{
    const struct source_env *env = &s->env;
    const struct dns_stats *dns =
        s->list != NULL ? source_list_dns(s->list) : source_service_dns(s->service);
    *out = (struct source_status){
        .members = env->last.n, .rounds = env->rounds, .good_age_ms = -1};
    for (size_t i = 0; i < env->last.n; i++)
        out->addressed += env->last.v[i].addr.ss_family != 0 ? 1 : 0;
    if (dns != NULL)
        out->dns = *dns;
    if (out->dns.good_ms > 0)
        out->good_age_ms = (int64_t)(loop_now_ms() - out->dns.good_ms);
    if (env->trouble != NULL)
        snprintf(out->last_error, sizeof out->last_error, "%s", env->trouble);
}

void source_destroy(struct source *s)
{
    if (s == NULL)
        return;
    source_list_destroy(s->list);
    source_service_destroy(s->service);
    members_free(&s->env.last);
    free(s->env.trouble);
    free(s->env.what);
    free(s);
}
