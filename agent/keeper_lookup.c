// Directories by opening them, programs by their PATH.
#include "agent/keeper_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/mem.h"
#include "common/proc.h"

int keeper_lookup_wdir(const char *dir, struct err *err)
{
    CLEANUP_CLOSE int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && faccessat(fd, ".", X_OK, 0) == 0)
        return 0;
    int why = errno;
    err_set_kind(err, "WDIR", 125,
                 "working directory %s: %s (it has to be there in every pod; --wdir "
                 "names another)",
                 dir, strerror(why));
    return -1;
}

int keeper_lookup(const Muster__Lookup *m, struct strv *paths, struct err *err)
{
    for (size_t i = 0; i < m->n_programs; i++) {
        const Muster__LookupProgram *p = m->programs[i];
        const char *dir = p->wdir[0] != '\0' ? p->wdir : NULL;
        if (dir != NULL && keeper_lookup_wdir(dir, err) < 0)
            return -1;
        char *path = proc_resolve(p->name, p->path, dir, err);
        if (path == NULL)
            return -1;
        strv_add_steal(paths, path);
    }
    return 0;
}
