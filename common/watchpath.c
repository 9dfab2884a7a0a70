// The way of a path: its links, one after the other, and the file at the end.
#include "common/watchpath.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"

enum { TRIES = 8 }; // a way that changes while it is looked up

// A name in a directory: a link, what is missing, or the file.
struct step {
    char *dir, *name;
};

struct way {
    struct step steps[WATCHPATH_LINKS_MAX + 1];
    size_t n;
    int missing;       // errno that it ends with before the file, 0: none
    struct buf traits; // all that tells it from another way
};

struct watchpath {
    struct watch *watch;
    char *path;
    watch_fn *fn;
    void *arg;
    struct way way;                                    // that is watched
    struct watch_item *items[WATCHPATH_LINKS_MAX + 1]; // of its steps
    size_t nitems;
    uint64_t changes; // of the way
    bool whole;       // each step is watched, and the last is the file
};

// ---- looking it up ----------------------------------------------------------------

static void way_free(struct way *way)
{
    for (size_t i = 0; i < way->n; i++) {
        free(way->steps[i].dir);
        free(way->steps[i].name);
    }
    buf_free(&way->traits);
    *way = (struct way){0};
}

static bool same_way(const struct way *a, const struct way *b)
{
    size_t len = buf_len(&a->traits);
    return len == buf_len(&b->traits) &&
           (len == 0 || memcmp(buf_data(&a->traits), buf_data(&b->traits), len) == 0);
}

// A directory is another one when its inode is.
static void add_step(struct way *way, const char *dir, const char *name,
                     const char *target)
{
    struct stat st = {0};
    way->steps[way->n++] = (struct step){xstrdup(dir), xstrdup(name)};
    if (stat(dir, &st) < 0)
        way->missing = errno;
    buf_printf(&way->traits, "%llu:%llu %s/%s -> %s\n", (unsigned long long)st.st_dev,
               (unsigned long long)st.st_ino, dir, name, target);
}

// Where a walk along a path stands.
struct walk {
    char *dir;  // without a link in it
    char *rest; // from there
};

static void move(struct walk *w, char *dir, char *rest)
{
    free(w->dir);
    free(w->rest);
    *w = (struct walk){dir, rest};
}

// One name further, through a link where it is one. False: this is the end.
static bool go_on(struct walk *w, struct way *way)
{
    char target[PATH_MAX];
    const char *from = w->rest + strspn(w->rest, "/");
    const char *rest = from + strcspn(from, "/");
    CLEANUP_FREE char *word = xstrndup(from, (size_t)(rest - from));
    CLEANUP_FREE char *here =
        xasprintf("%s%s%s", w->dir, strcmp(w->dir, "/") == 0 ? "" : "/", word);
    bool last = rest[strspn(rest, "/")] == '\0';
    ssize_t len = readlink(here, target, sizeof target - 1);
    if (len < 0 && (last || errno != EINVAL)) {
        way->missing = last ? 0 : errno;
        add_step(way, w->dir, word, "");
        return false;
    }
    if (len < 0) {
        move(w, STEAL(here), xstrdup(rest));
        return true;
    }
    if (way->n == WATCHPATH_LINKS_MAX) {
        way->missing = ELOOP;
        return false;
    }
    target[len] = '\0';
    add_step(way, w->dir, word, target);
    move(w, xstrdup(target[0] == '/' ? "/" : w->dir), xasprintf("%s%s", target, rest));
    return true;
}

static void look_up(const char *path, struct way *way)
{
    struct walk w = {xstrdup(path[0] == '/' ? "/" : "."), xstrdup(path)};
    way_free(way);
    while (w.rest[strspn(w.rest, "/")] != '\0' && go_on(&w, way))
        ;
    move(&w, NULL, NULL);
}

// ---- watching it ------------------------------------------------------------------

static void on_item(void *arg, bool closed);

// The old items go last: a directory that stays is watched all the time.
static int watch_way(struct watchpath *p, struct way *now)
{
    struct watch_item *old[WATCHPATH_LINKS_MAX + 1];
    size_t nold = p->nitems;
    int why = 0;
    memcpy(old, p->items, sizeof old);
    way_free(&p->way);
    p->way = *now;
    *now = (struct way){0};
    p->nitems = 0;
    while (p->nitems < p->way.n && why == 0) {
        const struct step *s = &p->way.steps[p->nitems];
        p->items[p->nitems] = watch_entry(p->watch, s->dir, s->name, on_item, p, NULL);
        if (p->items[p->nitems] != NULL)
            p->nitems++;
        else
            why = errno;
    }
    for (size_t i = 0; i < nold; i++)
        watch_remove(old[i]);
    return why;
}

static bool all_watched(const struct watchpath *p)
{
    for (size_t i = 0; i < p->nitems; i++)
        if (!watch_is_live(p->items[i]))
            return false;
    return p->nitems == p->way.n;
}

bool watchpath_is_live(const struct watchpath *p)
{
    return p->whole && all_watched(p);
}

// 0, or an errno. What is watched now is looked up once more: it may have changed before.
static int follow_changes(struct watchpath *p)
{
    int why = EAGAIN;
    struct way now = {0};
    look_up(p->path, &now);
    for (int i = 0; i < TRIES && why == EAGAIN; i++) {
        if (same_way(&now, &p->way) && all_watched(p)) {
            why = now.missing;
            break;
        }
        p->changes++;
        why = watch_way(p, &now);
        why = why == 0 ? EAGAIN : why;
        look_up(p->path, &now);
    }
    way_free(&now);
    return why;
}

static int renew(struct watchpath *p, struct err *err)
{
    int why = follow_changes(p);
    p->whole = why == 0;
    if (why == 0)
        return 0;
    if (why == EAGAIN)
        err_set(err, "%s cannot be watched: what it leads to changes all the time",
                p->path);
    else
        err_set_errno(err, why, "%s cannot be watched%s", p->path,
                      why == ENOSPC ? " (fs.inotify.max_user_watches)" : "");
    errno = why;
    return -1;
}

int watchpath_renew(struct watchpath *p, struct err *err)
{
    return watchpath_is_live(p) ? 0 : renew(p, err);
}

static void on_item(void *arg, bool closed)
{
    struct watchpath *p = arg;
    uint64_t before = p->changes;
    renew(p, NULL);
    p->fn(p->arg, closed || (p->whole && p->changes > before));
}

// ---- life -------------------------------------------------------------------------

struct watchpath *watchpath_create(struct watch *w, const char *path, watch_fn *fn,
                                   void *arg)
{
    struct watchpath *p = xcalloc(1, sizeof *p);
    p->watch = w;
    p->path = xstrdup(path);
    p->fn = fn;
    p->arg = arg;
    return p;
}

void watchpath_destroy(struct watchpath *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->nitems; i++)
        watch_remove(p->items[i]);
    way_free(&p->way);
    free(p->path);
    free(p);
}
