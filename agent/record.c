// Records of jobs: a short list, the one that was touched last at its end.
#include "agent/record.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "wire/msg.h"

struct record {
    char *job_key;
    uint32_t term;
    uint8_t launcher[RECORD_LAUNCHER_BYTES];
    char *host;
    Muster__Progress *progress; // owned; NULL: nothing was prepared
    uint64_t written_ms;        // when its account was
};

struct records {
    struct record *v[RECORD_JOBS_MAX];
    size_t n;
};

struct records *records_create(void)
{
    return xcalloc(1, sizeof(struct records));
}

// Out of the list, which keeps its order.
static struct record *take(struct records *r, size_t i)
{
    struct record *rec = r->v[i];
    r->n--;
    memmove(&r->v[i], &r->v[i + 1], (r->n - i) * sizeof(struct record *));
    return rec;
}

static void forget(struct records *r, size_t i)
{
    struct record *rec = take(r, i);
    msg_free(rec->progress);
    free(rec->host);
    free(rec->job_key);
    free(rec);
}

void records_destroy(struct records *r)
{
    if (r == NULL)
        return;
    while (r->n > 0)
        forget(r, r->n - 1);
    free(r);
}

static struct record *find(const struct records *r, const char *job_key)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->v[i]->job_key, job_key) == 0)
            return r->v[i];
    return NULL;
}

static void touch(struct records *r, const struct record *rec)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i] == rec) {
            struct record *last = take(r, i);
            r->v[r->n++] = last;
            return;
        }
}

// A ban, or a job that is done.
static bool is_spare(const struct record *rec)
{
    return rec->term == RECORD_TERM_BANNED ||
           (rec->progress != NULL && rec->progress->done);
}

static void make_room(struct records *r)
{
    size_t oldest = 0;
    if (r->n < RECORD_JOBS_MAX)
        return;
    for (size_t i = r->n; i-- > 0;)
        oldest = is_spare(r->v[i]) ? i : oldest;
    forget(r, oldest);
}

static struct record *add(struct records *r, const char *job_key)
{
    make_room(r);
    struct record *rec = xcalloc(1, sizeof *rec);
    rec->job_key = xstrdup(job_key);
    r->v[r->n++] = rec;
    return rec;
}

static bool holds(const struct record *rec, const struct record_claim *c)
{
    return rec->term == c->term &&
           memcmp(rec->launcher, c->launcher, sizeof c->launcher) == 0;
}

bool records_is_held(const struct records *r, const struct record_claim *c)
{
    const struct record *rec = find(r, c->job_key);
    return rec != NULL && holds(rec, c);
}

bool records_grant(struct records *r, const struct record_claim *c)
{
    struct record *rec = find(r, c->job_key);
    if (c->term == 0 || (rec != NULL && c->term <= rec->term && !holds(rec, c)))
        return false;
    if (rec == NULL)
        rec = add(r, c->job_key);
    touch(r, rec);
    rec->term = c->term;
    memcpy(rec->launcher, c->launcher, sizeof rec->launcher);
    free(rec->host);
    rec->host = xstrdup(c->host);
    return true;
}

void records_progress(struct records *r, const char *job_key, const Muster__Progress *p,
                      uint64_t now_ms)
{
    struct record *rec = find(r, job_key);
    if (rec == NULL || rec->term != p->term)
        return;
    touch(r, rec);
    msg_free(rec->progress);
    rec->progress = msg_copy(&p->base);
    rec->written_ms = now_ms;
}

void records_account(struct records *r, const char *job_key, uint32_t term,
                     uint32_t attempt, const Muster__Account *a, uint64_t now_ms)
{
    struct record *rec = find(r, job_key);
    if (rec == NULL || rec->term != term || rec->progress == NULL ||
        rec->progress->attempt != attempt)
        return;
    rec->progress->term = term;
    msg_free(rec->progress->account);
    rec->progress->account = msg_copy(&a->base);
    rec->written_ms = now_ms;
    touch(r, rec);
}

void records_done(struct records *r, const char *job_key, uint32_t term,
                  uint32_t attempt, const Muster__Done *done)
{
    struct record *rec = find(r, job_key);
    if (rec == NULL || rec->progress == NULL || rec->progress->term != term ||
        rec->progress->attempt != attempt)
        return;
    Muster__Progress *old = rec->progress, said = *old;
    said.done = true;
    said.code = done->code;
    said.text = done->text;
    rec->progress = msg_copy(&said.base);
    msg_free(old);
    touch(r, rec);
}

Muster__Record *records_read(const struct records *r, const char *job_key,
                             uint64_t now_ms)
{
    Muster__Record m = MUSTER__RECORD__INIT;
    struct record *rec = find(r, job_key);
    if (rec != NULL) {
        m.term = rec->term;
        m.launcher.data = rec->launcher;
        m.launcher.len = sizeof rec->launcher;
        m.host = rec->host;
        m.progress = rec->progress;
        m.age_ms = rec->progress != NULL ? now_ms - rec->written_ms : 0;
    }
    return msg_copy(&m.base);
}
