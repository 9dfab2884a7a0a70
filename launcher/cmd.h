// Subcommands of `muster`: a table that holds their names and one-line help.
#ifndef MUSTER_LAUNCHER_CMD_H
#define MUSTER_LAUNCHER_CMD_H

// Each gets argv from its own name on and returns the program's exit code.
int cmd_run(int argc, char **argv);
int cmd_roll(int argc, char **argv);
int cmd_hostfile(int argc, char **argv);
int cmd_replace(int argc, char **argv);
int cmd_drain(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_keygen(int argc, char **argv);

#endif
