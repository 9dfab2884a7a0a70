// Rolls, beats and answers as texts.
#include "hostfile/roll_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/mem.h"

enum { BEAT_LEN = ROLL_LEASE_ID_LEN + 43 };

static void append(struct buf *out, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    buf_append_str(out, text);
    buf_append_str(out, "\n");
    free(text);
    json_decref(object);
}

static json_t *load(const char *text, size_t len, struct err *err)
{
    json_error_t why;
    json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (object == NULL)
        err_set(err, "line %d, column %d: %s", why.line, why.column, why.text);
    return object;
}

// ---- the roll -----------------------------------------------------------------

static void hex(const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static int unhex(const char *text, uint8_t *out, size_t n)
{
    if (strlen(text) != 2 * n || strspn(text, "0123456789abcdef") != 2 * n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        sscanf(text + 2 * i, "%2x", &byte);
        out[i] = (uint8_t)byte;
    }
    return 0;
}

static json_t *member_object(const struct roll_member *m)
{
    char life[2 * ROLL_INCARNATION_BYTES + 1] = "";
    if (m->present)
        hex(m->incarnation, ROLL_INCARNATION_BYTES, life);
    return jsonpack("{s:s, s:s, s:i, s:o, s:s}", "name", m->name, "address", m->address,
                    "port", m->port, "slots",
                    m->slots >= 0 ? json_integer(m->slots) : json_null(), "incarnation",
                    life);
}

void roll_json_write(const struct roll *r, const struct roll_lease *lease,
                     struct buf *out)
{
    json_t *members = json_array(), *positions = json_array();
    for (uint32_t i = 0; i < r->nmembers; i++)
        json_array_append_new(members, member_object(&r->members[i]));
    for (uint32_t i = 0; i < r->npositions; i++)
        json_array_append_new(positions, jsonpack("{s:I, s:I}", "member",
                                                  (json_int_t)r->positions[i], "slots",
                                                  (json_int_t)r->slots[i]));
    append(out, jsonpack("{s:s, s:I, s:I, s:{s:s, s:I}, s:b, s:o, s:o}", "job",
                         r->job_key, "term", (json_int_t)r->term, "generation",
                         (json_int_t)r->generation, "lease", "id", lease->id, "ms",
                         (json_int_t)lease->ms, "pods", r->pods, "members", members,
                         "positions", positions));
}

static int read_member(json_t *object, struct roll_member *m, struct err *err)
{
    const char *name, *address, *life;
    int port;
    json_t *slots;
    m->slots = -1;
    if (json_unpack(object, "{s:s, s:s, s:i, s:o, s:s}", "name", &name, "address",
                    &address, "port", &port, "slots", &slots, "incarnation",
                    &life) < 0 ||
        strlen(address) >= sizeof m->address || port < 1 || port > UINT16_MAX ||
        (life[0] != '\0' && unhex(life, m->incarnation, ROLL_INCARNATION_BYTES) < 0)) {
        err_set(err, "a member without name, address, port, slots or incarnation");
        return -1;
    }
    m->name = xstrdup(name);
    m->hostname = xstrdup("");
    snprintf(m->address, sizeof m->address, "%s", address);
    m->port = (uint16_t)port;
    m->present = life[0] != '\0';
    json_int_t n = json_integer_value(slots);
    if (json_is_integer(slots) && n >= 0 && n <= ROLL_SLOTS_MAX)
        m->slots = (int)n;
    return 0;
}

static int read_seat(json_t *object, uint32_t *member, uint32_t *slots, struct err *err)
{
    json_int_t m, s;
    if (json_unpack(object, "{s:I, s:I}", "member", &m, "slots", &s) < 0 || m < 0 ||
        m > UINT32_MAX || s < 0 || s > ROLL_SLOTS_MAX) {
        err_set(err, "a position without member and slots");
        return -1;
    }
    *member = (uint32_t)m;
    *slots = (uint32_t)s;
    return 0;
}

static int read_lists(struct roll *r, json_t *members, json_t *positions,
                      struct err *err)
{
    size_t n = json_array_size(members), seats = json_array_size(positions);
    r->members = xcalloc(n + 1, sizeof *r->members);
    r->positions = xcalloc(seats + 1, sizeof *r->positions);
    r->slots = xcalloc(seats + 1, sizeof *r->slots);
    for (size_t i = 0; i < n; i++, r->nmembers++)
        if (read_member(json_array_get(members, i), &r->members[i], err) < 0)
            return -1;
    for (size_t i = 0; i < seats; i++, r->npositions++)
        if (read_seat(json_array_get(positions, i), &r->positions[i], &r->slots[i],
                      err) < 0)
            return -1;
    return roll_check(r, err);
}

static int read_roll(json_t *object, struct roll *r, struct roll_lease *lease,
                     struct err *err)
{
    const char *job, *id;
    json_int_t term, generation, ms;
    json_t *members, *positions;
    int pods;
    if (json_unpack(object, "{s:s, s:I, s:I, s:{s:s, s:I}, s:b, s:o, s:o}", "job", &job,
                    "term", &term, "generation", &generation, "lease", "id", &id, "ms",
                    &ms, "pods", &pods, "members", &members, "positions",
                    &positions) < 0 ||
        term < 0 || term > UINT32_MAX || generation < 0 || ms < 1 || ms > UINT32_MAX ||
        strlen(id) != ROLL_LEASE_ID_LEN ||
        strspn(id, "0123456789abcdef") != ROLL_LEASE_ID_LEN ||
        !json_is_array(members) || !json_is_array(positions)) {
        err_set(err, "job, term, generation, lease, pods, members or positions are "
                     "missing");
        return -1;
    }
    r->job_key = xstrdup(job);
    r->term = (uint32_t)term;
    r->generation = (uint64_t)generation;
    r->pods = pods != 0;
    snprintf(lease->id, sizeof lease->id, "%s", id);
    lease->ms = (uint32_t)ms;
    return read_lists(r, members, positions, err);
}

struct roll *roll_json_read(const char *text, size_t len, struct roll_lease *lease,
                            struct err *err)
{
    json_t *object = load(text, len, err);
    if (object == NULL)
        return NULL;
    struct roll *r = xcalloc(1, sizeof *r);
    int rc = read_roll(object, r, lease, err);
    json_decref(object);
    if (rc == 0)
        return r;
    roll_destroy(r);
    return NULL;
}

// ---- the beat -----------------------------------------------------------------

void roll_beat_write(const struct roll_beat *b, struct buf *out)
{
    buf_printf(out, "%s %020" PRIu64 " %020" PRIu64 "\n", b->id, b->generation,
               b->count);
}

int roll_beat_read(const char *text, size_t len, struct roll_beat *b)
{
    char line[BEAT_LEN + 1];
    if (len != BEAT_LEN)
        return -1;
    memcpy(line, text, len);
    line[len] = '\0';
    if (sscanf(line, "%32[0-9a-f] %" SCNu64 " %" SCNu64, b->id, &b->generation,
               &b->count) != 3 ||
        strlen(b->id) != ROLL_LEASE_ID_LEN)
        return -1;
    return 0;
}

// ---- the answer ---------------------------------------------------------------

// Paths in it can be any bytes, JSON cannot.
static char *printable(const char *text)
{
    char *copy = xstrdup(text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return copy;
}

void roll_applied_write(const struct roll_applied *a, struct buf *out)
{
    CLEANUP_FREE char *error = printable(a->error);
    append(out,
           jsonpack("{s:s, s:I, s:I, s:s}", "job", a->job, "term", (json_int_t)a->term,
                    "generation", (json_int_t)a->generation, "error", error));
}

int roll_applied_read(const char *text, size_t len, struct roll_applied *a)
{
    json_int_t term, generation;
    const char *job, *error;
    json_t *object = load(text, len, NULL);
    int rc = json_unpack(object, "{s:s, s:I, s:I, s:s}", "job", &job, "term", &term,
                         "generation", &generation, "error", &error);
    *a = (struct roll_applied){0};
    if (rc == 0)
        *a = (struct roll_applied){.job = xstrdup(job),
                                   .term = (uint32_t)term,
                                   .generation = (uint64_t)generation,
                                   .error = xstrdup(error)};
    json_decref(object);
    return rc;
}

void roll_applied_free(struct roll_applied *a)
{
    free(a->job);
    free(a->error);
    *a = (struct roll_applied){0};
}
