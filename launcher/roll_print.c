// Members on paper.
#include "launcher/roll_print.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/jsonpack.h"

void roll_print_table(const struct members *m, FILE *out)
{
    int width = (int)strlen("MEMBER");
    for (size_t i = 0; i < m->n; i++) {
        int len = (int)strlen(m->v[i].name);
        width = len > width ? len : width;
    }
    if (m->n > 0)
        fprintf(out, "%-*s  %6s  %s\n", width, "MEMBER", "SLOTS", "ADDRESS");
    for (size_t i = 0; i < m->n; i++) {
        const struct member *one = &m->v[i];
        char slots[16] = "-", at[INET6_ADDRSTRLEN];
        if (one->slots >= 0)
            snprintf(slots, sizeof slots, "%d", one->slots);
        members_address(one, at, sizeof at);
        fprintf(out, "%-*s  %6s  %s\n", width, one->name, slots,
                at[0] != '\0'      ? at
                : one->why != NULL ? one->why
                                   : "no address");
    }
}

static json_t *count_or_null(int n)
{
    return n >= 0 ? json_integer(n) : json_null();
}

static json_t *member_json(const struct member *m)
{
    char at[INET6_ADDRSTRLEN];
    members_address(m, at, sizeof at);
    return jsonpack("{s:s, s:o, s:o, s:s?, s:o, s:s?, s:s?}", "name", m->name, "slots",
                    count_or_null(m->slots), "max_slots", count_or_null(m->max_slots),
                    "user", m->user, "port", count_or_null(m->port), "address",
                    at[0] != '\0' ? at : NULL, "why", m->why);
}

void roll_print_json(const struct members *m, json_t *source, FILE *out)
{
    json_t *members = json_array(), *warnings = json_array();
    for (size_t i = 0; i < m->n; i++)
        json_array_append_new(members, member_json(&m->v[i]));
    for (size_t i = 0; i < m->warnings.n; i++)
        json_array_append_new(warnings, jsonpack_text(m->warnings.v[i]));
    json_t *all = jsonpack("{s:o, s:o, s:o}", "members", members, "warnings", warnings,
                           "source", source);
    json_dumpf(all, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(all);
}
