// A text file, mapped, and samples of it.
#include "kernels/train/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/crc32.h"
#include "common/mem.h"
#include "kernels/model/mix.h"

struct text {
    const uint8_t *bytes;
    size_t len;
};

static int check(const char *path, const struct stat *st, size_t least, struct err *err)
{
    if (!S_ISREG(st->st_mode)) {
        err_set(err, "%s: not a regular file: give a text with --text", path);
        return -1;
    }
    if ((size_t)st->st_size >= least)
        return 0;
    err_set(
        err,
        "%s: %lld bytes, and one sample takes %zu (--seq-len and one): give a longer "
        "text, or a smaller --seq-len",
        path, (long long)st->st_size, least);
    return -1;
}

struct text *text_open(const char *path, size_t least, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_set_errno(err, errno, "--text %s cannot be read", path);
        return NULL;
    }
    if (check(path, &st, least, err) < 0)
        return NULL;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        err_set_errno(err, errno, "%s cannot be mapped", path);
        return NULL;
    }
    struct text *t = xcalloc(1, sizeof *t);
    *t = (struct text){.bytes = map, .len = (size_t)st.st_size};
    return t;
}

void text_close(struct text *t)
{
    if (t == NULL)
        return;
    munmap((void *)(uintptr_t)t->bytes, t->len);
    free(t);
}

size_t text_len(const struct text *t)
{
    return t->len;
}

uint32_t text_crc(const struct text *t)
{
    return crc32_add(0, t->bytes, t->len);
}

void text_sample(const struct text *t, uint64_t seed, uint64_t step, uint64_t i,
                 int32_t *tokens, size_t n)
{
    uint64_t at = mix(mix(seed + mix(step)) + i) % (t->len - n + 1);
    for (size_t k = 0; k < n; k++)
        tokens[k] = t->bytes[at + k];
}
