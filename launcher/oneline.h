// Texts that have to fit into one line: of an environment, an event, an agent's memory.
#ifndef MUSTER_LAUNCHER_ONELINE_H
#define MUSTER_LAUNCHER_ONELINE_H

#include <stddef.h>

// The first line, at most `max` bytes, whole characters of UTF-8 (what is none: ASCII, with
// "?"), blanks for control characters. Caller frees.
char *oneline(const char *text, size_t max);

#endif
