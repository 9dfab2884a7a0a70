// Which lines of an /etc/hosts are Muster's. Pure.
//
// The block goes from its BEGIN line to its END line; everything between is ours, what
// somebody put there too. An interrupted write may have left a block without END, lines
// of a block behind its END, or a second block: all of that is found, and no line that
// anybody else wrote outside of BEGIN and END.
#ifndef MUSTER_HOSTFILE_HOSTS_BLOCK_H
#define MUSTER_HOSTFILE_HOSTS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "hostfile/hosts_line.h"

struct hosts_block {
    struct hosts_line begin;    // its BEGIN line; len 0: there is no block
    struct hosts_line end;      // its END line; len 0: none
    bool last;                  // nothing of others stands behind its BEGIN
    struct hosts_lines slots;   // usable lines: slots and wide blanks, in order
    struct hosts_lines rubbish; // to be blanked: other lines of ours, holes
    bool open_line;             // the file does not end in a newline
};

enum { HOSTS_UNCUT = 0 };

// `cut`: what hosts_block_cut() says, or HOSTS_UNCUT.
void hosts_block_find(const char *text, size_t len, size_t cut,
                      struct hosts_block *out);
void hosts_block_free(struct hosts_block *b);

// The lines of others as a string. Caller frees.
char *hosts_block_others(const char *text, size_t len);

// Somebody wrote over the beginning of `before`, which we had written: from the offset
// that is returned on the text is a rest of our block, in the middle of a line.
// HOSTS_UNCUT: it is not so.
size_t hosts_block_cut(const char *text, size_t len, const char *before,
                       size_t before_len);

#endif
