// What is said to a remote login shell, and how its answers are found among what shells,
// profiles and banners print of their own: pure.
//
// A command is one line, `exec /bin/sh -c 'SCRIPT' muster 'WORD'...`: fixed scripts,
// and words in single quotes, so that nothing in a path is ever taken for syntax. Answers
// begin with a fixed mark, which may stand behind anything.
#ifndef MUSTER_WIRE_REMOTE_H
#define MUSTER_WIRE_REMOTE_H

#include <stddef.h>

#include "common/buf.h"

// What `musterd --stdio --announce` prints before its first frame.
#define REMOTE_FRAMES "MUSTER-FRAMES 1\n"

enum { REMOTE_NOISE_MAX = 64 * 1024 }; // skipped at most before an answer

// The word as a POSIX shell reads it back, byte for byte. Caller frees.
char *remote_quote(const char *word);
// Starts the first of the agents (paths, or names to search in PATH) that is there. When
// none is, it answers REMOTE_ABSENT, or REMOTE_NOEXEC and the path that cannot be executed.
char *remote_start_command(const char *const *agents, size_t n);
// Brings one file into the directory `dir`-UID of the far side's temporary directory,
// which only this user can change. It first answers REMOTE_HAVE when a file of this
// content is there, or REMOTE_SEND and then reads the content from stdin; then REMOTE_HAVE
// (it is there now) or REMOTE_BAD and the reason.
char *remote_put_command(const char *dir, const char *file, const char *sha256);

enum remote_word {
    REMOTE_NONE, // nothing yet
    REMOTE_START,
    REMOTE_ABSENT,
    REMOTE_NOEXEC,
    REMOTE_HAVE,
    REMOTE_SEND,
    REMOTE_BAD,
};

// Takes everything up to the first whole answer out of `in`. *text: what follows its
// mark on the line (a path, a reason), caller frees; else NULL. Without an answer `in`
// stays.
enum remote_word remote_answer(struct buf *in, char **text);
// The last `max` bytes in one line that is safe to print: 'Welcome!|no space left'. ""
// for nothing. Caller frees.
char *remote_excerpt(const struct buf *said, size_t max);

#endif
