// Sums of the graces.
#include "wire/graces.h"

static uint64_t longer_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t graces_link_end(uint64_t now_ms, uint64_t heard_ms, uint32_t link_ms)
{
    uint32_t try_ms = link_ms < GRACES_TRY_MS ? link_ms : GRACES_TRY_MS;
    return longer_of(heard_ms + link_ms, now_ms + try_ms);
}

uint32_t graces_term_ms(uint32_t stop_ms)
{
    return stop_ms < GRACES_TERM_MS ? stop_ms : GRACES_TERM_MS;
}

uint64_t graces_margin_ms(const struct graces *g)
{
    return GRACES_MARGIN_MS + g->dead_ms / 4;
}

uint64_t graces_outlive_ms(const struct graces *g, unsigned below)
{
    uint64_t link = graces_link_end(g->dead_ms, 0, g->link_ms);
    return g->dead_ms + below * link + longer_of(g->orphan_ms, link) +
           graces_term_ms(g->stop_ms) + graces_margin_ms(g);
}
