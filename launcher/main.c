// muster: the launcher. Finds the subcommand; each has a file of its own.
#include <stdio.h>
#include <string.h>

#include "common/std.h"
#include "config.h"
#include "launcher/cmd.h"
#include "launcher/writer.h"

// Without help: not for people.
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"run", cmd_run, "start a program on the ranks of the group"},
    {"roll", cmd_roll, "print the members that a source gives (a dry run)"},
    {"hostfile", cmd_hostfile, "read a hostfile in one dialect, write it in another"},
    {"check", cmd_check, "find out whether the members of the group are fit for ranks"},
    {"status", cmd_status, "tell how a running job is"},
    {"replace", cmd_replace,
     "restart a running job without a member's pod; change a hostfile"},
    {"drain", cmd_drain, "do without a member's pod from the next restart on"},
    {"keygen", cmd_keygen, "make the group's key ring in a directory"},
    {"writer", writer_main, NULL},
};

static void usage(FILE *out)
{
    fputs("Usage: muster COMMAND [OPTION...]\n\nCommands:\n", out);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].help != NULL)
            fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
    fputs("\n`muster COMMAND --help` tells its options.\n", out);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    std_fill();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("muster %s\n", MUSTER_VERSION);
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        strcmp(name, "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (name[0] != '\0')
        fprintf(stderr, "muster: there is no command '%s'\n", name);
    usage(stderr);
    return 125;
}
