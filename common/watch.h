// Tells when a file or what is in a directory changes: inotify in the event loop.
//
// One instance a program: a uid has only 128 (fs.inotify.max_user_instances), all pods of
// a node together. Whoever cannot have one polls.
#ifndef MUSTER_COMMON_WATCH_H
#define MUSTER_COMMON_WATCH_H

#include <stdbool.h>

#include "common/err.h"

struct event_base;
struct watch;
struct watch_item;

// NULL with err, which names the limit, where there is no instance.
struct watch *watch_create(struct event_base *base, struct err *err);
void watch_destroy(struct watch *w); // NULL-safe; all items are gone before

// A change of the inode that the path names: content, attributes, removal. `closed` is
// true when somebody who had it open for writing has closed it. Calls come from the loop.
typedef void watch_fn(void *arg, bool closed);
struct watch_item *watch_file(struct watch *w, const char *path, watch_fn *fn,
                              void *arg, struct err *err);
// A change of a directory's entries or of the files in it; `closed` as above.
struct watch_item *watch_dir(struct watch *w, const char *path, watch_fn *fn, void *arg,
                             struct err *err);
// A change of one entry of a directory (a link: of the link itself), or a move of the directory.
// `closed` is false while somebody may still be writing: true when the last that happened was a
// close after writing, or a rename to this name. Whole paths: watchpath.h.
struct watch_item *watch_entry(struct watch *w, const char *dir, const char *name,
                               watch_fn *fn, void *arg, struct err *err);
// False when the inode is gone: remove the item, and watch what the path names now.
bool watch_is_live(const struct watch_item *item);
void watch_remove(struct watch_item *item); // NULL-safe; also from inside a call

#endif
