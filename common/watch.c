// One inotify descriptor, and who waits for what.
#include "common/watch.h"

#include <errno.h>
#include <event2/event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utlist.h>

#include "common/mem.h"

enum {
    FILE_MASK = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF,
    DIR_MASK = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE |
               IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF,
};

struct watch_item {
    struct watch *watch;
    int wd;
    watch_fn *fn;
    void *arg;
    char *name;       // only this entry of the directory; NULL: all
    bool hit, closed; // by the events that were just read
    struct watch_item *prev, *next;
};

struct watch {
    int fd;
    struct event *readable;
    struct watch_item *items;
};

static bool concerns(const struct watch_item *item, const struct inotify_event *e)
{
    if (e->mask & IN_Q_OVERFLOW)
        return true;
    return item->wd == e->wd &&
           (item->name == NULL || e->len == 0 || strcmp(e->name, item->name) == 0);
}

static void mark(struct watch *w, const struct inotify_event *e)
{
    struct watch_item *item;
    DL_FOREACH (w->items, item) {
        if (!concerns(item, e))
            continue;
        item->hit = true;
        if (item->name != NULL)
            item->closed = (e->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0;
        else
            item->closed = item->closed || (e->mask & IN_CLOSE_WRITE) != 0;
        if (e->mask & IN_IGNORED)
            item->wd = -1; // the inode is gone
    }
}

// Calls may remove items: the search begins anew after each.
static void call(struct watch *w)
{
    struct watch_item *item = w->items;
    while (item != NULL) {
        if (!item->hit) {
            item = item->next;
            continue;
        }
        bool closed = item->closed;
        item->hit = item->closed = false;
        item->fn(item->arg, closed);
        item = w->items;
    }
}

static void on_readable(int fd, short what, void *arg)
{
    struct watch *w = arg;
    union {
        struct inotify_event event; // for its alignment
        char bytes[1 << 14];
    } in;
    ssize_t n;
    while ((n = read(fd, &in, sizeof in)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *e = (const void *)(in.bytes + at);
            mark(w, e);
            at += (ssize_t)(sizeof *e + e->len);
        }
    call(w);
}

struct watch *watch_create(struct event_base *base, struct err *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        const char *limit = errno == EMFILE ? " (fs.inotify.max_user_instances)" : "";
        err_set_errno(err, errno, "no inotify instance%s", limit);
        return NULL;
    }
    struct watch *w = xcalloc(1, sizeof *w);
    w->fd = fd;
    w->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, w);
    event_add(w->readable, NULL);
    return w;
}

void watch_destroy(struct watch *w)
{
    if (w == NULL)
        return;
    event_free(w->readable);
    close(w->fd);
    free(w);
}

static struct watch_item *add(struct watch *w, const char *path, uint32_t mask,
                              watch_fn *fn, void *arg, struct err *err)
{
    int wd = inotify_add_watch(w->fd, path, mask | IN_MASK_ADD);
    if (wd < 0) {
        const char *limit = errno == ENOSPC ? " (fs.inotify.max_user_watches)" : "";
        int why = errno;
        err_set_errno(err, why, "%s cannot be watched%s", path, limit);
        errno = why;
        return NULL;
    }
    struct watch_item *item = xcalloc(1, sizeof *item);
    *item = (struct watch_item){.watch = w, .wd = wd, .fn = fn, .arg = arg};
    DL_APPEND(w->items, item);
    return item;
}

struct watch_item *watch_file(struct watch *w, const char *path, watch_fn *fn,
                              void *arg, struct err *err)
{
    return add(w, path, FILE_MASK, fn, arg, err);
}

struct watch_item *watch_dir(struct watch *w, const char *path, watch_fn *fn, void *arg,
                             struct err *err)
{
    return add(w, path, DIR_MASK | IN_ONLYDIR, fn, arg, err);
}

struct watch_item *watch_entry(struct watch *w, const char *dir, const char *name,
                               watch_fn *fn, void *arg, struct err *err)
{
    struct watch_item *item = watch_dir(w, dir, fn, arg, err);
    if (item != NULL)
        item->name = xstrdup(name);
    return item;
}

bool watch_is_live(const struct watch_item *item)
{
    return item->wd >= 0;
}

void watch_remove(struct watch_item *item)
{
    struct watch_item *other;
    if (item == NULL)
        return;
    struct watch *w = item->watch;
    DL_DELETE(w->items, item);
    DL_FOREACH (w->items, other) {
        if (other->wd == item->wd)
            break;
    }
    if (other == NULL && item->wd >= 0)
        inotify_rm_watch(w->fd, item->wd);
    free(item->name);
    free(item);
}
