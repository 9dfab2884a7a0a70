// Which pods a command is about.
#include "tests/podbox/target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/file.h"

enum { LOCK_MS = 60000 };

int target_take(struct target *t, const char *name, int argc, char **argv,
                struct err *err)
{
    *t = (struct target){.lock = -1};
    if (argc != 2)
        return cmd_usage(argv[0], "want POD or all", err);
    struct bed *bed = bed_load(name, err); // says best what is wrong when it is not up
    bed_destroy(bed);
    if (bed == NULL || (t->lock = bed_lock(name, LOCK_MS, err)) < 0 ||
        (t->bed = bed_load(name, err)) == NULL)
        return -1;
    t->pods = xcalloc(t->bed->npods, sizeof *t->pods);
    if (strcmp(argv[1], "all") == 0) {
        for (size_t i = 0; i < t->bed->npods; i++)
            t->pods[t->n++] = &t->bed->pods[i];
        return 0;
    }
    t->pods[0] = bed_pod(t->bed, argv[1], err);
    t->n = 1;
    return t->pods[0] != NULL ? 0 : -1;
}

void target_leave(struct target *t)
{
    free(t->pods);
    bed_destroy(t->bed);
    if (t->lock >= 0)
        close(t->lock);
    *t = (struct target){.lock = -1};
}
