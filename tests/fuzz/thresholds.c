// libFuzzer target for thresholds of the health checks: what is taken is in its bounds, and its text is
// taken as the same.
#include <math.h>
#include <string.h>

#include "common/mem.h"
#include "common/thresholds.h"
#include "demand.h"

static void check(const struct thresholds *t)
{
    ERR_AUTO err = ERR_INIT;
    struct thresholds again;
    demand(t->v[THRESHOLD_CLEAR_FACTOR] <= t->v[THRESHOLD_SLOW_FACTOR],
           "what is slow would be cleared");
    for (size_t i = 0; i < THRESHOLD_COUNT; i++)
        demand(isfinite(t->v[i]) && t->v[i] >= 0, "no threshold");
    CLEANUP_FREE char *text = thresholds_text(t);
    thresholds_default(&again);
    demand(thresholds_parse(&again, "text", text, strlen(text), &err) == 0,
           err_text(&err));
    for (size_t i = 0; i < THRESHOLD_COUNT; i++)
        demand(again.v[i] == t->v[i], "its text says something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    struct thresholds t, before;
    thresholds_default(&t);
    before = t;
    if (thresholds_parse(&t, "f", (const char *)data, size, &err) == 0) {
        check(&t);
        return 0;
    }
    demand_error(&err);
    demand(strncmp(err_text(&err), "f:", 2) == 0, "an error without a place");
    demand(memcmp(&t, &before, sizeof t) == 0, "some of it was taken");
    return 0;
}
