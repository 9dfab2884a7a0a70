// Answers for kubelet and Prometheus.
#include "sidecar/page.h"

#include <stdlib.h>

#include "common/httpd.h"
#include "common/mem.h"
#include "common/promtext.h"
#include "config.h"
#include "hostfile/follow.h"
#include "sidecar/hook.h"
#include "sidecar/keep.h"

// ---- probes -----------------------------------------------------------------------

static int render_alive(const void *arg, struct buf *body)
{
    buf_append_str(body, "ok\n");
    return 200;
}

// NULL: it is ready; else why not. Caller frees.
static char *not_ready(const struct page *p)
{
    struct follow_health source = {0};
    struct keep_file f;
    if (*p->follow != NULL)
        follow_health(*p->follow, &source);
    // After a launcher's roll the source is followed anew, and what is known stays.
    if (!source.read && !*p->led)
        return xasprintf("the source was not read yet: %s",
                         source.said != NULL ? source.said : "no answer yet");
    for (size_t i = 0; keep_file(p->keep, i, &f); i++)
        if (f.failed)
            return xasprintf("%s cannot be written", f.path);
    return NULL;
}

static int render_ready(const void *arg, struct buf *body)
{
    CLEANUP_FREE char *why = not_ready(arg);
    buf_printf(body, "%s\n", why != NULL ? why : "ok");
    return why != NULL ? 503 : 200;
}

// ---- metrics ----------------------------------------------------------------------

static void put_members(const struct page *p, struct buf *out)
{
    const struct members *m = keep_members(p->keep);
    size_t with = 0;
    for (size_t i = 0; i < m->n; i++)
        with += m->v[i].addr.ss_family != 0 ? 1 : 0;
    promtext_one(out, "muster_sidecar_members", PROMTEXT_GAUGE,
                 "Members that the source names.", (double)m->n);
    promtext_one(out, "muster_sidecar_members_with_address", PROMTEXT_GAUGE,
                 "Members whose address is known.", (double)with);
    promtext_one(out, "muster_sidecar_generation", PROMTEXT_COUNTER,
                 "Changes of what is known of the members.",
                 (double)keep_generation(p->keep));
}

enum { CURRENT, WRITES, FAILURES };

static void put_file_metric(const struct page *p, int which, const char *name,
                            enum promtext_kind kind, const char *help, struct buf *out)
{
    struct keep_file f;
    promtext_head(out, name, kind, help);
    for (size_t i = 0; keep_file(p->keep, i, &f); i++)
        promtext_sample(out, name, "file", f.path,
                        which == CURRENT  ? (double)f.current
                        : which == WRITES ? (double)f.writes
                                          : (double)f.failures);
}

static void put_files(const struct page *p, struct buf *out)
{
    put_file_metric(p, CURRENT, "muster_sidecar_file_current", PROMTEXT_GAUGE,
                    "1: the file says what is known of the members.", out);
    put_file_metric(p, WRITES, "muster_sidecar_file_writes_total", PROMTEXT_COUNTER,
                    "Times that the file was changed.", out);
    put_file_metric(p, FAILURES, "muster_sidecar_file_failures_total", PROMTEXT_COUNTER,
                    "Times that the file could not be written.", out);
}

static void put_source(const struct page *p, struct buf *out)
{
    struct follow_health h;
    follow_health(*p->follow, &h);
    promtext_one(out, "muster_sidecar_source_read", PROMTEXT_GAUGE,
                 "1: the source was read at least once.", h.read);
    if (h.age_ms >= 0)
        promtext_one(out, "muster_sidecar_source_age_seconds", PROMTEXT_GAUGE,
                     "Since the hostfile was read, or DNS gave addresses.",
                     (double)h.age_ms / 1000);
    promtext_one(out, "muster_sidecar_source_changes_total", PROMTEXT_COUNTER,
                 "Texts of the hostfile that were taken.", (double)h.changes);
    promtext_one(out, "muster_sidecar_source_failures_total", PROMTEXT_COUNTER,
                 "Times that the source could not be read.", (double)h.failures);
}

static void put_dns(const struct page *p, struct buf *out)
{
    struct source_status s;
    follow_status(*p->follow, &s);
    dns_stats_metrics(&s.dns, "muster_sidecar", out);
    promtext_one(out, "muster_sidecar_source_rounds_total", PROMTEXT_COUNTER,
                 "Rounds of questions.", (double)s.rounds);
}

static void put_hook(const struct page *p, struct buf *out)
{
    struct hook_status s;
    if (p->hook == NULL)
        return;
    hook_status(p->hook, &s);
    promtext_one(out, "muster_sidecar_hook_runs_total", PROMTEXT_COUNTER,
                 "Times that the program of --on-change was started.", (double)s.runs);
    promtext_one(out, "muster_sidecar_hook_failures_total", PROMTEXT_COUNTER,
                 "Times that it could not be started, failed or took too long.",
                 (double)s.failures);
    promtext_one(out, "muster_sidecar_hook_running", PROMTEXT_GAUGE,
                 "1: it is running.", s.running);
    promtext_one(out, "muster_sidecar_hook_generation", PROMTEXT_GAUGE,
                 "The generation that it was told last.", (double)s.generation);
}

static int render_metrics(const void *arg, struct buf *out)
{
    const struct page *p = arg;
    promtext_head(out, "muster_sidecar_build_info", PROMTEXT_GAUGE, "Version.");
    promtext_sample(out, "muster_sidecar_build_info", "version", MUSTER_VERSION, 1);
    put_members(p, out);
    put_files(p, out);
    promtext_one(out, "muster_sidecar_source_followed", PROMTEXT_GAUGE,
                 "0: a launcher's roll counts, nobody else is asked.",
                 *p->follow != NULL);
    if (*p->follow != NULL) {
        put_source(p, out);
        put_dns(p, out);
    }
    put_hook(p, out);
    return 200;
}

// ---- serving ----------------------------------------------------------------------

struct httpd *page_serve(struct event_base *base, const char *where,
                         const struct page *p, struct log *log, struct err *err)
{
    static const char text[] = "text/plain; charset=utf-8";
    static const struct httpd_page pages[] = {
        {"/healthz", text, render_alive},
        {"/readyz", text, render_ready},
        {"/metrics", PROMTEXT_TYPE, render_metrics},
    };
    return httpd_create(base, where, pages, sizeof pages / sizeof *pages, p, log, err);
}
