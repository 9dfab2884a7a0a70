// A line of the managed block in /etc/hosts: how it looks, and how it is told from others.
//
// A slot is ADDRESS, padded with blanks to 45 characters, a blank, names, and blanks up to
// the newline. No line crosses a page (4096 bytes) of the file, so that the end of a file
// that grows is always the end of a line. A blank line (a '#' and blanks) fills what is
// free or would cross a page. Pure.
#ifndef MUSTER_HOSTFILE_HOSTS_LINE_H
#define MUSTER_HOSTFILE_HOSTS_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

enum {
    HOSTS_ADDRESS_WIDTH = 45, // the longest literal of IPv6
    HOSTS_PAGE = 4096,
    HOSTS_LINE_STEP = 32, // lengths of lines are multiples, so that slots fit again
    HOSTS_LINE_MAX = 480, // with its newline; musl and others have buffers of 512
    HOSTS_NAMES_MAX = HOSTS_LINE_MAX - HOSTS_ADDRESS_WIDTH - 2,
};

#define HOSTS_BEGIN                                                                    \
    "# BEGIN muster: lines up to END are kept by muster, changes are undone"
#define HOSTS_END "# END muster"

enum hosts_kind {
    HOSTS_FOREIGN,
    HOSTS_BEGINS, // HOSTS_BEGIN
    HOSTS_ENDS,   // HOSTS_END
    HOSTS_SLOT,
    HOSTS_RETIRED, // a slot whose first byte is '#' now
    HOSTS_BLANK,
    HOSTS_HOLE, // NULs: ours fell behind the end of a file that somebody made shorter
    HOSTS_TORN, // the file's end, without newline: may be the beginning of a line of ours
};

// One line of a file, in the file's bytes.
struct hosts_line {
    enum hosts_kind kind;
    size_t off, len; // with its newline, where it has one
    bool v6;         // slots: the address
    size_t address_len;
    size_t names_len; // they begin at HOSTS_ADDRESS_WIDTH + 1
};

struct hosts_lines {
    struct hosts_line *v;
    size_t n, cap;
};
void hosts_lines_add(struct hosts_lines *l, const struct hosts_line *line);

// The line that begins at `off` (< len).
struct hosts_line hosts_line_read(const char *text, size_t len, size_t off);
// Does it lie in more than one page?
bool hosts_line_crosses(size_t off, size_t len);
// The slot's length for these names, newline and step included.
size_t hosts_line_width(size_t names_len);
// Appends a slot of `width` bytes.
void hosts_line_write(struct buf *out, const char *address, const char *names,
                      size_t width);
// Appends `n` bytes of blank lines that end in a newline.
void hosts_line_fill(struct buf *out, size_t n);

#endif
