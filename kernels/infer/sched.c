// Texts in the order of their arrival, slots, and the steps that are under way.
#include "kernels/infer/sched.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/mem.h"

struct text {
    uint64_t tag;
    enum sched_state state;
    uint32_t made, most; // tokens
    struct sampler_how how;
    int32_t *prompt;
    uint32_t n;
    uint32_t pos;  // the next position to be computed
    int32_t last;  // the newest token, not yet computed
    bool busy;     // DECODE: its token is on its way
    bool fetch;    // positions come from elsewhere, and are not there yet
    bool fetching; // they are asked for
    bool hold;
    uint32_t slot;
    struct text *prev, *next;
};

struct slot {
    struct text *text; // HELD
    uint32_t writers;  // steps under way, and a fetch; without a text: DRAINING
    bool fetching;
    uint64_t fetch_tag;
};

// A step under way: of each part that samples its text, NULL once that is gone, and the slots
// of all.
struct under_way {
    struct text **texts;
    uint32_t *slots;
    uint32_t ntexts, nslots;
};

struct sched {
    struct sched_limits limits;
    struct text *texts;
    uint32_t count[SCHED_KEPT + 1];
    struct slot *slots;
    struct under_way *steps; // a ring of limits.depth
    uint32_t first, nsteps;
};

// ---- making -----------------------------------------------------------------------

struct sched *sched_create(const struct sched_limits *limits)
{
    struct sched *s = xcalloc(1, sizeof *s);
    s->limits = *limits;
    s->slots = xcalloc(limits->slots, sizeof *s->slots);
    s->steps = xcalloc(limits->depth, sizeof *s->steps);
    for (uint32_t i = 0; i < limits->depth; i++) {
        s->steps[i].texts = xcalloc(limits->slots, sizeof(struct text *));
        s->steps[i].slots = xcalloc(limits->slots, sizeof(uint32_t));
    }
    return s;
}

static void forget(struct sched *s, struct text *t);

void sched_destroy(struct sched *s)
{
    if (s == NULL)
        return;
    while (s->texts != NULL)
        forget(s, s->texts);
    for (uint32_t i = 0; i < s->limits.depth; i++) {
        free(s->steps[i].texts);
        free(s->steps[i].slots);
    }
    free(s->steps);
    free(s->slots);
    free(s);
}

const struct sched_limits *sched_limits(const struct sched *s)
{
    return &s->limits;
}

// ---- texts ------------------------------------------------------------------------

static void set_state(struct sched *s, struct text *t, enum sched_state state)
{
    s->count[t->state]--;
    s->count[state]++;
    t->state = state;
}

bool sched_add(struct sched *s, const struct sched_text *text)
{
    if (s->count[SCHED_WAITING] >= s->limits.waiting)
        return false;
    uint32_t room = s->limits.length - text->n + 1;
    struct text *t = xcalloc(1, sizeof *t);
    *t = (struct text){.tag = text->tag, .state = SCHED_WAITING, .how = text->how};
    t->most = text->max_tokens < room ? text->max_tokens : room;
    t->prompt = xmemdup(text->prompt, text->n * sizeof *text->prompt);
    t->n = text->n;
    t->hold = text->hold;
    t->fetch = text->fetch && text->n > 1;
    DL_APPEND(s->texts, t);
    s->count[SCHED_WAITING]++;
    return true;
}

static void forget(struct sched *s, struct text *t)
{
    for (uint32_t i = 0; i < s->limits.depth; i++)
        for (uint32_t k = 0; k < s->steps[i].ntexts; k++)
            if (s->steps[i].texts[k] == t)
                s->steps[i].texts[k] = NULL;
    if (t->state != SCHED_WAITING)
        s->slots[t->slot].text = NULL;
    s->count[t->state]--;
    DL_DELETE(s->texts, t);
    free(t->prompt);
    free(t);
}

static struct text *find(const struct sched *s, uint64_t tag)
{
    struct text *t;
    DL_FOREACH (s->texts, t)
        if (t->tag == tag)
            return t;
    return NULL;
}

void sched_cancel(struct sched *s, uint64_t tag)
{
    struct text *t = find(s, tag);
    if (t != NULL)
        forget(s, t);
}

// ---- a step -----------------------------------------------------------------------

static void give_slots(struct sched *s)
{
    uint32_t free_slot = 0;
    struct text *t;
    DL_FOREACH (s->texts, t) {
        if (t->state != SCHED_WAITING)
            continue;
        while (free_slot < s->limits.slots &&
               (s->slots[free_slot].text != NULL || s->slots[free_slot].writers > 0))
            free_slot++;
        if (free_slot == s->limits.slots)
            return;
        t->slot = free_slot;
        s->slots[free_slot].text = t;
        set_state(s, t, SCHED_PREFILL);
    }
}

static void add_part(struct sched *s, struct sched_step *step, struct text *t,
                     const int32_t *tokens, uint32_t n, bool sample)
{
    struct under_way *u = &s->steps[(s->first + s->nsteps) % s->limits.depth];
    step->parts[step->nparts++] = (struct sched_part){
        .slot = t->slot, .pos = t->pos, .n = n, .sample = sample, .how = t->how};
    memcpy(step->rows + step->nrows, tokens, n * sizeof *tokens);
    step->nrows += n;
    t->pos += n;
    u->slots[u->nslots++] = t->slot;
    s->slots[t->slot].writers++;
    if (sample)
        u->texts[u->ntexts++] = t;
}

// A share of the texts that decode, so that each step under way has some.
static void plan_decode(struct sched *s, struct sched_step *step)
{
    uint32_t share = (s->count[SCHED_DECODE] + s->limits.depth - 1) / s->limits.depth;
    struct text *t;
    DL_FOREACH (s->texts, t) {
        if (step->nparts == share || step->nrows == s->limits.rows)
            return;
        if (t->state != SCHED_DECODE || t->busy)
            continue;
        add_part(s, step, t, &t->last, 1, true);
        t->busy = true;
    }
}

static void plan_prefill(struct sched *s, struct sched_step *step)
{
    struct text *t;
    DL_FOREACH (s->texts, t) {
        uint32_t room = s->limits.rows - step->nrows;
        if (room == 0)
            return;
        if (t->state != SCHED_PREFILL || t->fetch)
            continue;
        uint32_t left = t->n - t->pos, n = left < room ? left : room;
        add_part(s, step, t, t->prompt + t->pos, n, n == left);
        if (n < left)
            continue;
        t->busy = true;
        set_state(s, t, SCHED_DECODE);
    }
}

bool sched_plan(struct sched *s, struct sched_step *step)
{
    step->nparts = step->nrows = 0;
    if (s->nsteps == s->limits.depth)
        return false;
    give_slots(s);
    plan_decode(s, step);
    plan_prefill(s, step);
    if (step->nparts == 0)
        return false;
    s->nsteps++;
    return true;
}

// ---- its result -------------------------------------------------------------------

static struct sched_news take_token(struct text *t, int32_t token, bool ends)
{
    t->busy = false;
    t->last = token;
    t->made++;
    return (struct sched_news){.tag = t->tag,
                               .slot = t->slot,
                               .token = token,
                               .end = ends                 ? SCHED_STOP
                                      : t->made == t->most ? SCHED_LENGTH
                                                           : SCHED_GOES_ON};
}

void sched_result(struct sched *s, const int32_t *tokens,
                  const struct sched_listener *listener)
{
    if (s->nsteps == 0)
        return;
    struct under_way *u = &s->steps[s->first];
    for (uint32_t i = 0; i < u->nslots; i++)
        s->slots[u->slots[i]].writers--;
    for (uint32_t i = 0; i < u->ntexts; i++) {
        struct text *t = u->texts[i];
        if (t == NULL)
            continue;
        struct sched_news news =
            take_token(t, tokens[i], listener->is_end(listener->arg, tokens[i]));
        if (news.end != SCHED_GOES_ON && t->hold)
            set_state(s, t, SCHED_KEPT);
        else if (news.end != SCHED_GOES_ON)
            forget(s, t);
        listener->tell(listener->arg, &news);
    }
    u->ntexts = u->nslots = 0;
    s->first = (s->first + 1) % s->limits.depth;
    s->nsteps--;
}

// ---- positions from elsewhere -----------------------------------------------------

bool sched_next_fetch(struct sched *s, struct sched_fetch *out)
{
    struct text *t;
    give_slots(s);
    DL_FOREACH (s->texts, t) {
        if (t->state != SCHED_PREFILL || !t->fetch || t->fetching)
            continue;
        t->fetching = true;
        struct slot *slot = &s->slots[t->slot];
        slot->writers++;
        slot->fetching = true;
        slot->fetch_tag = t->tag;
        *out = (struct sched_fetch){
            .tag = t->tag, .slot = t->slot, .prompt = t->prompt, .n = t->n};
        return true;
    }
    return false;
}

bool sched_fetch_wanted(const struct sched *s, uint32_t slot)
{
    return s->slots[slot].text != NULL;
}

void sched_fetched(struct sched *s, uint64_t tag, bool there)
{
    for (uint32_t i = 0; i < s->limits.slots; i++) {
        struct slot *slot = &s->slots[i];
        if (!slot->fetching || slot->fetch_tag != tag)
            continue;
        slot->fetching = false;
        slot->writers--;
        if (slot->text == NULL)
            return;
        slot->text->fetch = false;
        slot->text->pos = there ? slot->text->n - 1 : 0;
    }
}

// ---- for pages and tests ----------------------------------------------------------

uint32_t sched_count(const struct sched *s, enum sched_state state)
{
    return s->count[state];
}

uint32_t sched_under_way(const struct sched *s)
{
    return s->nsteps;
}

bool sched_idle(const struct sched *s)
{
    return s->texts == NULL && s->nsteps == 0;
}
