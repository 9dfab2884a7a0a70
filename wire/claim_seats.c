// Seats of a record, and the members that they mean.
#include "wire/claim_seats.h"

#include <stdbool.h>
#include <string.h>

#include "common/mem.h"

static bool is_agent(const Muster__RecordSeat *seat, const struct claim_member *m)
{
    return seat->incarnation.len == CLAIM_LAUNCHER_BYTES && m->incarnation != NULL &&
           memcmp(seat->incarnation.data, m->incarnation, CLAIM_LAUNCHER_BYTES) == 0;
}

static bool has_name(const Muster__RecordSeat *seat, const struct claim_member *m)
{
    return strcmp(seat->name, m->name) == 0;
}

void claim_seats_find(Muster__RecordSeat *const *seats, uint32_t n,
                      const struct claim_member *members, uint32_t nmembers,
                      uint32_t *found)
{
    static bool (*const rounds[])(const Muster__RecordSeat *,
                                  const struct claim_member *) = {is_agent, has_name};
    CLEANUP_FREE bool *taken = xcalloc(nmembers, sizeof *taken);
    for (uint32_t i = 0; i < n; i++)
        found[i] = UINT32_MAX;
    for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < nmembers && found[i] == UINT32_MAX; k++)
                if (!taken[k] && rounds[r](seats[i], &members[k])) {
                    found[i] = k;
                    taken[k] = true;
                }
}
