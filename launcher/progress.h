// The progress line: what a launch waits for, on the terminal or in the log.
//
// On a terminal one line is kept current at the bottom and taken away when ranks run.
// Where stderr is no terminal a line is printed only for waits that last: after 3 s,
// then each
// 10 s, and it always names what is missing and why.
#ifndef MUSTER_LAUNCHER_PROGRESS_H
#define MUSTER_LAUNCHER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

struct progress *progress_create(int fd, bool quiet);
void progress_destroy(struct progress *p);
// Show this state of things; at most some updates a second reach the terminal.
void progress_show(struct progress *p, uint64_t now_ms, const char *text);
// A line that stays.
void progress_say(struct progress *p, const char *text);
// Take the line away (ranks print now, or the end); the next wait is another one.
void progress_clear(struct progress *p);

#endif
