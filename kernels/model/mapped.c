// Open, look at it, map it.
#include "kernels/model/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/mem.h"

int mapped_open(const char *path, struct mapped *m, struct err *err)
{
    struct stat st;
    *m = (struct mapped){0};
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_set_errno(err, errno, "%s: it cannot be opened", path);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(err, "%s: it is no regular file", path);
        return -1;
    }
    if (st.st_size == 0) {
        err_set(err, "%s: it is empty", path);
        return -1;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        err_set_errno(err, errno, "%s: %zu bytes cannot be mapped", path,
                      (size_t)st.st_size);
        return -1;
    }
    *m = (struct mapped){.data = p, .n = (size_t)st.st_size};
    return 0;
}

void mapped_close(struct mapped *m)
{
    if (m->data != NULL)
        munmap((void *)(uintptr_t)m->data, m->n);
    *m = (struct mapped){0};
}
