// Which group a pod is in: each system with exactly the environment and files it gives.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/strv.h"
#include "hostfile/detect.h"
#include "hostfile/dialect.h"
#include "hostfile/hostlist.h"
#include "hostfile/members.h"

// ---- a pod on paper ---------------------------------------------------------------

struct pod {
    char root[64];
    struct strv env;
    char host[256];
    struct detected found;
    struct err err;
};

static void put(struct pod *p, const char *path, const char *text)
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

// As kubelet makes it; subdomain NULL: the pod has none.
static void begin(struct pod *p, const char *host, const char *subdomain)
{
    *p = (struct pod){.root = "/tmp/test_detect.XXXXXX"};
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
    put(p, "/etc/hosts", hosts);
    put(p, "/etc/resolv.conf",
        "search default.svc.cluster.local svc.cluster.local cluster.local\n"
        "nameserver 10.96.0.10\noptions ndots:5\n");
    strv_setenv(&p->env, "KUBERNETES_SERVICE_HOST", "10.96.0.1");
}

static void set(struct pod *p, const char *name, const char *value)
{
    strv_setenv(&p->env, name, value);
}

static int look_wanted(struct pod *p, uint32_t members, bool wanted)
{
    const struct detect_view view = {
        .env = p->env.v, .root = p->root, .hostname = p->host};
    detected_free(&p->found);
    err_clear(&p->err);
    return detect(&view, members, wanted, &p->found, &p->err);
}

static int look(struct pod *p, uint32_t members)
{
    return look_wanted(p, members, false);
}

static int unlink_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    return remove(path);
}

static void end(struct pod *p)
{
    nftw(p->root, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
    strv_free(&p->env);
    detected_free(&p->found);
    err_clear(&p->err);
}

static void expect(struct pod *p, enum source_kind kind, const char *text,
                   const char *line)
{
    cr_assert_null(p->err.text, "%s", p->err.text);
    cr_assert_not_null(p->found.system, "nothing was found");
    CLEANUP_FREE char *is = detected_describe(&p->found);
    cr_assert_eq(p->found.spec.kind, kind, "%s", is);
    cr_assert_str_eq(p->found.spec.text, text);
    cr_assert_str_eq(is, line);
}

// Its names, as the source will read them.
static void expect_names(struct pod *p, const char *const *names, size_t n)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(hostlist_read(p->found.spec.text, "--pods", -1, NULL, &m, &err), 0,
                 "%s", err_text(&err));
    cr_assert_eq(m.n, n);
    for (size_t i = 0; i < n; i++)
        cr_assert_str_eq(m.v[i].name, names[i]);
}

static void expect_error(struct pod *p, uint32_t members, const char *text)
{
    cr_assert_eq(look(p, members), -1, "no error: %s", text);
    cr_assert_str_eq(err_text(&p->err), text);
}

static void expect_dialect(const struct pod *p, const char *name)
{
    cr_assert_str_eq(
        p->found.spec.dialect != NULL ? dialect_name(p->found.spec.dialect) : "", name);
}

static void expect_nothing(struct pod *p, const char *hint)
{
    cr_assert_eq(look(p, 0), 0, "%s", err_text(&p->err));
    cr_assert_null(p->found.system);
    cr_assert_str_eq(p->found.hint != NULL ? p->found.hint : "", hint);
}

// ---- LeaderWorkerSet --------------------------------------------------------------

static void lws(struct pod *p, const char *host, const char *subdomain,
                const char *index)
{
    CLEANUP_FREE char *leader = xasprintf("train-0.%s.default", subdomain);
    begin(p, host, subdomain);
    set(p, "LWS_LEADER_ADDRESS", leader);
    set(p, "LWS_GROUP_SIZE", "4");
    set(p, "LWS_WORKER_INDEX", index);
}

Test(detect, lws_leader_of_a_shared_service)
{
    struct pod p;
    lws(&p, "train-0", "train", "0");
    cr_assert_eq(look(&p, 0), 0);
    expect(&p, SOURCE_PODS, "train-0.train.default,train-0-[1-3].train.default",
           "LeaderWorkerSet group train-0 of 4 (LWS_LEADER_ADDRESS)");
    cr_assert_eq(p.found.members, 4);
    cr_assert_eq(p.found.index, 0);
    cr_assert_eq(p.found.spec.slots, -1);
    const char *const names[] = {"train-0.train.default", "train-0-1.train.default",
                                 "train-0-2.train.default", "train-0-3.train.default"};
    expect_names(&p, names, 4);
    end(&p);
}

Test(detect, lws_worker_of_a_service_of_its_group)
{
    struct pod p;
    lws(&p, "train-0-2", "train-0", "2");
    cr_assert_eq(look(&p, 0), 0);
    expect(&p, SOURCE_PODS, "train-0.train-0.default,train-0-[1-3].train-0.default",
           "LeaderWorkerSet group train-0 of 4 (LWS_LEADER_ADDRESS)");
    cr_assert_eq(p.found.index, 2);
    end(&p);
}

Test(detect, lws_groups_of_one_and_two)
{
    struct pod p;
    lws(&p, "train-0", "train", "0");
    set(&p, "LWS_GROUP_SIZE", "1");
    cr_assert_eq(look(&p, 0), 0);
    cr_assert_str_eq(p.found.text, "train-0.train.default");
    set(&p, "LWS_GROUP_SIZE", "2");
    cr_assert_eq(look(&p, 0), 0);
    cr_assert_str_eq(p.found.text, "train-0.train.default,train-0-1.train.default");
    end(&p);
}

// On the host's network uname is the node's, and kubelet writes no name of the pod.
Test(detect, lws_on_the_hosts_network)
{
    struct pod p;
    lws(&p, "node-7", "train", "3");
    put(&p, "/etc/hosts", "127.0.0.1 localhost\n192.0.2.7 node-7.example.com node-7\n");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    cr_assert_eq(p.found.index, 3);
    end(&p);
}

Test(detect, lws_by_halves_or_wrong)
{
    struct pod p;
    lws(&p, "train-0", "train", "0");
    strv_unsetenv(&p.env, "LWS_GROUP_SIZE");
    expect_error(&p, 0,
                 "LWS_LEADER_ADDRESS is set and LWS_GROUP_SIZE is not: "
                 "LeaderWorkerSet sets both");
    set(&p, "LWS_GROUP_SIZE", "four");
    expect_error(&p, 0, "LWS_GROUP_SIZE is 'four', not a whole number from 1 to 65536");
    set(&p, "LWS_GROUP_SIZE", "0");
    expect_error(&p, 0, "LWS_GROUP_SIZE is '0', not a whole number from 1 to 65536");
    set(&p, "LWS_GROUP_SIZE", "4");
    set(&p, "LWS_WORKER_INDEX", "-1");
    expect_error(&p, 0, "LWS_WORKER_INDEX is '-1', not a whole number from 0 to 65535");
    set(&p, "LWS_WORKER_INDEX", "4");
    expect_error(&p, 0, "LWS_WORKER_INDEX is 4 in a group of LWS_GROUP_SIZE 4");
    set(&p, "LWS_WORKER_INDEX", "3");
    expect_error(&p, 0,
                 "this pod is train-0, but member 3 of the group of LWS_LEADER_ADDRESS "
                 "'train-0.train.default' (LWS_WORKER_INDEX) is train-0-3");
    set(&p, "LWS_LEADER_ADDRESS", ""); // the classic crash
    expect_error(&p, 0,
                 "LWS_GROUP_SIZE is set and LWS_LEADER_ADDRESS is not: "
                 "LeaderWorkerSet sets both");
    set(&p, "LWS_LEADER_ADDRESS", "10.0.0.5");
    expect_error(&p, 0,
                 "LWS_LEADER_ADDRESS is '10.0.0.5', not "
                 "LEADER.SUBDOMAIN.NAMESPACE: the workers' names cannot be told "
                 "from it");
    end(&p);
}

Test(detect, members_within_and_above_what_the_system_says)
{
    struct pod p;
    lws(&p, "train-0", "train", "0");
    cr_assert_eq(look(&p, 3), 0);
    cr_assert_eq(p.found.members, 4);
    expect_error(&p, 5, "--members 5: LeaderWorkerSet has 4 (LWS_LEADER_ADDRESS)");
    end(&p);
}

// ---- Indexed Job, JobSet, StatefulSet ---------------------------------------------

Test(detect, indexed_job)
{
    struct pod p;
    begin(&p, "train-2", "ring");
    set(&p, "JOB_COMPLETION_INDEX", "2");
    cr_assert_eq(look(&p, 4), 0);
    expect(&p, SOURCE_PODS, "train-[0-3].ring",
           "Indexed Job train of 4 (JOB_COMPLETION_INDEX)");
    cr_assert_eq(p.found.members, 4);
    cr_assert_eq(p.found.index, 2);
    expect_error(&p, 0,
                 "this pod is train-2 of train (Indexed Job), which does not tell how "
                 "many there are: give --members M");
    expect_error(&p, 2,
                 "--members 2: this pod is train-2, so its Indexed Job has more");
    set(&p, "JOB_COMPLETION_INDEX", "1");
    expect_error(&p, 4,
                 "JOB_COMPLETION_INDEX is 1, but this pod is train-2, not JOB-1");
    set(&p, "JOB_COMPLETION_INDEX", "one");
    expect_error(&p, 4,
                 "JOB_COMPLETION_INDEX is 'one', not a whole number from 0 to "
                 "65535");
    end(&p);
}

Test(detect, indexed_job_without_a_service)
{
    const char *why =
        "JOB_COMPLETION_INDEX is 2, but the pods of this Job have no names "
        "in DNS: its template needs subdomain, of a headless Service, and "
        "no hostNetwork";
    struct pod p;
    begin(&p, "train-2", NULL);
    set(&p, "JOB_COMPLETION_INDEX", "2");
    expect_nothing(&p, why);
    expect_error(&p, 4, why);
    cr_assert_eq(look_wanted(&p, 0, true), -1);
    end(&p);
}

Test(detect, jobset)
{
    struct pod p;
    begin(&p, "train-workers-0-1", "train");
    set(&p, "JOB_COMPLETION_INDEX", "1");
    cr_assert_eq(look(&p, 2), 0);
    expect(&p, SOURCE_PODS, "train-workers-0-[0-1].train",
           "JobSet train-workers-0 of 2 (JOB_COMPLETION_INDEX)");
    end(&p);
}

// network.subdomain is free; manifests hand the label down as JOBSET_NAME.
Test(detect, jobset_with_its_name_and_another_subdomain)
{
    struct pod p;
    begin(&p, "train-workers-0-1", "ring");
    set(&p, "JOB_COMPLETION_INDEX", "1");
    set(&p, "JOBSET_NAME", "train");
    cr_assert_eq(look(&p, 2), 0);
    expect(&p, SOURCE_PODS, "train-workers-0-[0-1].ring",
           "JobSet train-workers-0 of 2 (JOB_COMPLETION_INDEX)");
    set(&p, "JOBSET_NAME", "other");
    expect_error(&p, 2,
                 "JOBSET_NAME is 'other', but this pod is train-workers-0-1, not "
                 "other-JOB-N-N");
    end(&p);
}

Test(detect, statefulset)
{
    struct pod p;
    begin(&p, "train-2", "ring");
    expect_nothing(&p, "this pod has the name of a StatefulSet's, train-2.ring: "
                       "--members M makes a group of M of them");
    cr_assert_eq(look(&p, 4), 0);
    expect(&p, SOURCE_PODS, "train-[0-3].ring",
           "StatefulSet train of 4 (train-2.ring)");
    cr_assert_eq(p.found.index, 2);
    cr_assert_eq(look_wanted(&p, 0, true), -1);
    cr_assert_str_eq(err_text(&p.err),
                     "this pod is train-2 of train (StatefulSet), which does not tell "
                     "how many there are: give --members M");
    expect_error(&p, 2,
                 "--members 2: this pod is train-2, so its StatefulSet has more");
    end(&p);
}

Test(detect, a_name_alone_is_no_statefulset)
{
    struct pod p;
    begin(&p, "train-2", "ring");
    strv_unsetenv(&p.env, "KUBERNETES_SERVICE_HOST");
    expect_nothing(&p, "");
    end(&p);
    begin(&p, "train-2", NULL);
    expect_nothing(&p, "");
    end(&p);
    begin(&p, "train-7d9f-x2", "ring"); // a Deployment's
    expect_nothing(&p, "");
    end(&p);
    begin(&p, "train-02", "ring");
    expect_nothing(&p, "");
    end(&p);
}

// ---- names ------------------------------------------------------------------------

Test(detect, the_whole_name_as_hostname_and_two_addresses)
{
    struct pod p;
    begin(&p, "train-1", "train");
    snprintf(p.host, sizeof p.host, "train-1.train.default.svc.cluster.local");
    put(&p, "/etc/hosts",
        "10.0.0.5\ttrain-1.train.default.svc.cluster.local\ttrain-1\n"
        "fd00::5\ttrain-1.train.default.svc.cluster.local\ttrain-1\n");
    set(&p, "JOB_COMPLETION_INDEX", "1");
    cr_assert_eq(look(&p, 2), 0, "%s", err_text(&p.err));
    cr_assert_str_eq(p.found.text, "train-[0-1].train");
    end(&p);
}

// dnsPolicy None or Default: nobody searches the pod's namespace.
Test(detect, whole_names_where_the_namespace_is_not_searched)
{
    struct pod p;
    begin(&p, "train-1", "train");
    put(&p, "/etc/resolv.conf", "search example.com\nnameserver 192.0.2.1\n");
    set(&p, "JOB_COMPLETION_INDEX", "1");
    cr_assert_eq(look(&p, 2), 0, "%s", err_text(&p.err));
    cr_assert_str_eq(p.found.text, "train-[0-1].train.default.svc.cluster.local");
    end(&p);
}

// ---- hostfiles --------------------------------------------------------------------

static void mpijob(struct pod *p, const char *variable, const char *text)
{
    begin(p, "pi-launcher", NULL);
    set(p, "K_MPI_JOB_ROLE", "launcher");
    if (variable != NULL)
        set(p, variable, "/etc/mpi/hostfile");
    put(p, "/etc/mpi/hostfile", text);
    put(p, "/etc/mpi/discover_hosts.sh",
        "#!/bin/sh\necho pi-worker-0.pi.default.svc\n");
}

Test(detect, mpijob_in_its_three_forms)
{
    static const char *const forms[][3] = {
        {"OMPI_MCA_orte_default_hostfile", "pi-worker-0.pi.default.svc slots=2\n",
         "openmpi"},
        {"I_MPI_HYDRA_HOST_FILE", "pi-worker-0.pi.default.svc:2\n", "intel"},
        {"HYDRA_HOST_FILE", "pi-worker-0.pi.default.svc:2\n", "hydra"},
    };
    for (size_t i = 0; i < 3; i++) {
        struct pod p;
        mpijob(&p, forms[i][0], forms[i][1]);
        set(&p, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
        CLEANUP_FREE char *line =
            xasprintf("MPIJob hostfile /etc/mpi/hostfile (%s)", forms[i][0]);
        cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
        expect(&p, SOURCE_HOSTFILE, "/etc/mpi/hostfile", line);
        expect_dialect(&p, forms[i][2]);
        cr_assert_eq(p.found.members, 0);
        cr_assert_eq(p.found.index, -1);
        end(&p);
    }
}

// Its JAX form has the file and no variable.
Test(detect, mpijob_with_the_file_alone)
{
    struct pod p;
    mpijob(&p, NULL, "pi-worker-0.pi.default.svc slots=2\n");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_HOSTFILE, "/etc/mpi/hostfile",
           "MPIJob hostfile /etc/mpi/hostfile (found there)");
    expect_dialect(&p, "");
    end(&p);
}

Test(detect, mpijob_worker)
{
    struct pod p;
    begin(&p, "pi-worker-1", "pi");
    set(&p, "K_MPI_JOB_ROLE", "worker");
    expect_error(&p, 0,
                 "K_MPI_JOB_ROLE is worker: an MPIJob gives its hostfile to the "
                 "launcher alone; here give --members M");
    cr_assert_eq(look(&p, 2), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_PODS, "pi-worker-[0-1].pi",
           "MPIJob pi-worker of 2 (K_MPI_JOB_ROLE)");
    expect_error(&p, 1, "--members 1: this pod is pi-worker-1, worker 1 of an MPIJob");
    end(&p);
}

Test(detect, mpi_without_the_file_or_with_two)
{
    struct pod p;
    begin(&p, "pi-launcher", NULL);
    set(&p, "K_MPI_JOB_ROLE", "launcher");
    expect_error(&p, 0,
                 "K_MPI_JOB_ROLE is 'launcher', but there is no "
                 "/etc/mpi/hostfile");
    set(&p, "HYDRA_HOST_FILE", "/etc/mpi/hostfile");
    expect_error(&p, 0,
                 "HYDRA_HOST_FILE is '/etc/mpi/hostfile', but there is no such file");
    put(&p, "/etc/mpi/hostfile", "a:2\n");
    set(&p, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/other");
    expect_error(&p, 0,
                 "OMPI_MCA_orte_default_hostfile is '/etc/mpi/other' and "
                 "HYDRA_HOST_FILE is '/etc/mpi/hostfile': two hostfiles");
    set(&p, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect_dialect(&p, ""); // by its content
    end(&p);
}

// Trainer v2, MPI runtime: the launcher is a pod of a JobSet, too.
Test(detect, trainjob_with_mpi)
{
    struct pod p;
    begin(&p, "tj-launcher-0-0", "tj");
    set(&p, "JOB_COMPLETION_INDEX", "0");
    set(&p, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
    set(&p, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    set(&p, "OMPI_MCA_orte_set_default_slots", "2");
    put(&p, "/etc/mpi/hostfile", "tj-node-0-0.tj slots=2\ntj-node-0-1.tj slots=2\n");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_HOSTFILE, "/etc/mpi/hostfile",
           "MPI hostfile /etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)");
    end(&p);
}

Test(detect, deepspeed)
{
    struct pod p;
    begin(&p, "ds-launcher", NULL);
    put(&p, "/job/hostfile", "worker-0 slots=8\nworker-1 slots=8\n");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_HOSTFILE, "/job/hostfile",
           "DeepSpeed hostfile /job/hostfile (found there)");
    expect_dialect(&p, "deepspeed");
    end(&p);
}

// A hostfile that muster-sidecar keeps for DeepSpeed or mpirun is no source.
Test(detect, own_hostfiles_do_not_count)
{
    static const char own[] = "# written by muster-sidecar from pods: changes will be "
                              "lost\n10.0.0.5 slots=8\n";
    struct pod p;
    lws(&p, "train-0", "train", "0");
    put(&p, "/job/hostfile", own);
    put(&p, "/run/muster/hostfile", own);
    set(&p, "OMPI_MCA_orte_default_hostfile", "/run/muster/hostfile");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    cr_assert_str_eq(p.found.system, "LeaderWorkerSet");
    end(&p);
}

Test(detect, a_hostfile_that_cannot_be_read_is_told)
{
    struct pod p;
    begin(&p, "ds-launcher", NULL);
    put(&p, "/job/hostfile/x", "");
    cr_assert_eq(look(&p, 0), -1);
    cr_assert_not_null(strstr(err_text(&p.err), "/job/hostfile: HF_NOT_A_FILE"), "%s",
                       err_text(&p.err));
    end(&p);
}

// What a pipe holds is left for the source.
Test(detect, a_pipe_is_not_read, .timeout = 30)
{
    struct pod p;
    begin(&p, "shell", NULL);
    CLEANUP_FREE char *pipe = xasprintf("%s/pipe", p.root);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    CLEANUP_CLOSE int fd = open(pipe, O_RDWR);
    cr_assert_eq(write(fd, "a:2\n", 4), 4);
    set(&p, "HYDRA_HOST_FILE", "/pipe");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_HOSTFILE, "/pipe", "MPI hostfile /pipe (HYDRA_HOST_FILE)");
    char text[8];
    cr_assert_eq(read(fd, text, sizeof text), 4);
    end(&p);
}

// ---- Volcano ----------------------------------------------------------------------

static void volcano(struct pod *p, const char *host)
{
    begin(p, host, "lm");
    set(p, "VC_WORKER_HOSTS", "lm-worker-0.lm,lm-worker-1.lm");
    set(p, "VC_WORKER_NUM", "2");
    put(p, "/etc/volcano/worker.host", "lm-worker-0.lm\nlm-worker-1.lm");
    put(p, "/etc/volcano/VC_WORKER_HOSTS", "lm-worker-0.lm,lm-worker-1.lm");
    put(p, "/etc/volcano/VC_WORKER_NUM", "2");
}

Test(detect, volcano_with_one_task)
{
    struct pod p;
    volcano(&p, "lm-worker-1");
    set(&p, "VK_TASK_INDEX", "1");
    set(&p, "VC_TASK_INDEX", "1");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_HOSTFILE, "/etc/volcano/worker.host",
           "Volcano hostfile /etc/volcano/worker.host (task worker)");
    expect_dialect(&p, "plain");
    cr_assert_eq(p.found.index, 1);
    set(&p, "VC_TASK_INDEX", "0");
    expect_error(&p, 0,
                 "VC_TASK_INDEX is 0, but this pod, lm-worker-1, is number 1 of "
                 "task worker");
    set(&p, "VC_TASK_INDEX", "x");
    expect_error(&p, 0, "VC_TASK_INDEX is 'x', not a whole number from 0 to 65535");
    end(&p);
}

Test(detect, volcano_with_a_master_task)
{
    struct pod p;
    volcano(&p, "lm-mpi-master-0");
    set(&p, "VC_MPI_MASTER_HOSTS", "lm-mpi-master-0.lm");
    set(&p, "VC_MPI_MASTER_NUM", "1");
    put(&p, "/etc/volcano/mpi_master.host", "lm-mpi-master-0.lm");
    set(&p, "VC_TASK_INDEX", "0");
    expect_error(&p, 0,
                 "this Volcano Job has several tasks (mpi_master, worker): give "
                 "the one whose pods are the group, as --hostfile "
                 "/etc/volcano/worker.host");
    set(&p, "MPI_HOST", "lm-worker-0.lm,lm-worker-1.lm");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_HOSTFILE, "/etc/volcano/worker.host",
           "Volcano hostfile /etc/volcano/worker.host (task worker)");
    cr_assert_eq(p.found.index, -1); // this pod is in the other task
    set(&p, "MPI_HOST", "lm-worker-0.lm");
    expect_error(&p, 0,
                 "MPI_HOST is 'lm-worker-0.lm', which is the list of none of this "
                 "Volcano Job's tasks (mpi_master, worker)");
    end(&p);
}

Test(detect, volcano_without_its_svc_plugin)
{
    struct pod p;
    begin(&p, "lm-worker-1", NULL);
    set(&p, "VC_TASK_INDEX", "1");
    expect_error(&p, 0,
                 "VC_TASK_INDEX is set as in a Volcano Job, but there is no "
                 "/etc/volcano/TASK.host: it is the plugin svc that puts it into every "
                 "container");
    set(&p, "VC_WORKER_HOSTS", "lm-worker-0.lm");
    cr_assert_eq(look(&p, 0), -1);
    cr_assert_not_null(strstr(err_text(&p.err), "VC_WORKER_HOSTS is set"));
    end(&p);
}

// ---- TrainJob ---------------------------------------------------------------------

static void trainjob(struct pod *p)
{
    begin(p, "tj-node-0-1", "tj");
    set(p, "JOB_COMPLETION_INDEX", "1");
    set(p, "PET_NNODES", "3");
    set(p, "PET_NPROC_PER_NODE", "auto");
    set(p, "PET_NODE_RANK", "1");
    set(p, "PET_MASTER_ADDR", "tj-node-0-0.tj");
    set(p, "PET_MASTER_PORT", "29400");
}

Test(detect, trainjob_with_torch)
{
    struct pod p;
    trainjob(&p);
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_PODS, "tj-node-0-[0-2].tj",
           "TrainJob tj-node-0 of 3 (PET_MASTER_ADDR)");
    cr_assert_eq(p.found.members, 3);
    cr_assert_eq(p.found.index, 1);
    cr_assert_eq(p.found.spec.slots, -1);
    set(&p, "PET_NPROC_PER_NODE", "8");
    cr_assert_eq(look(&p, 0), 0);
    cr_assert_eq(p.found.spec.slots, 8);
    end(&p);
}

Test(detect, trainjob_by_halves_or_wrong)
{
    struct pod p;
    trainjob(&p);
    set(&p, "PET_NODE_RANK", "2");
    expect_error(&p, 0, "PET_NODE_RANK is 2 and JOB_COMPLETION_INDEX 1");
    set(&p, "PET_NODE_RANK", "3");
    expect_error(&p, 0, "PET_NODE_RANK is '3', not a whole number from 0 to 2");
    set(&p, "PET_NODE_RANK", "1");
    set(&p, "PET_NNODES", "1:3");
    expect_error(&p, 0, "PET_NNODES is '1:3', not a whole number from 1 to 65536");
    strv_unsetenv(&p.env, "PET_NNODES");
    expect_error(&p, 0,
                 "PET_NODE_RANK is set and PET_NNODES is not: a TrainJob sets both");
    set(&p, "PET_NNODES", "3");
    set(&p, "PET_MASTER_ADDR", "tj-master-0"); // PyTorchJob of the first trainer
    expect_error(&p, 0,
                 "PET_MASTER_ADDR is 'tj-master-0', not NAME-node-0-0.NAME as in "
                 "a TrainJob: the other pods' names cannot be told from it");
    end(&p);
}

Test(detect, torchruns_own_option_is_no_trainjob)
{
    struct pod p;
    begin(&p, "shell", NULL);
    set(&p, "PET_NNODES", "2");
    expect_nothing(&p, "");
    end(&p);
}

// ---- contradictions, nothing ------------------------------------------------------

Test(detect, two_systems)
{
    struct pod p;
    lws(&p, "train-0", "train", "0");
    put(&p, "/job/hostfile", "a slots=8\n");
    expect_error(&p, 0,
                 "two systems name two groups here: LeaderWorkerSet group train-0 "
                 "of 4 (LWS_LEADER_ADDRESS), and DeepSpeed hostfile "
                 "/job/hostfile (found there)");
    end(&p);
}

Test(detect, two_words_for_one_hostfile)
{
    struct pod p;
    begin(&p, "ds-launcher", NULL);
    put(&p, "/job/hostfile", "worker-0 slots=8\n");
    set(&p, "OMPI_MCA_orte_default_hostfile", "/job/hostfile");
    cr_assert_eq(look(&p, 0), 0, "%s", err_text(&p.err));
    expect(&p, SOURCE_HOSTFILE, "/job/hostfile",
           "MPI hostfile /job/hostfile (OMPI_MCA_orte_default_hostfile)");
    end(&p);
}

Test(detect, nothing_at_all)
{
    struct pod p;
    begin(&p, "shell", NULL);
    expect_nothing(&p, "");
    cr_assert_eq(look_wanted(&p, 0, true), 0);
    cr_assert_null(p.found.system);
    end(&p);
}
