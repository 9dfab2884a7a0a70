// Options about roles: several programs, each a world of its own (argp child of `muster run`).
#ifndef MUSTER_LAUNCHER_ROLES_OPTS_H
#define MUSTER_LAUNCHER_ROLES_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "launcher/apps_opts.h"

struct roles_opts {
    const char *option; // the last one that is about roles; NULL: none
    bool whole_job;     // --restart-scope job: all roles start again when one does
    int signal;         // --role-signal; 0: none
    // Set for the launcher of one role, by that of all of them (cmd_roles.c):
    bool is_part;
    uint32_t from, to; // its members; to 0: all that follow
    int fd;            // to the launcher of all
};

const struct argp *roles_opts_argp(void);
// Do the programs have roles? -1 with err when only some do, or two have the same one.
int roles_opts_check(const struct roles_opts *o, const struct apps_opts *apps,
                     struct err *err);
// Members of each role, its spares too: from[n], to[n] (0: all that follow, of the last
// one). each: ranks a member takes; 0: not known, which is an error.
int roles_opts_share(const struct apps_opts *apps, uint32_t each, uint32_t *from,
                     uint32_t *to, struct err *err);
// Where role number `role` serves its pages: the port of `where` ([ADDRESS:]PORT), and so many
// more; 0 stays 0 (any). Caller frees; NULL with err when there is no such port.
char *roles_opts_status(const char *where, size_t role, struct err *err);

#endif
