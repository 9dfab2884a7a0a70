// podbox: pods of Kubernetes, emulated with real kernel namespaces, for tests.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/podbox/bed.h"
#include "tests/podbox/boot.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/pause.h"
#include "tests/podbox/sandbox.h"
#include "tests/podbox/shim.h"

struct command {
    const char *word;
    cmd_fn run;
    const char *args, *help;
};

static const struct command commands[] = {
    {"up", cmd_up, "N|--names A,B,... [OPTIONS] [-- CMD ARGS...]",
     "make a bed of N pods; options: --name --service --namespace --domain "
     "--not-ready\n"
     "      --publish-not-ready --ttl S --ipv6 --volume NAME:/path "
     "--secret NAME:/path[:MODE]\n"
     "      --user UID[:GID] --bind|--share /path --root [POD=]DIR\n"
     "      --env NAME=VALUE ({ip} {name} {index} {uid}: "
     "the pod's own)"},
    {"down", cmd_down, "[--all]", "end the bed (all beds) and leave nothing behind"},
    {"exec", cmd_exec, "POD [-d] [--env NAME=VALUE]... CMD ARGS...",
     "run a program in the pod's container"},
    {"run", cmd_run,
     "POD [--image DIR] [--user UID[:GID]] [--mount KIND:NAME:/path]... "
     "[--env NAME=VALUE]...\n      [--read-only] [--no-new-privs] CMD ARGS...",
     "a further container of the pod, as long as this command lives"},
    {"ready", cmd_ready, "POD|all", "put the pod's records into DNS"},
    {"unready", cmd_ready, "POD|all", "take them out"},
    {"ip", cmd_show, "POD", "print its address"},
    {"pid", cmd_show, "POD", "print the host's pid of its container's pid 1"},
    {"ps", cmd_show, "POD", "print host pid and command of its processes"},
    {"logs", cmd_show, "POD", "print what its command and `exec -d` wrote"},
    {"list", cmd_list, "[--json]", "print all pods and their state"},
    {"kill", cmd_kill, "POD|all", "SIGKILL pid 1: the container dies, the pod stays"},
    {"restart", cmd_restart, "POD|all", "a new container in the same pod"},
    {"replace", cmd_replace, "POD|all [--same-address]", "a new pod of the same name"},
    {"cut", cmd_cut, "POD|all", "lose every packet silently"},
    {"heal", cmd_cut, "POD|all", "end that"},
    {"freeze", cmd_freeze, "POD|all", "stop all of its processes"},
    {"thaw", cmd_freeze, "POD|all", "let them go on"},
    {"volume", cmd_volume, "put NAME DIR [--mode 0400] | show NAME",
     "change a ConfigMap or Secret volume by kubelet's swap"},
    {"dns", cmd_dns, "set NAME A ADDRESS | del NAME | stop | silence | start",
     "change single names; make the server refuse or hang"},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

int cmd_usage(const char *word, const char *why, struct err *err)
{
    err_set_kind(err, NULL, BED_EXIT_USAGE, "%s: %s (see podbox help)", word, why);
    return -1;
}

static void help(void)
{
    printf("podbox [--bed NAME] COMMAND (or PODBOX_BED=NAME; default \"default\")\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %s %s\n      %s\n", commands[i].word, commands[i].args,
               commands[i].help);
}

// podbox started by podbox: a helper that stays (see boot.h).
static int helper(const char *name, const char *role, const char *pod_name,
                  struct err *err)
{
    struct bed *bed = bed_load(name, err);
    struct pod *pod =
        bed != NULL && pod_name != NULL ? bed_pod(bed, pod_name, err) : NULL;
    int rc = -1;
    if (bed != NULL && strcmp(role, BOOT_FABRIC) == 0)
        rc = sandbox_fabric_main(err);
    else if (pod != NULL && strcmp(role, BOOT_SANDBOX) == 0)
        rc = sandbox_main(bed, pod, err);
    else if (pod != NULL && strcmp(role, BOOT_SHIM) == 0)
        rc = shim_main(bed, pod, err);
    if (rc < 0)
        boot_say_error(BOOT_FD, err);
    bed_destroy(bed);
    return rc;
}

static bool is_helper(const char *word)
{
    return strcmp(word, BOOT_FABRIC) == 0 || strcmp(word, BOOT_SANDBOX) == 0 ||
           strcmp(word, BOOT_SHIM) == 0;
}

static int dispatch(const char *bed, int argc, char **argv, struct err *err)
{
    if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0)
        return help(), 0;
    if (geteuid() != 0) {
        err_set_kind(err, NULL, BED_EXIT_CANNOT,
                     "podbox needs root (namespaces, mounts): run it with sudo");
        return -1;
    }
    if (is_helper(argv[0]))
        return helper(bed, argv[0], argc > 1 ? argv[1] : NULL, err);
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[0], commands[i].word) == 0)
            return commands[i].run(bed, argc, argv, err);
    return cmd_usage(argv[0], "no such command", err);
}

int main(int argc, char **argv)
{
    const char *bed = getenv("PODBOX_BED");
    int i = 1;
    if (strcmp(argv[0], "pause") == 0)
        return pause_main();
    if (argc > i + 1 && strcmp(argv[i], "--bed") == 0) {
        bed = argv[i + 1];
        i += 2;
    }
    char *none[] = {(char[]){"help"}, NULL};
    ERR_AUTO err = ERR_INIT;
    int code = dispatch(bed != NULL && bed[0] != '\0' ? bed : "default",
                        i < argc ? argc - i : 1, i < argc ? argv + i : none, &err);
    if (code >= 0)
        return fflush(stdout) == 0 ? code : 1;
    fprintf(stderr, "podbox: %s\n", err_text(&err));
    return err.code != 0 ? err.code : 125;
}
