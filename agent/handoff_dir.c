// roll.json, roll.beat and applied.json.
#include "agent/handoff_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "hostfile/roll_json.h"
#include "hostfile/slurp.h"
#include "sidecar/outfile.h"

struct handoff_dir {
    char *roll_path, *beat_path, *new_beat_path, *applied_path;
    struct log *log;
    struct outfile *file; // NULL: no lease of ours
    int beat_fd;
    bool beat_is_new; // not in its place yet
    struct roll_lease lease;
    struct roll_beat beat;
    struct buf wanted; // roll.json as it should be
    bool written;
    struct err failure;
};

struct handoff_dir *handoff_dir_create(const char *path, uint32_t lease_ms,
                                       struct log *log)
{
    struct handoff_dir *d = xcalloc(1, sizeof *d);
    d->roll_path = xasprintf("%s/" ROLL_FILE, path);
    d->beat_path = xasprintf("%s/" ROLL_BEAT_FILE, path);
    d->new_beat_path = xasprintf("%s/." ROLL_BEAT_FILE ".new", path);
    d->applied_path = xasprintf("%s/" ROLL_APPLIED_FILE, path);
    d->lease.ms = lease_ms;
    d->log = log;
    d->beat_fd = -1;
    return d;
}

void handoff_dir_destroy(struct handoff_dir *d)
{
    if (d == NULL)
        return;
    handoff_dir_release(d);
    free(d->roll_path);
    free(d->beat_path);
    free(d->new_beat_path);
    free(d->applied_path);
    free(d);
}

// ---- writing ------------------------------------------------------------------

static void new_lease(struct handoff_dir *d)
{
    uint8_t bytes[ROLL_LEASE_ID_LEN / 2];
    while (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        ;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(d->lease.id + 2 * i, 3, "%02x", bytes[i]);
    d->beat = (struct roll_beat){0};
    memcpy(d->beat.id, d->lease.id, sizeof d->beat.id);
}

// In the place of one that an agent has left, once there is something in it: a beat that
// is missing means that the job has ended.
static int open_beat(struct handoff_dir *d, struct err *err)
{
    unlink(d->new_beat_path);
    d->beat_fd = open(d->new_beat_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    d->beat_is_new = true;
    if (d->beat_fd >= 0)
        return 0;
    err_set_errno(err, errno, "%s cannot be made", d->new_beat_path);
    return -1;
}

static int open_files(struct handoff_dir *d, struct err *err)
{
    if (d->file != NULL)
        return 0;
    d->file = outfile_create(d->roll_path, err);
    if (d->file == NULL)
        return -1;
    if (open_beat(d, err) == 0)
        return 0;
    outfile_destroy(STEAL(d->file));
    return -1;
}

static int write_beat(struct handoff_dir *d, struct err *err)
{
    BUF_AUTO line = BUF_INIT;
    d->beat.count++;
    roll_beat_write(&d->beat, &line);
    ssize_t n = pwrite(d->beat_fd, buf_data(&line), buf_len(&line), 0);
    if (n != (ssize_t)buf_len(&line) ||
        (d->beat_is_new && rename(d->new_beat_path, d->beat_path) < 0)) {
        err_set_errno(err, n >= 0 && n < (ssize_t)buf_len(&line) ? ENOSPC : errno,
                      "%s cannot be written", d->beat_path);
        return -1;
    }
    d->beat_is_new = false;
    return 0;
}

// The roll before the beat that tells of it.
static int write_both(struct handoff_dir *d, struct err *err)
{
    if (open_files(d, err) < 0 ||
        (!d->written && outfile_put(d->file, &d->wanted, err) < 0))
        return -1;
    d->written = true;
    return write_beat(d, err);
}

static void write_and_tell(struct handoff_dir *d)
{
    ERR_AUTO err = ERR_INIT;
    if (write_both(d, &err) == 0) {
        if (d->failure.text != NULL)
            log_info(d->log, "%s is written now", d->roll_path);
        err_clear(&d->failure);
        return;
    }
    bool known = d->failure.text != NULL && strcmp(d->failure.text, err.text) == 0;
    bool none = err.kind != NULL && strcmp(err.kind, "OUT_NO_DIRECTORY") == 0;
    if (!known && !none)
        log_warn(d->log, "%s; a sidecar here does not get the job's roll",
                 err_text(&err));
    err_copy(&d->failure, &err);
    d->failure.kind = err.kind;
}

void handoff_dir_put(struct handoff_dir *d, const struct roll *r)
{
    if (d->lease.id[0] == '\0')
        new_lease(d);
    buf_clear(&d->wanted);
    roll_json_write(r, &d->lease, &d->wanted);
    d->beat.generation = r->generation;
    d->written = false;
    write_and_tell(d);
}

void handoff_dir_beat(struct handoff_dir *d)
{
    if (d->lease.id[0] != '\0')
        write_and_tell(d);
}

void handoff_dir_release(struct handoff_dir *d)
{
    if (d->file != NULL) {
        outfile_remove(d->file);
        unlink(d->beat_is_new ? d->new_beat_path : d->beat_path);
        close(d->beat_fd);
        d->beat_fd = -1;
        outfile_destroy(STEAL(d->file));
    }
    buf_free(&d->wanted);
    err_clear(&d->failure);
    d->lease.id[0] = '\0';
    d->written = false;
}

const struct err *handoff_dir_failure(const struct handoff_dir *d)
{
    return d->failure.text != NULL ? &d->failure : NULL;
}

// ---- reading ------------------------------------------------------------------

bool handoff_dir_is_read(const struct handoff_dir *d)
{
    return outfile_is_kept(d->applied_path);
}

int handoff_dir_answer(const struct handoff_dir *d, const struct roll *r,
                       struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    struct roll_applied a;
    if (slurp(d->applied_path, &text, NULL) < 0 ||
        roll_applied_read((const char *)buf_data(&text), buf_len(&text), &a) < 0)
        return 0;
    int rc = strcmp(a.job, r->job_key) != 0 || a.term != r->term ||
                     a.generation < r->generation
                 ? 0
             : a.error[0] == '\0' ? 1
                                  : -1;
    if (rc < 0)
        err_set(err, "the pod's sidecar: %s", a.error);
    roll_applied_free(&a);
    return rc;
}
