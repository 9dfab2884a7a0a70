// The subcommands of podbox. Each returns its exit code, or -1 with an error.
#ifndef MUSTER_PODBOX_CMD_H
#define MUSTER_PODBOX_CMD_H

#include "common/err.h"

// argv[0] is the subcommand's own name; several names may share a function.
typedef int (*cmd_fn)(const char *bed, int argc, char **argv, struct err *err);

int cmd_up(const char *bed, int argc, char **argv, struct err *err);
int cmd_down(const char *bed, int argc, char **argv, struct err *err);
int cmd_run(const char *bed, int argc, char **argv, struct err *err);
int cmd_exec(const char *bed, int argc, char **argv, struct err *err);
int cmd_ready(const char *bed, int argc, char **argv, struct err *err); // and unready
int cmd_show(const char *bed, int argc, char **argv, struct err *err); // ip pid ps logs
int cmd_list(const char *bed, int argc, char **argv, struct err *err);
int cmd_kill(const char *bed, int argc, char **argv, struct err *err);
int cmd_replace(const char *bed, int argc, char **argv, struct err *err);
int cmd_restart(const char *bed, int argc, char **argv, struct err *err);
int cmd_cut(const char *bed, int argc, char **argv, struct err *err);    // and heal
int cmd_freeze(const char *bed, int argc, char **argv, struct err *err); // and thaw
int cmd_volume(const char *bed, int argc, char **argv, struct err *err);
int cmd_dns(const char *bed, int argc, char **argv, struct err *err);

// "podbox WORD: wrong arguments" as an error; always -1.
int cmd_usage(const char *word, const char *why, struct err *err);

#endif
