// A tree of files, copied whole: what an init container does with a bundle.
#ifndef MUSTER_BUNDLE_COPYTREE_H
#define MUSTER_BUNDLE_COPYTREE_H

#include <stddef.h>

#include "common/err.h"

// May change the content of a file before it is in its place.
typedef int copytree_edit_fn(void *arg, unsigned char *text, size_t n, struct err *err);

// Copies the folders and regular files of `from` into `to`, which is made where it is not
// there. Each file is written beside its place and renamed to it: programs that run from an
// earlier copy are not disturbed. Modes of files stay, owners do not. `to` may be `from`. Errors: "PATH:
// text", and also a link or a device, which no bundle has.
int copytree(const char *from, const char *to, copytree_edit_fn *edit, void *arg,
             struct err *err);

#endif
