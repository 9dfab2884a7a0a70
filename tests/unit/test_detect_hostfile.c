// Which group a pod is in, where the system gives a hostfile: MPIJob, TrainJob, DeepSpeed,
// Volcano.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "paper_pod.h"

// ---- hostfiles --------------------------------------------------------------------

static void mpijob(struct paper_pod *p, const char *variable, const char *text)
{
    paper_pod_begin(p, "pi-launcher", NULL);
    paper_pod_set(p, "K_MPI_JOB_ROLE", "launcher");
    if (variable != NULL)
        paper_pod_set(p, variable, "/etc/mpi/hostfile");
    paper_pod_put(p, "/etc/mpi/hostfile", text);
    paper_pod_put(p, "/etc/mpi/discover_hosts.sh",
                  "#!/bin/sh\necho pi-worker-0.pi.default.svc\n");
}

Test(detect_hostfile, mpijob_in_its_three_forms)
{
    static const char *const forms[][3] = {
        {"OMPI_MCA_orte_default_hostfile", "pi-worker-0.pi.default.svc slots=2\n",
         "openmpi"},
        {"I_MPI_HYDRA_HOST_FILE", "pi-worker-0.pi.default.svc:2\n", "intel"},
        {"HYDRA_HOST_FILE", "pi-worker-0.pi.default.svc:2\n", "hydra"},
    };
    for (size_t i = 0; i < 3; i++) {
        struct paper_pod p;
        mpijob(&p, forms[i][0], forms[i][1]);
        paper_pod_set(&p, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
        CLEANUP_FREE char *line =
            xasprintf("MPIJob hostfile /etc/mpi/hostfile (%s)", forms[i][0]);
        cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
        paper_pod_expect(&p, SOURCE_HOSTFILE, "/etc/mpi/hostfile", line);
        paper_pod_expect_dialect(&p, forms[i][2]);
        cr_assert_eq(p.found.members, 0);
        cr_assert_eq(p.found.index, -1);
        paper_pod_end(&p);
    }
}

// Its JAX form has the file and no variable.
Test(detect_hostfile, mpijob_with_the_file_alone)
{
    struct paper_pod p;
    mpijob(&p, NULL, "pi-worker-0.pi.default.svc slots=2\n");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_HOSTFILE, "/etc/mpi/hostfile",
                     "MPIJob hostfile /etc/mpi/hostfile (found there)");
    paper_pod_expect_dialect(&p, "");
    paper_pod_end(&p);
}

Test(detect_hostfile, mpijob_worker)
{
    struct paper_pod p;
    paper_pod_begin(&p, "pi-worker-1", "pi");
    paper_pod_set(&p, "K_MPI_JOB_ROLE", "worker");
    paper_pod_expect_error(
        &p, 0,
        "K_MPI_JOB_ROLE is worker: an MPIJob gives its hostfile to the "
        "launcher alone; here give --members M");
    cr_assert_eq(paper_pod_look(&p, 2), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_PODS, "pi-worker-[0-1].pi",
                     "MPIJob pi-worker of 2 (K_MPI_JOB_ROLE)");
    paper_pod_expect_error(
        &p, 1, "--members 1: this pod is pi-worker-1, worker 1 of an MPIJob");
    paper_pod_end(&p);
}

Test(detect_hostfile, mpi_without_the_file_or_with_two)
{
    struct paper_pod p;
    paper_pod_begin(&p, "pi-launcher", NULL);
    paper_pod_set(&p, "K_MPI_JOB_ROLE", "launcher");
    paper_pod_expect_error(&p, 0,
                           "K_MPI_JOB_ROLE is 'launcher', but there is no "
                           "/etc/mpi/hostfile");
    paper_pod_set(&p, "HYDRA_HOST_FILE", "/etc/mpi/hostfile");
    paper_pod_expect_error(
        &p, 0, "HYDRA_HOST_FILE is '/etc/mpi/hostfile', but there is no such file");
    paper_pod_put(&p, "/etc/mpi/hostfile", "a:2\n");
    paper_pod_set(&p, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/other");
    paper_pod_expect_error(&p, 0,
                           "OMPI_MCA_orte_default_hostfile is '/etc/mpi/other' and "
                           "HYDRA_HOST_FILE is '/etc/mpi/hostfile': two hostfiles");
    paper_pod_set(&p, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect_dialect(&p, ""); // by its content
    paper_pod_end(&p);
}

// Trainer v2, MPI runtime: the launcher is a pod of a JobSet, too.
Test(detect_hostfile, trainjob_with_mpi)
{
    struct paper_pod p;
    paper_pod_begin(&p, "tj-launcher-0-0", "tj");
    paper_pod_set(&p, "JOB_COMPLETION_INDEX", "0");
    paper_pod_set(&p, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
    paper_pod_set(&p, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    paper_pod_set(&p, "OMPI_MCA_orte_set_default_slots", "2");
    paper_pod_put(&p, "/etc/mpi/hostfile",
                  "tj-node-0-0.tj slots=2\ntj-node-0-1.tj slots=2\n");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_HOSTFILE, "/etc/mpi/hostfile",
                     "MPI hostfile /etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)");
    paper_pod_end(&p);
}

Test(detect_hostfile, deepspeed)
{
    struct paper_pod p;
    paper_pod_begin(&p, "ds-launcher", NULL);
    paper_pod_put(&p, "/job/hostfile", "worker-0 slots=8\nworker-1 slots=8\n");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_HOSTFILE, "/job/hostfile",
                     "DeepSpeed hostfile /job/hostfile (found there)");
    paper_pod_expect_dialect(&p, "deepspeed");
    paper_pod_end(&p);
}

// A hostfile that muster-sidecar keeps for DeepSpeed or mpirun is no source.
Test(detect_hostfile, own_hostfiles_do_not_count)
{
    static const char own[] = "# written by muster-sidecar from pods: changes will be "
                              "lost\n10.0.0.5 slots=8\n";
    struct paper_pod p;
    paper_pod_lws(&p, "train-0", "train", "0");
    paper_pod_put(&p, "/job/hostfile", own);
    paper_pod_put(&p, "/run/muster/hostfile", own);
    paper_pod_set(&p, "OMPI_MCA_orte_default_hostfile", "/run/muster/hostfile");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    cr_assert_str_eq(p.found.system, "LeaderWorkerSet");
    paper_pod_end(&p);
}

Test(detect_hostfile, a_hostfile_that_cannot_be_read_is_told)
{
    struct paper_pod p;
    paper_pod_begin(&p, "ds-launcher", NULL);
    paper_pod_put(&p, "/job/hostfile/x", "");
    cr_assert_eq(paper_pod_look(&p, 0), -1);
    cr_assert_not_null(strstr(err_text(&p.err), "/job/hostfile: HF_NOT_A_FILE"), "%s",
                       err_text(&p.err));
    paper_pod_end(&p);
}

// What a pipe holds is left for the source.
Test(detect_hostfile, a_pipe_is_not_read, .timeout = 30)
{
    struct paper_pod p;
    paper_pod_begin(&p, "shell", NULL);
    CLEANUP_FREE char *pipe = xasprintf("%s/pipe", p.root);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    CLEANUP_CLOSE int fd = open(pipe, O_RDWR);
    cr_assert_eq(write(fd, "a:2\n", 4), 4);
    paper_pod_set(&p, "HYDRA_HOST_FILE", "/pipe");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_HOSTFILE, "/pipe",
                     "MPI hostfile /pipe (HYDRA_HOST_FILE)");
    char text[8];
    cr_assert_eq(read(fd, text, sizeof text), 4);
    paper_pod_end(&p);
}

// ---- Volcano ----------------------------------------------------------------------

static void volcano(struct paper_pod *p, const char *host)
{
    paper_pod_begin(p, host, "lm");
    paper_pod_set(p, "VC_WORKER_HOSTS", "lm-worker-0.lm,lm-worker-1.lm");
    paper_pod_set(p, "VC_WORKER_NUM", "2");
    paper_pod_put(p, "/etc/volcano/worker.host", "lm-worker-0.lm\nlm-worker-1.lm");
    paper_pod_put(p, "/etc/volcano/VC_WORKER_HOSTS", "lm-worker-0.lm,lm-worker-1.lm");
    paper_pod_put(p, "/etc/volcano/VC_WORKER_NUM", "2");
}

Test(detect_hostfile, volcano_with_one_task)
{
    struct paper_pod p;
    volcano(&p, "lm-worker-1");
    paper_pod_set(&p, "VK_TASK_INDEX", "1");
    paper_pod_set(&p, "VC_TASK_INDEX", "1");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_HOSTFILE, "/etc/volcano/worker.host",
                     "Volcano hostfile /etc/volcano/worker.host (task worker)");
    paper_pod_expect_dialect(&p, "plain");
    cr_assert_eq(p.found.index, 1);
    paper_pod_set(&p, "VC_TASK_INDEX", "0");
    paper_pod_expect_error(
        &p, 0,
        "VC_TASK_INDEX is 0, but this pod, lm-worker-1, is number 1 of "
        "task worker");
    paper_pod_set(&p, "VC_TASK_INDEX", "x");
    paper_pod_expect_error(&p, 0,
                           "VC_TASK_INDEX is 'x', not a whole number from 0 to 65535");
    paper_pod_end(&p);
}

Test(detect_hostfile, volcano_with_a_master_task)
{
    struct paper_pod p;
    volcano(&p, "lm-mpi-master-0");
    paper_pod_set(&p, "VC_MPI_MASTER_HOSTS", "lm-mpi-master-0.lm");
    paper_pod_set(&p, "VC_MPI_MASTER_NUM", "1");
    paper_pod_put(&p, "/etc/volcano/mpi_master.host", "lm-mpi-master-0.lm");
    paper_pod_set(&p, "VC_TASK_INDEX", "0");
    paper_pod_expect_error(
        &p, 0,
        "this Volcano Job has several tasks (mpi_master, worker): give "
        "the one whose pods are the group, as --hostfile "
        "/etc/volcano/worker.host");
    paper_pod_set(&p, "MPI_HOST", "lm-worker-0.lm,lm-worker-1.lm");
    cr_assert_eq(paper_pod_look(&p, 0), 0, "%s", err_text(&p.err));
    paper_pod_expect(&p, SOURCE_HOSTFILE, "/etc/volcano/worker.host",
                     "Volcano hostfile /etc/volcano/worker.host (task worker)");
    cr_assert_eq(p.found.index, -1); // this pod is in the other task
    paper_pod_set(&p, "MPI_HOST", "lm-worker-0.lm");
    paper_pod_expect_error(
        &p, 0,
        "MPI_HOST is 'lm-worker-0.lm', which is the list of none of this "
        "Volcano Job's tasks (mpi_master, worker)");
    paper_pod_end(&p);
}

Test(detect_hostfile, volcano_without_its_svc_plugin)
{
    struct paper_pod p;
    paper_pod_begin(&p, "lm-worker-1", NULL);
    paper_pod_set(&p, "VC_TASK_INDEX", "1");
    paper_pod_expect_error(
        &p, 0,
        "VC_TASK_INDEX is set as in a Volcano Job, but there is no "
        "/etc/volcano/TASK.host: it is the plugin svc that puts it into every "
        "container");
    paper_pod_set(&p, "VC_WORKER_HOSTS", "lm-worker-0.lm");
    cr_assert_eq(paper_pod_look(&p, 0), -1);
    cr_assert_not_null(strstr(err_text(&p.err), "VC_WORKER_HOSTS is set"));
    paper_pod_end(&p);
}
