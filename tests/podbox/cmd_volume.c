// podbox volume: the content of ConfigMap and Secret volumes.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/file.h"
#include "tests/podbox/volume.h"

enum { LOCK_MS = 10000 };

// Works before `up` too: the bed's directory is made where it is missing.
static int put(const struct bed *bed, const char *volume, const char *from, mode_t mode,
               struct err *err)
{
    if (file_mkdirs(bed->dir, 0755, err) < 0)
        return -1;
    CLEANUP_CLOSE int lock = bed_lock(bed->name, LOCK_MS, err);
    return lock < 0 ? -1 : volume_put(bed, volume, from, mode, err);
}

int cmd_volume(const char *name, int argc, char **argv, struct err *err)
{
    struct bed *bed = bed_create(name, err);
    int rc = -1;
    if (bed == NULL)
        return -1;
    if (argc == 4 && strcmp(argv[1], "put") == 0)
        rc = put(bed, argv[2], argv[3], 0, err);
    else if (argc == 6 && strcmp(argv[1], "put") == 0 && strcmp(argv[4], "--mode") == 0)
        rc = put(bed, argv[2], argv[3], (mode_t)strtoul(argv[5], NULL, 8) & 0777, err);
    else if (argc == 3 && strcmp(argv[1], "show") == 0)
        rc = volume_show(bed, argv[2], err);
    else
        cmd_usage(argv[0], "want put NAME DIR [--mode 0400], or show NAME", err);
    bed_destroy(bed);
    return rc;
}
