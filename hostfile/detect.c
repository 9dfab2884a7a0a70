// The table of systems, and what their answers come to.
#include "hostfile/detect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "hostfile/detect_impl.h"
#include "hostfile/dialect.h"
#include "hostfile/hostname.h"
#include "hostfile/hostword.h"
#include "hostfile/mark.h"
#include "hostfile/slurp.h"

// Each of these says by its own variables or files that it made the group.
static detector *const by_own_word[] = {detect_lws, detect_trainer, detect_mpi,
                                        detect_volcano, detect_deepspeed};
// What the pods of all of them may be, too.
static detector *const by_kind[] = {detect_job, detect_statefulset};

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- looking ----------------------------------------------------------------------

const char *detect_getenv(const struct detect_look *l, const char *name)
{
    size_t n = strlen(name);
    for (char *const *e = l->view->env; *e != NULL; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return (*e)[n + 1] != '\0' ? *e + n + 1 : NULL;
    return NULL;
}

int detect_number(const struct detect_look *l, const char *name, long least, long most,
                  long unset, long *n, struct err *err)
{
    const char *text = detect_getenv(l, name);
    *n = text != NULL ? hostword_number(text, strlen(text), most) : unset;
    if (text == NULL || *n >= least)
        return 0;
    err_set(err, "%s is '%s', not a whole number from %ld to %ld", name, text, least,
            most);
    return -1;
}

int detect_check_name(const char *name, const char *value, struct err *err)
{
    const struct place at = {.file = name, .column = 1};
    size_t len = strlen(value);
    return place_check_bytes(&at, value, len, err) < 0
               ? -1
               : hostname_check(value, len, &at, err);
}

static void read_file(const struct detect_view *view, const char *path, struct buf *out)
{
    CLEANUP_FREE char *whole = xasprintf("%s%s", view->root, path);
    if (slurp(whole, out, NULL) < 0)
        buf_clear(out);
}

int detect_hostfile(const struct detect_look *l, const char *path, struct err *err)
{
    BUF_AUTO text = BUF_INIT;
    ERR_AUTO why = ERR_INIT;
    CLEANUP_FREE char *whole = xasprintf("%s%s", l->view->root, path);
    struct stat st;
    if (stat(whole, &st) == 0 && S_ISFIFO(st.st_mode))
        return DETECT_FILE; // can be read once, by the source
    if (slurp(whole, &text, &why) == 0)
        return mark_is_there((const char *)buf_data(&text), buf_len(&text))
                   ? DETECT_OWN_FILE
                   : DETECT_FILE;
    if (strcmp(why.kind, "HF_NOT_FOUND") == 0)
        return DETECT_NO_FILE;
    err_copy(err, &why);
    return -1;
}

size_t detect_ordinal(const char *name, size_t len, long *n)
{
    size_t digits = 0;
    while (digits < len && name[len - digits - 1] >= '0' &&
           name[len - digits - 1] <= '9')
        digits++;
    size_t stem = len - digits;
    bool padded = digits > 1 && name[stem] == '0';
    if (digits == 0 || digits > 9 || padded || stem < 2 || name[stem - 1] != '-')
        return 0;
    *n = strtol(name + stem, NULL, 10);
    return stem;
}

// ---- answers ----------------------------------------------------------------------

char *detect_pods(const char *stem, size_t len, uint32_t n, const char *service)
{
    return n > 1 ? xasprintf("%.*s[0-%u].%s", (int)len, stem, n - 1, service)
                 : xasprintf("%.*s0.%s", (int)len, stem, service);
}

void detect_found_hostfile(struct detected *out, const char *system, const char *path,
                           const char *dialect, char *why)
{
    out->system = system;
    out->text = xstrdup(path);
    out->group = xasprintf("hostfile %s", path);
    out->why = why;
    out->spec.kind = SOURCE_HOSTFILE;
    if (dialect != NULL)
        out->spec.dialect = dialect_find(dialect, "", false, NULL);
}

void detect_found_pods(struct detected *out, const char *system, char *pods,
                       char *group, char *why, uint32_t members, long index)
{
    out->system = system;
    out->text = pods;
    out->group = group;
    out->why = why;
    out->members = members;
    out->index = index;
    out->spec.kind = SOURCE_PODS;
}

static void clear(struct detected *d)
{
    detected_free(d);
    *d = (struct detected){.spec = {.slots = -1}, .index = -1};
}

static bool same_group(const struct detected *a, const struct detected *b)
{
    return a->spec.kind == b->spec.kind && strcmp(a->text, b->text) == 0;
}

// 1: *one was found, or agrees with *out, which stays.
static int take(struct detected *out, struct detected *one, struct err *err)
{
    if (out->system == NULL) {
        detected_free(out);
        *out = *one;
        *one = (struct detected){0};
        return 1;
    }
    if (same_group(out, one))
        return 1;
    CLEANUP_FREE char *a = detected_describe(out), *b = detected_describe(one);
    err_set(err, "two systems name two groups here: %s, and %s", a, b);
    return -1;
}

static int ask(detector *const *detectors, size_t n, bool all,
               const struct detect_look *l, struct detected *out, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc >= 0 && (all || out->system == NULL); i++) {
        struct detected one = {0};
        clear(&one);
        rc = detectors[i](l, &one, err);
        if (rc == 1)
            rc = take(out, &one, err);
        else if (rc == 0 && out->hint == NULL)
            out->hint = STEAL(one.hint);
        detected_free(&one);
    }
    return rc < 0 ? -1 : 0;
}

static void look_at_self(struct detect_look *l)
{
    BUF_AUTO hosts = BUF_INIT, resolv = BUF_INIT;
    read_file(l->view, "/etc/hosts", &hosts);
    read_file(l->view, "/etc/resolv.conf", &resolv);
    podname_read(l->view->hostname, (const char *)buf_data(&hosts), buf_len(&hosts),
                 (const char *)buf_data(&resolv), buf_len(&resolv), &l->self);
}

int detect(const struct detect_view *view, uint32_t members, bool wanted,
           struct detected *out, struct err *err)
{
    struct detect_look l = {.view = view, .members = members, .wanted = wanted};
    *out = (struct detected){0};
    clear(out);
    look_at_self(&l);
    int rc = ask(by_own_word, COUNT(by_own_word), true, &l, out, err);
    if (rc == 0 && out->system == NULL)
        rc = ask(by_kind, COUNT(by_kind), false, &l, out, err);
    podname_free(&l.self);
    if (rc == 0 && out->members > 0 && members > out->members) {
        err_set(err, "--members %u: %s has %u (%s)", members, out->system, out->members,
                out->why);
        rc = -1;
    }
    if (rc < 0)
        clear(out);
    out->spec.text = out->text;
    return rc;
}

void detected_free(struct detected *d)
{
    free(d->text);
    free(d->group);
    free(d->why);
    free(d->hint);
    *d = (struct detected){0};
}

char *detected_describe(const struct detected *d)
{
    return xasprintf("%s %s (%s)", d->system, d->group, d->why);
}
