// dlopen, and dlsym for each function.
#include "common/dynlib.h"

#include <dlfcn.h>
#include <string.h>

int dynlib_open(const char *path, const struct dynlib_symbol *symbols, size_t n,
                void *table, struct err *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        err_set(err, "%s", dlerror());
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL && symbols[i].needed) {
            err_set(err, "%s has no %s", path, symbols[i].name);
            dlclose(library);
            return -1;
        }
        memcpy((char *)table + symbols[i].at, &found, sizeof found);
    }
    return 0;
}
