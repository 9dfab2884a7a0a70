// libFuzzer target for a directory of checkpoints: what `latest` says, a NUL, and the names of what
// else is there, a line each.
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/strv.h"
#include "demand.h"
#include "kernels/train/ckptdir.h"
#include "scratch.h"

enum { NAMES_MAX = 16, NAME_MAX_BYTES = 100 };

static bool can_be_made(const char *name)
{
    return name[0] != '\0' && strlen(name) <= NAME_MAX_BYTES &&
           strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && strcmp(name, "latest") != 0;
}

static void make(const struct strv *names)
{
    for (size_t i = 0; i < names->n && i < NAMES_MAX; i++)
        if (can_be_made(names->v[i]))
            free(scratch_put(names->v[i], "", 0));
}

static void clear(const struct strv *names)
{
    for (size_t i = 0; i < names->n && i < NAMES_MAX; i++) {
        CLEANUP_FREE char *path = xasprintf("%s/%s", scratch_dir(), names->v[i]);
        if (can_be_made(names->v[i]))
            unlink(path);
    }
}

static bool is_before(const struct ckpt_name *a, const struct ckpt_name *b)
{
    return a->step > b->step || (a->step == b->step && a->ranks > b->ranks);
}

// The one that `latest` names, and then from the newest; none is there twice or newer.
static void check(const struct ckpt_name *list, size_t n, const char *latest)
{
    demand(n >= 1 && n <= NAMES_MAX + 1, "so many cannot be there");
    CLEANUP_FREE char *first = ckpt_name_text(&list[0]);
    size_t len = strlen(first);
    demand(strncmp(latest, first, len) == 0 &&
               (latest[len] == '\0' || latest[len] == '\n'),
           "the first is another one than latest names");
    for (size_t i = 1; i < n; i++) {
        demand(list[i].ranks >= 1 && list[i].ranks <= CKPT_RANKS_MAX, "its ranks");
        demand(list[i].step <= list[0].step, "it was never committed");
        demand(list[i].step != list[0].step || list[i].ranks != list[0].ranks,
               "latest is there twice");
        demand(i == 1 || is_before(&list[i - 1], &list[i]), "their order");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    STRV_AUTO names = STRV_INIT;
    CLEANUP_FREE struct ckpt_name *list = NULL;
    size_t n;
    CLEANUP_FREE char *text = xstrndup((const char *)data, size);
    size_t len = strlen(text); // the rest is behind a NUL
    CLEANUP_FREE char *rest =
        len < size ? xstrndup((const char *)data + len + 1, size - len - 1)
                   : xstrdup("");
    CLEANUP_FREE char *latest = scratch_put("latest", text, len);
    strv_add_split(&names, rest, '\n');
    make(&names);
    if (ckptdir_list(scratch_dir(), &list, &n, &err) == 0)
        check(list, n, text);
    else
        demand_error(&err);
    clear(&names);
    return 0;
}
