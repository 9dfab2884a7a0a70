// Watches the file that a path leads to, through every symbolic link on the way.
//
// Watched are the file's own directory and the directory of each link, for the one name in it
// that the path goes through: a volume of Kubernetes swaps the link ..data, and the path may
// be a link into such a volume. When something on the way changes it is looked up anew.
// Not watched are directories above these: whoever polls finds that one of them was moved.
#ifndef MUSTER_COMMON_WATCHPATH_H
#define MUSTER_COMMON_WATCHPATH_H

#include <stdbool.h>

#include "common/err.h"
#include "common/watch.h"

enum { WATCHPATH_LINKS_MAX = 40 }; // as the kernel's

struct watchpath;

// Watches nothing before watchpath_renew(). A call says that the file may be another one, or
// have another content; `closed` as watch_entry() has it, and true when the way is another.
struct watchpath *watchpath_create(struct watch *w, const char *path, watch_fn *fn,
                                   void *arg);
void watchpath_destroy(struct watchpath *p); // NULL-safe; also from inside a call

// Looks the way up, where that was not done or something on it is gone. 0: all of it is
// watched. -1 with err and errno: ENOENT, ENOTDIR (a part is missing, and waited for as far as
// its directory is there), ELOOP, EAGAIN (it changes all the time), or what watch_entry() has.
int watchpath_renew(struct watchpath *p, struct err *err);
// False: not all of the way is watched.
bool watchpath_is_live(const struct watchpath *p);

#endif
