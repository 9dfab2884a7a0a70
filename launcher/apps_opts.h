// The programs of a run and the options that each of them has: "-n 2 a : -n 4 -x K=V b".
//
// What the first program's -x and --wdir set holds for the others too, until these say
// otherwise. Roles have each their own --grid and --spares; without roles the first one's are
// the run's.
#ifndef MUSTER_LAUNCHER_APPS_OPTS_H
#define MUSTER_LAUNCHER_APPS_OPTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/strv.h"
#include "launcher/grid.h"

struct app_opts {
    const char *role; // --role; NULL: none
    uint32_t ranks;   // -n; 0: not said
    uint32_t spares;  // --spares
    bool has_grid;    // --grid
    struct grid grid;
    const char *wdir; // --wdir; NULL: not said
    struct strv env;  // -x: NAME=VALUE
    struct strv here; // of these, NAME= of those that have their value from here
    char **words;     // of a further program: what its options are made of; borrowed
    size_t nwords;
    char **argv; // the program and its arguments; borrowed from main's argv
    size_t argc;
};

struct apps_opts {
    struct app_opts *v; // owned; there is a first one always
    size_t n;
};

void apps_opts_init(struct apps_opts *a);
void apps_opts_free(struct apps_opts *a);
// An argp child whose input is a struct apps_opts: the options of the newest program.
const struct argp *apps_opts_argp(void);
// All words from the first program on. A word ":" ends a program, and the next one's options
// follow, unless `whole`: then all belongs to the first. Errors end the process, as argp's do.
void apps_opts_take(struct apps_opts *a, struct argp_state *state, char **words, int n,
                    bool whole);
bool apps_opts_have_spares(const struct apps_opts *a);
// Once all are there: at most one may leave its number of ranks open. *ranks: of all of
// them; 0 where one is open.
int apps_opts_settle(struct apps_opts *a, uint32_t *ranks, struct err *err);
// With one command a node: placeholders are known ones, and those of values that come from
// this environment stand for themselves.
int apps_opts_settle_texts(struct apps_opts *a, struct err *err);
// How many of `total` ranks each program gets; out[a->n]. -1 with err when the open one gets
// none.
int apps_opts_share(const struct apps_opts *a, uint32_t total, uint32_t *out,
                    struct err *err);

#endif
