// libFuzzer target for the readers of hostfiles: the program's name, fuzz-DIALECT, says which.
//
// What was read is written in every dialect, and what the same dialect wrote must read as
// the same members. Its first and last members get another address; that changes nothing else.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "hostfile/dialect.h"
#include "hostfile/rewrite.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct dialect *dialect; // set once, by LLVMFuzzerInitialize

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    ERR_AUTO err = ERR_INIT;
    const char *name = strrchr((*argv)[0], '-');
    dialect = dialect_find(name != NULL ? name + 1 : "auto", "program", false, &err);
    if (dialect != NULL)
        return 0;
    fprintf(stderr, "%s\n", err_text(&err));
    exit(2);
}

static void demand(bool holds, const char *what, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, text);
    abort();
}

// Everything but where it stood and what was warned of.
static bool same(const struct members *a, const struct members *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        struct member *x = &a->v[i], *y = &b->v[i];
        bool users = (x->user == NULL) == (y->user == NULL) &&
                     (x->user == NULL || strcmp(x->user, y->user) == 0);
        if (strcmp(x->name, y->name) != 0 || x->absolute != y->absolute ||
            x->slots != y->slots || !users)
            return false;
    }
    return a->n == b->n;
}

static bool loses_nothing(const struct dialect *d)
{
    return strcmp(dialect_name(d), "openmpi") == 0 ||
           strcmp(dialect_name(d), "prrte") == 0;
}

static void write_and_read(const struct dialect *d, const struct members *m)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO out = BUF_INIT;
    STRV_AUTO told = STRV_INIT;
    MEMBERS_AUTO again = MEMBERS_INIT;
    if (dialect_write(d, m, &out, &told, &err) < 0) {
        demand(err.text != NULL && buf_len(&out) == 0, "half a text", err_text(&err));
        return;
    }
    if (strcmp(dialect_name(d), "json") == 0)
        return;
    int rc = dialect_read(d, (char *)buf_data(&out), buf_len(&out), "again", NULL,
                          &again, NULL, &err);
    demand(rc == 0, "what was written is refused", err_text(&err));
    demand(!loses_nothing(d) || d != dialect || same(m, &again),
           "what was written reads as something else", dialect_name(d));
}

static void change(const char *text, size_t len, const char *member)
{
    ERR_AUTO err = ERR_INIT;
    REWRITE_AUTO r = {0};
    MEMBERS_AUTO before = MEMBERS_INIT;
    MEMBERS_AUTO now = MEMBERS_INIT;
    if (rewrite_member(dialect, text, len, "F", member, "192.0.2.77", &r, &err) < 0) {
        demand(err.kind != NULL && r.name == NULL, "a bad error", err_text(&err));
        return;
    }
    if (!r.changed)
        return;
    const char *bytes = (const char *)buf_data(&r.text);
    demand(dialect_read(dialect, text, len, "F", NULL, &before, NULL, &err) == 0 &&
               dialect_read(dialect, bytes, buf_len(&r.text), "F", NULL, &now, NULL,
                            &err) == 0 &&
               now.n == before.n,
           "what was changed reads as another list", err_text(&err));
    for (size_t i = 0; i < now.n; i++)
        demand(strcasecmp(before.v[i].name, r.name) == 0 ||
                   strcmp(before.v[i].name, now.v[i].name) == 0,
               "another member changed", now.v[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const all[] = {"openmpi", "prrte", "hydra", "intel", "deepspeed",
                                      "horovod", "slurm", "plain", "json"};
    ERR_AUTO err = ERR_INIT;
    MEMBERS_AUTO m = MEMBERS_INIT;
    const struct dialect *as;
    if (dialect_read(dialect, (const char *)data, size, "F", "this-pod", &m, &as,
                     &err) < 0) {
        demand(err.text != NULL && err.kind != NULL && m.n == 0, "a bad error",
               err_text(&err));
        return 0;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all && m.n <= 1000; i++)
        write_and_read(dialect_find(all[i], "all", true, NULL), &m);
    if (m.n <= 1000) {
        change((const char *)data, size, m.v[0].name);
        change((const char *)data, size, m.v[m.n - 1].name);
    }
    demand(members_merge(&m, "F", &err) == 0 || err.kind != NULL, "a bad error",
           err_text(&err));
    return 0;
}
