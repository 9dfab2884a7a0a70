// The directory of checkpoints: list, commit, remove.
#include "kernels/train/ckptdir.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "kernels/train/wholefile.h"

// ---- names ------------------------------------------------------------------------

char *ckpt_name_text(const struct ckpt_name *n)
{
    return xasprintf("step-%08" PRIu64 "-of-%" PRIu32, n->step, n->ranks);
}

int ckpt_name_parse(const char *text, struct ckpt_name *n)
{
    uint64_t step, ranks;
    if (sscanf(text, "step-%" SCNu64 "-of-%" SCNu64, &step, &ranks) != 2 || ranks < 1 ||
        ranks > CKPT_RANKS_MAX)
        return -1;
    *n = (struct ckpt_name){.step = step, .ranks = (uint32_t)ranks};
    CLEANUP_FREE char *again = ckpt_name_text(n);
    return strcmp(again, text) == 0 ? 0 : -1;
}

char *ckpt_shard_path(const char *dir, const struct ckpt_name *n, uint32_t rank)
{
    CLEANUP_FREE char *name = ckpt_name_text(n);
    return xasprintf("%s/%s/shard-%" PRIu32, dir, name, rank);
}

enum { LATEST_MAX = 64 }; // bytes

// ---- latest -----------------------------------------------------------------------

int ckptdir_commit(const char *dir, const struct ckpt_name *n, struct err *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/latest", dir);
    CLEANUP_FREE char *name = ckpt_name_text(n);
    BUF_AUTO text = BUF_INIT;
    buf_printf(&text, "%s\n", name);
    return wholefile_put(path, &text, err);
}

// 1: *n is what it names; 0: there is none.
static int read_latest(const char *dir, struct ckpt_name *n, struct err *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/latest", dir);
    BUF_AUTO content = BUF_INIT;
    int rc = wholefile_get(path, LATEST_MAX, &content, err);
    if (rc != 0)
        return rc > 0 ? 0 : -1;
    CLEANUP_FREE char *text = buf_steal_str(&content);
    text[strcspn(text, "\n")] = '\0';
    if (ckpt_name_parse(text, n) == 0)
        return 1;
    err_set(err,
            "%s: '%s' is no checkpoint's name: write the name of one of its folders "
            "(step-...-of-...) into it, or remove it to begin anew",
            path, text);
    return -1;
}

// ---- the list ---------------------------------------------------------------------

// From the newest; of one step's, the one of more ranks first, for no reason but order.
static int newest_first(const void *a, const void *b)
{
    const struct ckpt_name *x = a, *y = b;
    if (x->step != y->step)
        return x->step > y->step ? -1 : 1;
    return x->ranks == y->ranks ? 0 : x->ranks > y->ranks ? -1 : 1;
}

static bool is_latest(const struct ckpt_name *n, const struct ckpt_name *latest)
{
    return n->step == latest->step && n->ranks == latest->ranks;
}

int ckptdir_list(const char *dir, struct ckpt_name **names, size_t *n, struct err *err)
{
    struct ckpt_name latest, one;
    *names = NULL;
    *n = 0;
    int rc = read_latest(dir, &latest, err);
    if (rc <= 0)
        return rc;
    DIR *d = opendir(dir);
    if (d == NULL) {
        err_set_errno(err, errno, "%s cannot be read", dir);
        return -1;
    }
    struct ckpt_name *list = xrealloc(NULL, 1, sizeof *list);
    size_t count = 1;
    list[0] = latest;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        // What is newer was never committed.
        if (ckpt_name_parse(e->d_name, &one) < 0 || one.step > latest.step ||
            is_latest(&one, &latest))
            continue;
        list = xrealloc(list, count + 1, sizeof *list);
        list[count++] = one;
    }
    closedir(d);
    qsort(list + 1, count - 1, sizeof *list, newest_first);
    *names = list;
    *n = count;
    return 0;
}

uint32_t ckptdir_missing(const char *dir, const struct ckpt_name *n)
{
    for (uint32_t r = 0; r < n->ranks; r++) {
        CLEANUP_FREE char *path = ckpt_shard_path(dir, n, r);
        if (access(path, F_OK) < 0)
            return r;
    }
    return n->ranks;
}

void ckptdir_remove(const char *dir, const struct ckpt_name *n)
{
    CLEANUP_FREE char *name = ckpt_name_text(n);
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
    DIR *d = opendir(path);
    if (d == NULL)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        unlinkat(dirfd(d), e->d_name, 0); // neither "." nor ".."
    closedir(d);
    rmdir(path);
}
