// resolv.conf, and which names are asked for a name.
#include <criterion/criterion.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "hostfile/names.h"
#include "hostfile/resolvconf.h"

static const char pod[] = "nameserver 10.96.0.10\n"
                          "search team-a.svc.kube.local svc.kube.local kube.local "
                          "corp.example\n"
                          "options ndots:5\n";
static const char laptop[] = "# mine\nnameserver 192.0.2.1\nnameserver fd00::a\n"
                             "search home.arpa lab.example.\n";

static void expect(const char *conf, const char *name, enum names_kind kind,
                   const char *expected)
{
    struct resolvconf rc;
    struct names_plan plan;
    BUF_AUTO b = BUF_INIT;
    size_t len = strlen(name);
    bool absolute = name[len - 1] == '.';
    CLEANUP_FREE char *plain = xstrndup(name, absolute ? len - 1 : len);
    resolvconf_parse(conf, strlen(conf), &rc);
    names_plan(&rc, plain, absolute, kind, &plan);
    buf_append_str(&b, plan.hosts == NAMES_HOSTS_FIRST ? "hosts" : "");
    for (size_t i = 0; i < plan.ask.n; i++)
        buf_printf(&b, "%s%s", buf_len(&b) > 0 ? " " : "", plan.ask.v[i]);
    buf_append_str(&b, plan.hosts == NAMES_HOSTS_LAST ? " hosts" : "");
    CLEANUP_FREE char *got = buf_steal_str(&b);
    cr_assert_str_eq(got, expected, "%s: got %s, expected %s", name, got, expected);
    names_plan_free(&plan);
    resolvconf_free(&rc);
}

Test(names, a_service_is_asked_by_its_one_right_name)
{
    const char *right = "train.team-a.svc.kube.local.";
    expect(pod, "train", NAMES_SERVICE, right);
    expect(pod, "train.team-a", NAMES_SERVICE, right);
    expect(pod, "train.team-a.svc", NAMES_SERVICE, right);
    expect(pod, "train.team-a.svc.kube.local", NAMES_SERVICE, right);
    expect(pod, "train.team-a.svc.kube.local.", NAMES_SERVICE, right);
    expect(pod, "train.TEAM-B.SVC.Kube.Local", NAMES_SERVICE,
           "train.TEAM-B.SVC.Kube.Local.");
    expect(pod, "train.team-b", NAMES_SERVICE, "train.team-b.svc.kube.local.");
    expect(pod, "gpus.corp.example", NAMES_SERVICE, "gpus.corp.example.");
}

Test(names, a_pod_is_asked_by_its_one_right_name)
{
    const char *right = "train-0.train.team-a.svc.kube.local.";
    expect(pod, "train-0.train", NAMES_POD, right);
    expect(pod, "train-0.train.team-a", NAMES_POD, right);
    expect(pod, "train-0.train.team-a.svc", NAMES_POD, right);
    expect(pod, "train-0.train.team-a.svc.kube.local", NAMES_POD, right);
    expect(pod, "train-0.train.team-a.svc.kube.local.", NAMES_POD, right);
}

// dns-05, dns-06, dns-07: the right name is the first that is asked.
Test(names, a_hosts_right_name_comes_first)
{
    expect(pod, "w-0.j.team-a.svc", NAMES_HOST,
           "w-0.j.team-a.svc.kube.local. w-0.j.team-a.svc. hosts");
    expect(pod, "l.j.team-a.svc.kube.local", NAMES_HOST,
           "l.j.team-a.svc.kube.local. hosts");
    expect(pod, "w-0.j", NAMES_HOST, "w-0.j.team-a.svc.kube.local. w-0.j. hosts");
    expect(pod, "node7.corp.example", NAMES_HOST,
           "node7.corp.example.svc.kube.local. node7.corp.example. hosts");
    expect(pod, "n.rack1.corp.example", NAMES_HOST, "n.rack1.corp.example. hosts");
    expect(pod, "node7.corp.example.", NAMES_HOST, "node7.corp.example. hosts");
    expect(pod, "node7", NAMES_HOST,
           "hosts node7.team-a.svc.kube.local. node7.svc.kube.local. node7.kube.local. "
           "node7.corp.example.");
}

Test(names, outside_kubernetes_the_name_itself_comes_first)
{
    expect(laptop, "a.b", NAMES_HOST, "a.b. a.b.home.arpa. a.b.lab.example. hosts");
    expect(laptop, "a.b", NAMES_POD, "a.b. a.b.home.arpa. a.b.lab.example. hosts");
    expect(laptop, "svc", NAMES_SERVICE, "svc. svc.home.arpa. svc.lab.example. hosts");
    expect(laptop, "a.b.", NAMES_SERVICE, "a.b. hosts");
    expect(laptop, "a", NAMES_HOST, "hosts a. a.home.arpa. a.lab.example.");
    expect("", "a", NAMES_HOST, "hosts a.");
}

Test(names, a_cluster_without_a_namespace_entry)
{
    const char *conf = "search svc.d d\n";
    expect(conf, "train", NAMES_SERVICE, "train.svc.d. train.d. train.");
    expect(conf, "train.ns", NAMES_SERVICE, "train.ns.svc.d.");
}

static void expect_service(const char *conf, const char *name, enum names_kind kind,
                           const char *expected)
{
    struct resolvconf rc;
    size_t len = strlen(name);
    bool absolute = name[len - 1] == '.';
    CLEANUP_FREE char *plain = xstrndup(name, absolute ? len - 1 : len);
    resolvconf_parse(conf, strlen(conf), &rc);
    CLEANUP_FREE char *got = names_service(&rc, plain, absolute, kind);
    cr_assert_str_eq(got != NULL ? got : "", expected, "%s: got %s", name, got);
    resolvconf_free(&rc);
}

Test(names, a_pod_hangs_on_its_service)
{
    const char *service = "train.team-a.svc.kube.local";
    expect_service(pod, "train-0.train", NAMES_POD, service);
    expect_service(pod, "train-0.train", NAMES_HOST, service);
    expect_service(pod, "train-0.train.team-a.svc", NAMES_HOST, service);
    expect_service(pod, "train-0.train.team-a.svc.kube.local.", NAMES_POD, service);
    // Names that have no Service in them.
    expect_service(pod, "node7", NAMES_HOST, "");
    expect_service(pod, "node7", NAMES_POD, "");
    expect_service(pod, "n.rack1.corp.example", NAMES_HOST, "");
    expect_service(pod, "n.rack1.corp.example.", NAMES_POD, "");
    expect_service(pod, "10.1.2.3", NAMES_POD, "");
    expect_service(pod, "fd00::5", NAMES_POD, "");
    expect_service(laptop, "w-0.svc.test.", NAMES_POD, "svc.test");
    expect_service(laptop, "w-0.svc.test", NAMES_HOST, "");
    expect_service(laptop, "w-0.svc", NAMES_POD, "");
}

Test(resolvconf, reads_what_resolv_conf_5_says)
{
    struct resolvconf rc;
    const char *text = "; c\n#nameserver 1.1.1.1\n\tnameserver\t10.0.0.1 # x\r\n"
                       "nameserver 010.0.0.1\nnameserver fe80::1%eth0\n"
                       "nameserver fd00::a\nnameserver 10.0.0.3\nnameserver 10.0.0.4\n"
                       "domain old\nsearch a.  b.c .\noptions rotate ndots:99\nbogus\n"
                       "nameserver";
    resolvconf_parse(text, strlen(text), &rc);
    cr_assert_eq(rc.servers.n, 3);
    cr_assert_str_eq(rc.servers.v[0], "10.0.0.1");
    cr_assert_str_eq(rc.servers.v[1], "fd00::a");
    cr_assert_str_eq(rc.servers.v[2], "10.0.0.3");
    cr_assert_eq(rc.search.n, 2);
    cr_assert_str_eq(rc.search.v[0], "a");
    cr_assert_str_eq(rc.search.v[1], "b.c");
    cr_assert_eq(rc.ndots, 15);
    resolvconf_free(&rc);
    resolvconf_parse("", 0, &rc);
    cr_assert_eq(rc.servers.n + rc.search.n, 0);
    cr_assert_eq(rc.ndots, 1);
    resolvconf_free(&rc);
}
