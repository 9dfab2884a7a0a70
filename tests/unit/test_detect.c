// Which group a pod is in: each system with exactly the environment that it gives.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "paper_pod.h"

// ---- LeaderWorkerSet --------------------------------------------------------------

Test(detect, lws_leader_of_a_shared_service)
{
    struct paper_pod p;
    paper_pod_lws(&p, "train-0", "train", "0");
    cr_assert_eq(paper_pod_look(&p, 0), 0);
    paper_pod_expect(&p, SOURCE_PODS,
                     "train-0.train.default,train-0-[1-3].train.default",
                     "LeaderWorkerSet group train-0 of 4 (LWS_LEADER_ADDRESS)");
    cr_assert_eq(p.found.members, 4);
    cr_assert_eq(p.found.index, 0);
    cr_assert_eq(p.found.spec.slots, -1);
    const char *const names[] = {"train-0.train.default", "train-0-1.train.default",
                                 "train-0-2.train.default", "train-0-3.train.default"};
    paper_pod_expect_names(&p, names, 4);
    paper_pod_end(&p);
}

Test(detect, lws_worker_of_a_service_of_its_group)
{
    struct paper_pod p;
    paper_pod_lws(&p, "train-0-2", "train-0", "2");
    cr_assert_eq(paper_pod_look(&p, 0), 0);
    paper_pod_expect(&p, SOURCE_PODS,
                     "train-0.train-0.default,train-0-[1-3].train-0.default",
                     "LeaderWorkerSet group train-0 of 4 (LWS_LEADER_ADDRESS)");
    cr_assert_eq(p.found.index, 2);
    paper_pod_end(&p);
}

Test(detect, lws_groups_of_one_and_two)
{
    struct paper_pod p;
    paper_pod_lws(&p, "train-0", "train", "0");
    paper_pod_set(&p, "LWS_GROUP_SIZE", "1");
    cr_assert_eq(paper_pod_look(&p, 0), 0);
    cr_assert_str_eq(p.found.text, "train-0.train.default");
    paper_pod_set(&p, "LWS_GROUP_SIZE", "2");
    cr_assert_eq(paper_pod_look(&p, 0), 0);
    cr_assert_str_eq(p.found.text, "train-0.train.default,train-0-1.train.default");
    paper_pod_end(&p);
}

// On the host's network uname is the node's, and kubelet writes no name of the pod.
Test(detect, lws_on_the_hosts_network)
{
    struct paper_pod p;
    paper_pod_lws(&p, "node-7", "train", "3");
    paper_pod_put(&p, "/etc/hosts",
                  "127.0.0.1 localhost\n192.0.2.7 node-7.example.com node-7\n");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    cr_assert_eq(p.found.index, 3);
    paper_pod_end(&p);
}

Test(detect, lws_by_halves_or_wrong)
{
    struct paper_pod p;
    paper_pod_lws(&p, "train-0", "train", "0");
    strv_unsetenv(&p.env, "LWS_GROUP_SIZE");
    paper_pod_expect_error(&p, 0,
                           "LWS_LEADER_ADDRESS is set and LWS_GROUP_SIZE is not: "
                           "LeaderWorkerSet sets both");
    paper_pod_set(&p, "LWS_GROUP_SIZE", "four");
    paper_pod_expect_error(
        &p, 0, "LWS_GROUP_SIZE is 'four', not a whole number from 1 to 65536");
    paper_pod_set(&p, "LWS_GROUP_SIZE", "0");
    paper_pod_expect_error(&p, 0,
                           "LWS_GROUP_SIZE is '0', not a whole number from 1 to 65536");
    paper_pod_set(&p, "LWS_GROUP_SIZE", "4");
    paper_pod_set(&p, "LWS_WORKER_INDEX", "-1");
    paper_pod_expect_error(
        &p, 0, "LWS_WORKER_INDEX is '-1', not a whole number from 0 to 65535");
    paper_pod_set(&p, "LWS_WORKER_INDEX", "4");
    paper_pod_expect_error(&p, 0,
                           "LWS_WORKER_INDEX is 4 in a group of LWS_GROUP_SIZE 4");
    paper_pod_set(&p, "LWS_WORKER_INDEX", "3");
    paper_pod_expect_error(
        &p, 0,
        "this pod is train-0, but member 3 of the group of LWS_LEADER_ADDRESS "
        "'train-0.train.default' (LWS_WORKER_INDEX) is train-0-3");
    paper_pod_set(&p, "LWS_LEADER_ADDRESS", ""); // the classic crash
    paper_pod_expect_error(&p, 0,
                           "LWS_GROUP_SIZE is set and LWS_LEADER_ADDRESS is not: "
                           "LeaderWorkerSet sets both");
    paper_pod_set(&p, "LWS_LEADER_ADDRESS", "a,b.train.default");
    cr_assert_eq(paper_pod_look(&p, 0), -1);
    cr_assert_not_null(strstr(err_text(&p.err), "LWS_LEADER_ADDRESS:2: HF_BAD_NAME"),
                       "%s", err_text(&p.err));
    paper_pod_set(&p, "LWS_LEADER_ADDRESS", "10.0.0.5");
    paper_pod_expect_error(
        &p, 0,
        "LWS_LEADER_ADDRESS is '10.0.0.5', not "
        "LEADER.SUBDOMAIN.NAMESPACE: the workers' names cannot be told "
        "from it");
    paper_pod_end(&p);
}

Test(detect, members_within_and_above_what_the_system_says)
{
    struct paper_pod p;
    paper_pod_lws(&p, "train-0", "train", "0");
    cr_assert_eq(paper_pod_look(&p, 3), 0);
    cr_assert_eq(p.found.members, 4);
    paper_pod_expect_error(&p, 5,
                           "--members 5: LeaderWorkerSet has 4 (LWS_LEADER_ADDRESS)");
    paper_pod_end(&p);
}

// ---- Indexed Job, JobSet, StatefulSet ---------------------------------------------

Test(detect, indexed_job)
{
    struct paper_pod p;
    paper_pod_begin(&p, "train-2", "ring");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "2");
    cr_assert_eq(paper_pod_look(&p, 4), 0);
    paper_pod_expect(&p, SOURCE_PODS, "train-[0-3].ring",
                     "Indexed Job train of 4 (JOB_COMPLETION_INDEX)");
    cr_assert_eq(p.found.members, 4);
    cr_assert_eq(p.found.index, 2);
    paper_pod_expect_error(
        &p, 0,
        "this pod is train-2 of train (Indexed Job), which does not tell how "
        "many there are: give --members M");
    paper_pod_expect_error(
        &p, 2, "--members 2: this pod is train-2, so its Indexed Job has more");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "1");
    paper_pod_expect_error(
        &p, 4, "JOB_COMPLETION_INDEX is 1, but this pod is train-2, not JOB-1");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "one");
    paper_pod_expect_error(
        &p, 4,
        "JOB_COMPLETION_INDEX is 'one', not a whole number from 0 to "
        "65535");
    paper_pod_end(&p);
}

Test(detect, indexed_job_without_a_service)
{
    const char *why =
        "JOB_COMPLETION_INDEX is 2, but the pods of this Job have no names "
        "in DNS: its template needs subdomain, of a headless Service, and "
        "no hostNetwork";
    struct paper_pod p;
    paper_pod_begin(&p, "train-2", NULL);
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "2");
    paper_pod_expect_nothing(&p, why);
    paper_pod_expect_error(&p, 4, why);
    cr_assert_eq(paper_pod_look_wanted(&p, 0, true), -1);
    paper_pod_end(&p);
}

Test(detect, jobset)
{
    struct paper_pod p;
    paper_pod_begin(&p, "train-workers-0-1", "train");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "1");
    cr_assert_eq(paper_pod_look(&p, 2), 0);
    paper_pod_expect(&p, SOURCE_PODS, "train-workers-0-[0-1].train",
                     "JobSet train-workers-0 of 2 (JOB_COMPLETION_INDEX)");
    paper_pod_end(&p);
}

// network.subdomain is free; manifests hand the label down as JOBSET_NAME.
Test(detect, jobset_with_its_name_and_another_subdomain)
{
    struct paper_pod p;
    paper_pod_begin(&p, "train-workers-0-1", "ring");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "1");
    paper_pod_set(&p, "JOBSET_NAME", "train");
    cr_assert_eq(paper_pod_look(&p, 2), 0);
    paper_pod_expect(&p, SOURCE_PODS, "train-workers-0-[0-1].ring",
                     "JobSet train-workers-0 of 2 (JOB_COMPLETION_INDEX)");
    paper_pod_set(&p, "JOBSET_NAME", "other");
    paper_pod_expect_error(
        &p, 2,
        "JOBSET_NAME is 'other', but this pod is train-workers-0-1, not "
        "other-JOB-N-N");
    paper_pod_end(&p);
}

Test(detect, statefulset)
{
    struct paper_pod p;
    paper_pod_begin(&p, "train-2", "ring");
    paper_pod_expect_nothing(&p,
                             "this pod has the name of a StatefulSet's, train-2.ring: "
                             "--members M makes a group of M of them");
    cr_assert_eq(paper_pod_look(&p, 4), 0);
    paper_pod_expect(&p, SOURCE_PODS, "train-[0-3].ring",
                     "StatefulSet train of 4 (train-2.ring)");
    cr_assert_eq(p.found.index, 2);
    cr_assert_eq(paper_pod_look_wanted(&p, 0, true), -1);
    cr_assert_str_eq(err_text(&p.err),
                     "this pod is train-2 of train (StatefulSet), which does not tell "
                     "how many there are: give --members M");
    paper_pod_expect_error(
        &p, 2, "--members 2: this pod is train-2, so its StatefulSet has more");
    paper_pod_end(&p);
}

Test(detect, a_name_alone_is_no_statefulset)
{
    struct paper_pod p;
    paper_pod_begin(&p, "train-2", "ring");
    strv_unsetenv(&p.env, "KUBERNETES_SERVICE_HOST");
    paper_pod_expect_nothing(&p, "");
    paper_pod_end(&p);
    paper_pod_begin(&p, "train-2", NULL);
    paper_pod_expect_nothing(&p, "");
    paper_pod_end(&p);
    paper_pod_begin(&p, "train-7d9f-x2", "ring"); // a Deployment's
    paper_pod_expect_nothing(&p, "");
    paper_pod_end(&p);
    paper_pod_begin(&p, "train-02", "ring");
    paper_pod_expect_nothing(&p, "");
    paper_pod_end(&p);
}

// ---- names ------------------------------------------------------------------------

Test(detect, the_whole_name_as_hostname_and_two_addresses)
{
    struct paper_pod p;
    paper_pod_begin(&p, "train-1", "train");
    snprintf(p.host, sizeof p.host, "train-1.train.default.svc.cluster.local");
    paper_pod_put(&p, "/etc/hosts",
                  "10.0.0.5\ttrain-1.train.default.svc.cluster.local\ttrain-1\n"
                  "fd00::5\ttrain-1.train.default.svc.cluster.local\ttrain-1\n");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "1");
    cr_assert_eq(paper_pod_look(&p, 2), 0, "%s", err_text(&p.err));
    cr_assert_str_eq(p.found.text, "train-[0-1].train");
    paper_pod_end(&p);
}

// dnsPolicy None or Default: nobody searches the pod's namespace.
Test(detect, whole_names_where_the_namespace_is_not_searched)
{
    struct paper_pod p;
    paper_pod_begin(&p, "train-1", "train");
    paper_pod_put(&p, "/etc/resolv.conf", "search example.com\nnameserver 192.0.2.1\n");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "1");
    cr_assert_eq(paper_pod_look(&p, 2), 0, "%s", err_text(&p.err));
    cr_assert_str_eq(p.found.text, "train-[0-1].train.default.svc.cluster.local");
    paper_pod_end(&p);
}

// ---- TrainJob ---------------------------------------------------------------------

static void trainjob(struct paper_pod *p)
{
    paper_pod_begin(p, "tj-node-0-1", "tj");
    paper_pod_set(p, "JOB_COMPLETION_INDEX", "1");
    paper_pod_set(p, "PET_NNODES", "3");
    paper_pod_set(p, "PET_NPROC_PER_NODE", "auto");
    paper_pod_set(p, "PET_NODE_RANK", "1");
    paper_pod_set(p, "PET_MASTER_ADDR", "tj-node-0-0.tj");
    paper_pod_set(p, "PET_MASTER_PORT", "29400");
}

Test(detect, trainjob_with_torch)
{
    struct paper_pod p;
    trainjob(&p);
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_PODS, "tj-node-0-[0-2].tj",
                     "TrainJob tj-node-0 of 3 (PET_MASTER_ADDR)");
    cr_assert_eq(p.found.members, 3);
    cr_assert_eq(p.found.index, 1);
    cr_assert_eq(p.found.spec.slots, -1);
    paper_pod_set(&p, "PET_NPROC_PER_NODE", "8");
    cr_assert_eq(paper_pod_look(&p, 0), 0);
    cr_assert_eq(p.found.spec.slots, 8);
    paper_pod_end(&p);
}

Test(detect, trainjob_by_halves_or_wrong)
{
    struct paper_pod p;
    trainjob(&p);
    paper_pod_set(&p, "PET_NODE_RANK", "2");
    paper_pod_expect_error(&p, 0, "PET_NODE_RANK is 2 and JOB_COMPLETION_INDEX 1");
    paper_pod_set(&p, "PET_NODE_RANK", "3");
    paper_pod_expect_error(&p, 0,
                           "PET_NODE_RANK is '3', not a whole number from 0 to 2");
    paper_pod_set(&p, "PET_NODE_RANK", "1");
    paper_pod_set(&p, "PET_NNODES", "1:3");
    paper_pod_expect_error(&p, 0,
                           "PET_NNODES is '1:3', not a whole number from 1 to 65536");
    strv_unsetenv(&p.env, "PET_NNODES");
    paper_pod_expect_error(
        &p, 0, "PET_NODE_RANK is set and PET_NNODES is not: a TrainJob sets both");
    paper_pod_set(&p, "PET_NNODES", "3");
    paper_pod_set(&p, "PET_MASTER_ADDR",
                  "tj-master-0"); // PyTorchJob of the first trainer
    paper_pod_expect_error(
        &p, 0,
        "PET_MASTER_ADDR is 'tj-master-0', not NAME-node-0-0.NAME as in "
        "a TrainJob: the other pods' names cannot be told from it");
    paper_pod_end(&p);
}

Test(detect, torchruns_own_option_is_no_trainjob)
{
    struct paper_pod p;
    paper_pod_begin(&p, "shell", NULL);
    paper_pod_set(&p, "PET_NNODES", "2");
    paper_pod_expect_nothing(&p, "");
    paper_pod_end(&p);
}

// ---- contradictions, nothing ------------------------------------------------------

Test(detect, two_systems)
{
    struct paper_pod p;
    paper_pod_lws(&p, "train-0", "train", "0");
    paper_pod_put(&p, "/job/hostfile", "a slots=8\n");
    paper_pod_expect_error(
        &p, 0,
        "two systems name two groups here: LeaderWorkerSet group train-0 "
        "of 4 (LWS_LEADER_ADDRESS), and DeepSpeed hostfile "
        "/job/hostfile (found there)");
    paper_pod_end(&p);
}

Test(detect, two_words_for_one_hostfile)
{
    struct paper_pod p;
    paper_pod_begin(&p, "ds-launcher", NULL);
    paper_pod_put(&p, "/job/hostfile", "worker-0 slots=8\n");
    paper_pod_set(&p, "OMPI_MCA_orte_default_hostfile", "/job/hostfile");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_HOSTFILE, "/job/hostfile",
                     "MPI hostfile /job/hostfile (OMPI_MCA_orte_default_hostfile)");
    paper_pod_end(&p);
}

Test(detect, nothing_at_all)
{
    struct paper_pod p;
    paper_pod_begin(&p, "shell", NULL);
    paper_pod_expect_nothing(&p, "");
    cr_assert_eq(paper_pod_look_wanted(&p, 0, true), 0);
    cr_assert_null(p.found.system);
    paper_pod_end(&p);
}
