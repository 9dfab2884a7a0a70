// A source over a fake DNS server.
#include "source_bed.h"

#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/loop.h"
#include "common/mem.h"

void source_bed_put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s", path);
    fputs(text, f);
    fclose(f);
}

void source_bed_start(struct source_bed *b)
{
    memset(b, 0, sizeof *b);
    b->base = loop_create();
    b->server = fakedns_create(b->base);
    strcpy(b->dir, "/tmp/muster-test-XXXXXX");
    cr_assert_not_null(mkdtemp(b->dir));
    snprintf(b->resolv_conf, sizeof b->resolv_conf, "%s/resolv.conf", b->dir);
    snprintf(b->hosts_file, sizeof b->hosts_file, "%s/hosts", b->dir);
    snprintf(b->hostfile, sizeof b->hostfile, "%s/hostfile", b->dir);
    source_bed_put_file(
        b->resolv_conf,
        "search team-a.svc.kube.local svc.kube.local kube.local\noptions ndots:5\n");
    source_bed_put_file(b->hosts_file,
                        "127.0.0.1 localhost\n10.7.7.7 rack7\n10.8.8.8 old.train\n");
}

void source_bed_stop(struct source_bed *b)
{
    source_destroy(b->source);
    if (b->server != NULL)
        fakedns_destroy(b->server);
    loop_destroy(b->base);
    members_free(&b->members);
    err_clear(&b->err);
    unlink(b->resolv_conf);
    unlink(b->hosts_file);
    unlink(b->hostfile);
    rmdir(b->dir);
}

char *source_bed_describe(const struct members *m)
{
    BUF_AUTO out = BUF_INIT;
    for (size_t i = 0; i < m->n; i++) {
        char at[64];
        members_address(&m->v[i], at, sizeof at);
        buf_printf(&out, "%s%s%s%s", i > 0 ? " " : "", m->v[i].name,
                   at[0] != '\0' ? "=" : "!", at[0] != '\0' ? at : m->v[i].why);
    }
    for (size_t i = 0; i < m->warnings.n; i++)
        buf_printf(&out, "#%s", m->warnings.v[i]);
    return buf_steal_str(&out);
}

static void on_update(void *arg, const struct members *members)
{
    struct source_bed *b = arg;
    cr_assert_not(b->failed);
    members_copy(&b->members, members);
    b->updates++;
    CLEANUP_FREE char *now = source_bed_describe(members);
    if (b->destroy) {
        source_destroy(b->source);
        b->source = NULL;
    }
    if (b->until == NULL || strcmp(b->until, now) == 0)
        event_base_loopbreak(b->base);
}

static void on_failed(void *arg, const struct err *err)
{
    struct source_bed *b = arg;
    cr_assert_not(b->failed);
    b->failed = true;
    err_copy(&b->err, err);
    if (b->destroy) {
        source_destroy(b->source);
        b->source = NULL;
    }
    event_base_loopbreak(b->base);
}

bool source_bed_begin(struct source_bed *b, enum source_kind kind, const char *text)
{
    static const struct source_ops ops = {.update = on_update, .failed = on_failed};
    struct source_spec spec = {
        .kind = kind,
        .text = text,
        .slots = -1,
        .poll_ms = b->poll_ms,
        .resolv_conf = b->resolv_conf,
        .hosts_file = b->hosts_file,
        .dns_servers = b->server != NULL ? fakedns_server(b->server) : NULL};
    b->source = source_start(b->base, &spec, &ops, b, NULL, &b->err);
    cr_assert_eq(b->updates, 0);
    return b->source != NULL;
}

void source_bed_await(struct source_bed *b, const char *until)
{
    CLEANUP_FREE char *now = source_bed_describe(&b->members);
    b->until = until;
    if (b->updates == 0 || strcmp(now, until) != 0)
        event_base_dispatch(b->base);
}

void source_bed_expect_first(struct source_bed *b, const char *expected)
{
    b->until = NULL;
    event_base_dispatch(b->base);
    CLEANUP_FREE char *got = source_bed_describe(&b->members);
    cr_assert_str_eq(got, expected, "got %s, expected %s (%s)", got, expected,
                     b->failed ? b->err.text : "no error");
}

void source_bed_rounds(struct source_bed *b, unsigned n)
{
    struct source_status status;
    source_status(b->source, &status);
    for (uint64_t end = status.rounds + n; status.rounds < end;) {
        event_base_loop(b->base, EVLOOP_ONCE);
        source_status(b->source, &status);
    }
}

size_t source_bed_asked(const struct source_bed *b, const char *line)
{
    size_t n = 0, len = strlen(line);
    for (const char *at = fakedns_log(b->server); *at != '\0';) {
        size_t all = strcspn(at, "\n");
        n += all == len && strncmp(at, line, len) == 0 ? 1 : 0;
        at += all + (at[all] != '\0' ? 1 : 0);
    }
    return n;
}
