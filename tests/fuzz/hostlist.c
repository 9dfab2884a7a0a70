// libFuzzer target for --host lists and the filters: SPEC, newline, LIST.
#include <stdint.h>
#include <string.h>

#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/filter.h"
#include "hostfile/hostlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*filter_fn)(struct members *m, const char *spec, struct err *err);

static int by_list(struct members *m, const char *spec, struct err *err)
{
    MEMBERS_AUTO list = MEMBERS_INIT;
    if (dialect_read(dialect_filter(), spec, strlen(spec), "L", NULL, &list, NULL,
                     err) < 0)
        return -1;
    return filter_by_list(m, &list, "L", err);
}

static void try(const struct members *all, filter_fn filter, const char *spec)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    members_copy(&m, all);
    int rc = filter(&m, spec, &err);
    if (rc < 0 ? err.text == NULL || !members_equal(&m, all) : m.n > all->n)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    CLEANUP_FREE char *spec = xstrndup((const char *)data, size);
    char *list = strchr(spec, '\n');
    if (list == NULL)
        return 0;
    *list++ = '\0';
    if (hostlist_read(list, "--host", 1, "this-pod", &m, &err) < 0) {
        if (err.text == NULL || m.n > 0)
            __builtin_trap();
        return 0;
    }
    if (m.n > 1000)
        return 0;
    try(&m, filter_include, spec);
    try(&m, filter_exclude, spec);
    try(&m, by_list, spec);
    return 0;
}
