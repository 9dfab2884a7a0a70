// One attempt of a job: its ranks, and where they are.
#include "launcher/job_attempt.h"

#include <stdlib.h>

#include "common/mem.h"
#include "launcher/job_internal.h"
#include "wire/msg.h"

struct job_attempt *job_attempt_create(const struct job *j, uint32_t number)
{
    struct job_attempt *at = xcalloc(1, sizeof *at);
    at->number = number;
    at->nspace =
        xasprintf("muster-%016llx-%u-%u", (unsigned long long)j->id, j->term, number);
    at->seats = xcalloc(j->group.n, sizeof *at->seats);
    return at;
}

void job_attempt_destroy(struct job_attempt *at)
{
    if (at == NULL)
        return;
    coll_destroy(at->colls);
    job_names_end(at);
    job_spawn_end(at);
    coll_route_destroy(at->route);
    msg_free(at->prepare);
    free(at->ranks);
    free(at->seats);
    free(at->libpmix);
    free(at->nspace);
    free(at);
}

bool job_attempt_lives(const struct job *j)
{
    return j->state == JOB_PREPARE || j->state == JOB_START || j->state == JOB_RUN;
}

void job_end_unstarted(struct job *j)
{
    for (uint32_t r = 0; r < j->at->nranks; r++) {
        if (j->at->ranks[r].started)
            continue;
        output_eof(j->output, r, 1);
        output_eof(j->output, r, 2);
    }
}

struct job_seat *job_seat(const struct job *j, uint32_t vertex)
{
    return &j->at->seats[group_member_of(&j->group, vertex)];
}

const struct map_position *job_position(const struct job *j, uint32_t vertex)
{
    uint32_t member = group_member_of(&j->group, vertex);
    for (uint32_t i = 0; i < j->map.npositions; i++)
        if (j->map.positions[i].member == member)
            return &j->map.positions[i];
    return NULL;
}

bool job_rank_is_at(const struct job *j, uint32_t vertex, uint32_t number)
{
    return number < j->at->nranks &&
           j->at->ranks[number].member == group_member_of(&j->group, vertex);
}

struct verdict_rank job_rank_text(struct job *j, uint32_t number)
{
    const struct job_rank *r = &j->at->ranks[number];
    const struct group_member *m = &j->group.v[r->member];
    return (struct verdict_rank){.number = number,
                                 .world =
                                     r->world != NULL ? job_spawn_number(r->world) : 0,
                                 .rank = r->rank,
                                 .pid = r->pid,
                                 .member = m->member->name,
                                 .address = m->address};
}

const char *job_rank_nspace(const struct job *j, uint32_t number)
{
    const struct job_world *w = j->at->ranks[number].world;
    return w != NULL ? job_spawn_nspace(w) : j->at->nspace;
}

void job_add_ranks(struct job *j, const struct job_world *world, const struct map *map)
{
    struct job_attempt *at = j->at;
    at->ranks = xrealloc(at->ranks, at->nranks + map->ranks, sizeof *at->ranks);
    for (uint32_t i = 0; i < map->npositions; i++) {
        const struct map_position *p = &map->positions[i];
        at->hosts += at->seats[p->member].hosts ? 0 : 1;
        at->seats[p->member].hosts = true;
        for (uint32_t k = 0; k < p->count; k++)
            at->ranks[at->nranks + p->ranks[k]] = (struct job_rank){
                .world = world, .rank = p->ranks[k], .member = p->member};
    }
    at->nranks += map->ranks;
}
