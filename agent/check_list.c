// Looking for installed checks.
#include "agent/check_list.h"

#include <stdlib.h>

#include "common/mem.h"
#include "common/proc.h"
#include "common/strv.h"

enum { QUICK_MS = 8000, PARTS = 10 }; // one of the parts is left for the program's end

// The quick ones and those that can do without a driver first.
static const struct {
    const char *name;
    const char *full[2]; // further arguments then
} known[] = {
    {"cpucheck", {"--memory", "50%"}},
    {"nvprobe", {NULL, NULL}},
    {"gpucheck", {NULL, NULL}},
};
enum { KNOWN = sizeof known / sizeof *known };

char *check_list_find(const char *name)
{
    CLEANUP_FREE char *built = xasprintf("../kernels/check/%s", name);
    CLEANUP_FREE char *installed = xasprintf("../libexec/muster/%s", name);
    const char *const places[] = {built, installed};
    return proc_find_beside(places, sizeof places / sizeof *places);
}

static void add_arguments(size_t i, uint32_t timeout_ms, bool full, struct strv *argv)
{
    uint32_t most = timeout_ms - timeout_ms / PARTS;
    uint32_t deadline_ms = full || most < QUICK_MS ? most : QUICK_MS;
    strv_add(argv, "--deadline");
    strv_addf(argv, "%g", deadline_ms / 1e3);
    for (size_t k = 0; full && k < 2 && known[i].full[k] != NULL; k++)
        strv_add(argv, known[i].full[k]);
}

size_t check_list_installed(uint32_t timeout_ms, bool full, Muster__Check ***v)
{
    size_t n = 0;
    *v = xcalloc(KNOWN, sizeof **v);
    for (size_t i = 0; i < KNOWN; i++) {
        struct strv argv = STRV_INIT;
        char *path = check_list_find(known[i].name);
        if (path == NULL)
            continue;
        strv_add_steal(&argv, path);
        add_arguments(i, timeout_ms, full, &argv);
        Muster__Check *c = xmalloc(sizeof *c);
        muster__check__init(c);
        c->name = xstrdup(known[i].name);
        c->argv = strv_take(&argv, &c->n_argv);
        (*v)[n++] = c;
    }
    return n;
}
