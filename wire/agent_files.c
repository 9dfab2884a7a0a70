// The agent's programs, read into memory.
#include "wire/agent_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

enum { PROGRAM_MAX = 256 << 20, PIECE = 256 * 1024 };

char *agent_files_pmixd(const char *musterd)
{
    static const char *const places[] = {"muster-pmixd", "../libexec/muster-pmixd",
                                         "../libexec/muster/muster-pmixd"};
    const char *slash = strrchr(musterd, '/');
    int len = slash != NULL ? (int)(slash - musterd) : 0;
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
        CLEANUP_FREE char *path = xasprintf("%.*s/%s", len, musterd, places[i]);
        if (access(path, X_OK) == 0)
            return STEAL(path);
    }
    return NULL;
}

static int read_all(const char *path, struct buf *out, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && buf_len(out) <= PROGRAM_MAX) {
        n = read(fd, buf_reserve(out, PIECE), PIECE);
        if (n > 0)
            buf_commit(out, (size_t)n);
    }
    if (n == 0)
        return 0;
    err_set_errno(err, n < 0 ? errno : EFBIG, "--push-agent: cannot read %s", path);
    return -1;
}

static int add(struct agent_files *f, const char *name, const char *path,
               struct err *err)
{
    struct agent_file *file = &f->v[f->n++];
    file->name = name;
    if (read_all(path, &file->content, err) < 0)
        return -1;
    sha256_hex(buf_data(&file->content), buf_len(&file->content), file->hash);
    return 0;
}

struct agent_files *agent_files_load(const char *musterd, struct err *err)
{
    struct agent_files *f = xcalloc(1, sizeof *f);
    CLEANUP_FREE char *pmixd = agent_files_pmixd(musterd);
    BUF_AUTO hashes = BUF_INIT;
    char all[SHA256_HEX];
    if ((pmixd != NULL && add(f, "muster-pmixd", pmixd, err) < 0) ||
        add(f, "musterd", musterd, err) < 0) {
        agent_files_destroy(f);
        return NULL;
    }
    for (size_t i = 0; i < f->n; i++)
        buf_append_str(&hashes, f->v[i].hash);
    sha256_hex(buf_data(&hashes), buf_len(&hashes), all);
    snprintf(f->dir, sizeof f->dir, "muster-agent-%.16s", all);
    return f;
}

void agent_files_destroy(struct agent_files *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->n; i++)
        buf_free(&f->v[i].content);
    free(f);
}
