// Pods on paper.
#include "paper_pod.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/hostlist.h"
#include "hostfile/members.h"

void paper_pod_put(struct paper_pod *p, const char *path, const char *text)
{
    CLEANUP_FREE char *whole = xasprintf("%s%s", p->root, path);
    for (char *c = strchr(whole + strlen(p->root) + 1, '/'); c != NULL;
         c = strchr(c + 1, '/')) {
        *c = '\0';
        mkdir(whole, 0700);
        *c = '/';
    }
    FILE *f = fopen(whole, "w");
    cr_assert_not_null(f, "%s", whole);
    fputs(text, f);
    fclose(f);
}

void paper_pod_begin(struct paper_pod *p, const char *host, const char *subdomain)
{
    *p = (struct paper_pod){.root = "/tmp/test_detect.XXXXXX"};
    cr_assert_not_null(mkdtemp(p->root));
    snprintf(p->host, sizeof p->host, "%s", host);
    CLEANUP_FREE char *own =
        subdomain != NULL ? xasprintf("10.0.0.5\t%s.%s.default.svc.cluster.local\t%s\n",
                                      host, subdomain, host)
                          : xasprintf("10.0.0.5\t%s\n", host);
    CLEANUP_FREE char *hosts = xasprintf("# Kubernetes-managed hosts file.\n"
                                         "127.0.0.1\tlocalhost\n"
                                         "::1\tlocalhost ip6-localhost ip6-loopback\n"
                                         "fe00::0\tip6-localnet\n%s",
                                         own);
    paper_pod_put(p, "/etc/hosts", hosts);
    paper_pod_put(p, "/etc/resolv.conf",
                  "search default.svc.cluster.local svc.cluster.local cluster.local\n"
                  "nameserver 10.96.0.10\noptions ndots:5\n");
    strv_setenv(&p->env, "KUBERNETES_SERVICE_HOST", "10.96.0.1");
}

void paper_pod_set(struct paper_pod *p, const char *name, const char *value)
{
    strv_setenv(&p->env, name, value);
}

int paper_pod_look_wanted(struct paper_pod *p, uint32_t members, bool wanted)
{
    const struct detect_view view = {
        .env = p->env.v, .root = p->root, .hostname = p->host};
    detected_free(&p->found);
    err_clear(&p->err);
    return detect(&view, members, wanted, &p->found, &p->err);
}

int paper_pod_look(struct paper_pod *p, uint32_t members)
{
    return paper_pod_look_wanted(p, members, false);
}

static int unlink_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    return remove(path);
}

void paper_pod_end(struct paper_pod *p)
{
    nftw(p->root, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
    strv_free(&p->env);
    detected_free(&p->found);
    err_clear(&p->err);
}

void paper_pod_expect(struct paper_pod *p, enum source_kind kind, const char *text,
                      const char *line)
{
    cr_assert_null(p->err.text, "%s", p->err.text);
    cr_assert_not_null(p->found.system, "nothing was found");
    CLEANUP_FREE char *is = detected_describe(&p->found);
    cr_assert_eq(p->found.spec.kind, kind, "%s", is);
    cr_assert_str_eq(p->found.spec.text, text);
    cr_assert_str_eq(is, line);
}

void paper_pod_expect_names(struct paper_pod *p, const char *const *names, size_t n)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(hostlist_read(p->found.spec.text, "--pods", -1, NULL, &m, &err), 0,
                 "%s", err_text(&err));
    cr_assert_eq(m.n, n);
    for (size_t i = 0; i < n; i++)
        cr_assert_str_eq(m.v[i].name, names[i]);
}

void paper_pod_expect_error(struct paper_pod *p, uint32_t members, const char *text)
{
    cr_assert_eq(paper_pod_look(p, members), -1, "no error: %s", text);
    cr_assert_str_eq(err_text(&p->err), text);
}

void paper_pod_expect_dialect(struct paper_pod *p, const char *name)
{
    cr_assert_str_eq(
        p->found.spec.dialect != NULL ? dialect_name(p->found.spec.dialect) : "", name);
}

void paper_pod_expect_nothing(struct paper_pod *p, const char *hint)
{
    cr_assert_eq(paper_pod_look(p, 0), 0, "%s", err_text(&p->err));
    cr_assert_null(p->found.system);
    cr_assert_str_eq(p->found.hint != NULL ? p->found.hint : "", hint);
}

void paper_pod_lws(struct paper_pod *p, const char *host, const char *subdomain,
                   const char *index)
{
    CLEANUP_FREE char *leader = xasprintf("train-0.%s.default", subdomain);
    paper_pod_begin(p, host, subdomain);
    paper_pod_set(p, "LWS_LEADER_ADDRESS", leader);
    paper_pod_set(p, "LWS_GROUP_SIZE", "4");
    paper_pod_set(p, "LWS_WORKER_INDEX", index);
}
