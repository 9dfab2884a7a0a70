// Resolving one name after the plan of names.h.
#include "hostfile/resolver.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <utlist.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/dns.h"
#include "hostfile/etchosts.h"
#include "hostfile/hostname.h"
#include "hostfile/ownaddr.h"
#include "hostfile/slurp.h"

struct resolver {
    struct resolvconf conf;
    struct dns *dns; // NULL: no server
    struct etchosts *hosts;
    char *conf_path, *hosts_path;
    struct err unread; // why conf_path could not be read
    char *self;        // this machine's name
    bool alone;
    struct question *questions; // that wait for DNS
    struct reverse *reverses;
};

struct question {
    struct resolver *resolver;
    struct names_plan plan;
    char *name;
    size_t next; // of plan.ask
    enum resolver_family family;
    bool other; // the second kind of records is being asked for
    resolver_done *done;
    void *arg;
    struct question *prev, *after;
};

struct reverse {
    struct resolver *resolver;
    char *suffix; // without final dot
    void (*done)(void *arg, const char *head, bool sure);
    void *arg;
    struct reverse *prev, *next;
};

// ---- life -----------------------------------------------------------------------

static void split_servers(const char *csv, struct strv *out)
{
    CLEANUP_FREE char *copy = xstrdup(csv);
    char *rest, *one = strtok_r(copy, ", ", &rest);
    for (; one != NULL; one = strtok_r(NULL, ", ", &rest))
        strv_add(out, one);
}

static void read_conf(struct resolver *r, const char *servers)
{
    BUF_AUTO text = BUF_INIT;
    if (slurp(r->conf_path, &text, &r->unread) == 0)
        resolvconf_parse((const char *)buf_data(&text), buf_len(&text), &r->conf);
    if (servers == NULL)
        return;
    strv_free(&r->conf.servers);
    split_servers(servers, &r->conf.servers);
}

struct resolver *resolver_create(struct event_base *base,
                                 const struct resolver_config *config, struct err *err)
{
    struct resolver *r = xcalloc(1, sizeof *r);
    r->conf_path =
        xstrdup(config->resolv_conf ? config->resolv_conf : "/etc/resolv.conf");
    r->hosts_path = xstrdup(config->hosts_file ? config->hosts_file : "/etc/hosts");
    r->self = hostname_own();
    r->alone = config->alone;
    read_conf(r, config->dns_servers);
    resolver_reload_hosts(r);
    if (r->conf.servers.n == 0)
        return r;
    r->dns = dns_create(base, &r->conf.servers, err);
    if (r->dns != NULL)
        return r;
    resolver_destroy(r);
    return NULL;
}

static void question_free(struct question *q)
{
    names_plan_free(&q->plan);
    free(q->name);
    free(q);
}

static void reverse_free(struct reverse *v)
{
    free(v->suffix);
    free(v);
}

static void free_questions(struct resolver *r)
{
    struct question *q, *after;
    struct reverse *v, *next;
    DL_FOREACH_SAFE2(r->questions, q, after, after)
    {
        question_free(q);
    }
    DL_FOREACH_SAFE (r->reverses, v, next) {
        reverse_free(v);
    }
}

void resolver_destroy(struct resolver *r)
{
    if (r == NULL)
        return;
    dns_destroy(r->dns);
    free_questions(r);
    etchosts_destroy(r->hosts);
    resolvconf_free(&r->conf);
    err_clear(&r->unread);
    free(r->conf_path);
    free(r->hosts_path);
    free(r->self);
    free(r);
}

bool resolver_has_dns(const struct resolver *r)
{
    return r->dns != NULL;
}

char *resolver_lacks_dns(const struct resolver *r)
{
    bool missing =
        r->unread.kind != NULL && strcmp(r->unread.kind, "HF_NOT_FOUND") == 0;
    return r->unread.text != NULL && !missing
               ? xstrdup(r->unread.text)
               : xasprintf("no nameserver in %s", r->conf_path);
}

const struct dns_stats *resolver_dns(const struct resolver *r)
{
    return r->dns != NULL ? dns_stats(r->dns) : NULL;
}

void resolver_reload_hosts(struct resolver *r)
{
    etchosts_destroy(r->hosts);
    r->hosts = etchosts_load(r->hosts_path);
}

// ---- answers --------------------------------------------------------------------

// The callback may destroy the resolver: the question is off its list by then.
static void finish(struct question *q, const struct resolver_result *result)
{
    DL_DELETE2(q->resolver->questions, q, prev, after);
    q->done(q->arg, result);
    question_free(q);
}

static void finish_one(struct question *q, const struct sockaddr_storage *addr)
{
    struct sockaddr_storage copy = *addr; // a callback may reload the hosts
    finish(q, &(struct resolver_result){.addr = &copy, .n = 1});
}

// Who the group's network is likely to lead to. NULL: not known.
static const struct sockaddr_storage *first_server(const struct resolver *r,
                                                   struct sockaddr_storage *out)
{
    const char *name = r->conf.servers.n > 0 ? r->conf.servers.v[0] : "";
    bool known = hostname_literal(name, strlen(name), out) && hostname_is_peer(out);
    return known ? out : NULL;
}

// This machine has an address without any DNS: that of /etc/hosts or of an interface; only
// a group of its own may have loopback.
static void finish_self(struct question *q)
{
    struct sockaddr_storage addr, server;
    const struct sockaddr_storage *found = etchosts_find(q->resolver->hosts, q->name);
    if (found != NULL && (q->resolver->alone || !hostname_is_loopback(found))) {
        finish_one(q, found);
        return;
    }
    if (q->resolver->alone || !ownaddr_get(first_server(q->resolver, &server), &addr))
        hostname_literal("127.0.0.1", strlen("127.0.0.1"), &addr);
    finish_one(q, &addr);
}

// True when the question is settled without DNS.
static bool try_local(struct question *q)
{
    struct resolver *r = q->resolver;
    struct sockaddr_storage addr;
    if (hostname_literal(q->name, strlen(q->name), &addr)) {
        finish_one(q, &addr);
        return true;
    }
    if (hostname_is_localhost(q->name)) {
        hostname_literal("127.0.0.1", strlen("127.0.0.1"), &addr);
        finish_one(q, &addr);
        return true;
    }
    if (strcasecmp(q->name, r->self) == 0) {
        finish_self(q);
        return true;
    }
    const struct sockaddr_storage *found =
        q->plan.hosts == NAMES_HOSTS_FIRST ? etchosts_find(r->hosts, q->name) : NULL;
    if (found != NULL)
        finish_one(q, found);
    return found != NULL;
}

// Nothing in DNS: the hosts file where it counts, or the reason.
static void give_up(struct question *q, const struct resolver_result *result)
{
    const struct sockaddr_storage *found =
        q->plan.hosts == NAMES_HOSTS_LAST ? etchosts_find(q->resolver->hosts, q->name)
                                          : NULL;
    if (found != NULL)
        finish_one(q, found);
    else
        finish(q, result);
}

// ---- DNS ------------------------------------------------------------------------

static char *reason(const struct question *q, const struct dns_answer *a)
{
    const char *word = dns_status_word(a->status), *name = q->plan.ask.v[q->next];
    if (a->status == DNS_NXDOMAIN || a->status == DNS_NODATA)
        // The right name is the one that was asked first.
        return xasprintf("%s (%s)", word, q->plan.ask.v[0]);
    if (a->status == DNS_TIMEOUT)
        return xasprintf("timeout (no answer from the DNS server %s)", a->server);
    if (a->status == DNS_UNREACHABLE)
        return xasprintf("%s (nothing answers at the DNS server %s)", word, a->server);
    return xasprintf("%s (DNS server %s, asked for %s)", word, a->server, name);
}

static bool wants_other(enum resolver_family family)
{
    return family == RESOLVER_IPV4_FIRST || family == RESOLVER_IPV6_FIRST;
}

static enum dns_type type_of(const struct question *q)
{
    bool v4 = q->family == RESOLVER_IPV4_FIRST || q->family == RESOLVER_IPV4;
    return v4 != q->other ? DNS_A : DNS_AAAA;
}

static void ask_next(struct question *q);

// Placeholders (127.0.0.2, 0.0.0.0) stand for pods that are not there.
static void finish_found(struct question *q, const struct dns_answer *a)
{
    const char *asked = q->plan.ask.v[q->next];
    CLEANUP_FREE struct sockaddr_storage *addr = xcalloc(a->naddr + 1, sizeof *addr);
    size_t n = 0;
    for (size_t i = 0; i < a->naddr; i++)
        if (q->resolver->alone || hostname_is_peer(&a->addr[i]))
            addr[n++] = a->addr[i];
    CLEANUP_FREE char *why =
        xasprintf("DNS has no address for %s but loopback or the like", asked);
    finish(q, &(struct resolver_result){.addr = addr,
                                        .n = n,
                                        .asked = asked,
                                        .ttl = a->ttl,
                                        .why = n == 0 ? why : NULL,
                                        .gone = n == 0});
}

static void on_answer(void *arg, const struct dns_answer *a)
{
    struct question *q = arg;
    if (a->status == DNS_OK) {
        finish_found(q, a);
        return;
    }
    if (a->status == DNS_NODATA && !q->other && wants_other(q->family)) {
        q->other = true;
        ask_next(q);
        return;
    }
    bool gone = a->status == DNS_NXDOMAIN || a->status == DNS_NODATA;
    if (gone && q->next + 1 < q->plan.ask.n) {
        q->next++;
        q->other = false;
        ask_next(q);
        return;
    }
    CLEANUP_FREE char *why = reason(q, a);
    bool silent = a->status == DNS_TIMEOUT || a->status == DNS_UNREACHABLE;
    give_up(q, &(struct resolver_result){
                   .why = why, .gone = gone, .silent = silent, .ttl = a->ttl});
}

static void ask_next(struct question *q)
{
    dns_ask(q->resolver->dns, q->plan.ask.v[q->next], type_of(q), on_answer, q);
}

void resolver_ask(struct resolver *r, const struct resolver_question *question,
                  resolver_done *done, void *arg)
{
    struct question *q = xcalloc(1, sizeof *q);
    q->resolver = r;
    q->name = xstrdup(question->name);
    q->family = question->family;
    q->done = done;
    q->arg = arg;
    DL_APPEND2(r->questions, q, prev, after);
    names_plan(&r->conf, q->name, question->absolute, question->kind, &q->plan);
    if (try_local(q))
        return;
    if (r->dns != NULL) {
        ask_next(q);
        return;
    }
    CLEANUP_FREE char *why = resolver_lacks_dns(r);
    give_up(q, &(struct resolver_result){.why = why});
}

char *resolver_service(const struct resolver *r,
                       const struct resolver_question *question)
{
    return names_service(&r->conf, question->name, question->absolute, question->kind);
}

// ---- reverse --------------------------------------------------------------------

// "train-0" of "train-0.train.ns.svc.d" and suffix "train.ns.svc.d"; NULL: it is no name of
// a host there. (DNS takes any bytes in names.) Caller frees.
static char *head_of(const char *name, const char *suffix)
{
    const struct place nowhere = {.file = ""};
    size_t n = strlen(name), s = strlen(suffix);
    if (n <= s + 1 || name[n - s - 1] != '.' || strcasecmp(name + n - s, suffix) != 0 ||
        hostname_check(name, n, &nowhere, NULL) < 0)
        return NULL;
    return xstrndup(name, n - s - 1);
}

static void on_reverse(void *arg, const struct dns_answer *a)
{
    struct reverse *v = arg;
    CLEANUP_FREE char *head = NULL;
    for (size_t i = 0; i < a->names.n && head == NULL; i++)
        head = head_of(a->names.v[i], v->suffix);
    DL_DELETE(v->resolver->reverses, v);
    v->done(v->arg, head, !dns_status_is_failure(a->status));
    reverse_free(v);
}

void resolver_reverse(struct resolver *r, const struct sockaddr_storage *addr,
                      const char *suffix,
                      void (*done)(void *arg, const char *head, bool sure), void *arg)
{
    struct reverse *v = xcalloc(1, sizeof *v);
    size_t len = strlen(suffix);
    v->resolver = r;
    DL_APPEND(r->reverses, v);
    v->suffix = xstrndup(suffix, len > 0 && suffix[len - 1] == '.' ? len - 1 : len);
    v->done = done;
    v->arg = arg;
    CLEANUP_FREE char *name = dns_reverse_name(addr);
    dns_ask(r->dns, name, DNS_PTR, on_reverse, v);
}
