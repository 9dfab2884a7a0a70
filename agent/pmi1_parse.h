// The line protocol of PMI-1, read piece by piece. Pure.
//
//   cmd=NAME key=value ... LF       a value ends at a space
//   mcmd=spawn LF key=value LF ... endcmd LF
//                                   a value ends with its line; while spawnssofar is below
//                                   totspawns, the next mcmd belongs to the same command
//
// A backslash keeps the character behind it, a space too (MPICH 4.1 and newer write so).
// Values stay as they came, so that whoever wrote them can read them back;
// pmi1_unescape() makes text for people.
#ifndef MUSTER_AGENT_PMI1_PARSE_H
#define MUSTER_AGENT_PMI1_PARSE_H

#include <stddef.h>

#include "common/err.h"
#include "common/strv.h"

enum {
    PMI1_LINE_MAX = 64 << 10, // without its LF
    PMI1_ARGS_MAX = 4096,     // of one command
    PMI1_BYTES_MAX = 1 << 20, // of its arguments
};

struct pmi1_parse;

// One command; owned by the parser, valid until the next call.
struct pmi1_cmd {
    const char *name;
    struct strv *parts; // "key=value", or "key" where no value was given
    size_t nparts;      // one for each mcmd; one of a cmd
};

struct pmi1_parse *pmi1_parse_create(void);
void pmi1_parse_destroy(struct pmi1_parse *p); // NULL-safe

// Bytes as they came; copied.
void pmi1_parse_feed(struct pmi1_parse *p, const void *data, size_t len);
// 1: a command; 0: more bytes are needed; -1: this is not PMI-1, and what follows would
// make no sense either.
int pmi1_parse_next(struct pmi1_parse *p, const struct pmi1_cmd **cmd, struct err *err);

// The value of a key, "" where it was given without one; NULL: not given.
const char *pmi1_part_get(const struct strv *part, const char *key);
// Of the first part.
const char *pmi1_cmd_get(const struct pmi1_cmd *cmd, const char *key);
// Without the backslashes. Caller frees.
char *pmi1_unescape(const char *value);

#endif
