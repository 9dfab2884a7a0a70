// What is told, and when.
#include "sidecar/hook.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "sidecar/change.h"

struct hook {
    struct hook_conf conf;
    struct child *child;
    struct members was, is;   // what it was told, what it is to be told
    uint64_t generation;      // of `is`
    struct hook_status count; // with the generation of `was`
};

// ---- starting ---------------------------------------------------------------------

// A file that holds the text, to be read from its beginning; a pipe would have to be filled
// while the program reads.
static int text_file(const struct buf *text, struct err *err)
{
    CLEANUP_CLOSE int fd = memfd_create("muster-change", MFD_CLOEXEC);
    if (fd >= 0 && fd_write(fd, buf_data(text), buf_len(text)) == 0 &&
        lseek(fd, 0, SEEK_SET) == 0)
        return mem_steal_fd(&fd);
    err_set_errno(err, errno, "the difference cannot be handed over");
    return -1;
}

static int spawn(struct hook *h, const struct change *c, struct err *err)
{
    BUF_AUTO json = BUF_INIT;
    STRV_AUTO env = STRV_INIT;
    change_json(c, h->generation, &json);
    change_env(c, h->generation, &env);
    CLEANUP_CLOSE int in = text_file(&json, err);
    return in < 0 ? -1 : child_start(h->child, in, env.v, err);
}

// What it was not told yet, if anything.
static void start(struct hook *h)
{
    ERR_AUTO err = ERR_INIT;
    struct change c;
    change_find(&h->was, &h->is, &c);
    if (change_is_empty(&c))
        return;
    int rc = spawn(h, &c, &err);
    h->count.runs += rc == 0 ? 1 : 0;
    h->count.generation = h->generation;
    members_copy(&h->was, &h->is);
    if (rc == 0)
        return;
    h->count.failures++;
    log_warn(h->conf.log, "on-change: %s: %s", h->conf.program, err_text(&err));
}

static void on_ended(void *arg, bool well, const char *how)
{
    struct hook *h = arg;
    if (!well) {
        h->count.failures++;
        log_warn(h->conf.log, "on-change: %s: %s (generation %llu)", h->conf.program,
                 how, (unsigned long long)h->count.generation);
    }
    start(h);
}

// ---- life -------------------------------------------------------------------------

struct hook *hook_create(const struct hook_conf *conf, struct err *err)
{
    struct hook *h = xcalloc(1, sizeof *h);
    const struct child_conf child = {.base = conf->base,
                                     .log = conf->log,
                                     .role = "on-change",
                                     .program = conf->program,
                                     .limit_ms = conf->limit_ms,
                                     .level = LOG_LEVEL_INFO,
                                     .reaps = true,
                                     .ended = on_ended,
                                     .arg = h};
    h->conf = *conf;
    h->child = child_create(&child, err);
    if (h->child != NULL)
        return h;
    free(h);
    return NULL;
}

void hook_destroy(struct hook *h)
{
    if (h == NULL)
        return;
    child_destroy(h->child);
    members_free(&h->was);
    members_free(&h->is);
    free(h);
}

void hook_tell(struct hook *h, const struct members *members, uint64_t generation)
{
    if (generation == h->generation)
        return;
    h->generation = generation;
    members_copy(&h->is, members);
    if (child_is_idle(h->child))
        start(h);
}

void hook_status(const struct hook *h, struct hook_status *out)
{
    *out = h->count;
    out->running = !child_is_idle(h->child);
}
