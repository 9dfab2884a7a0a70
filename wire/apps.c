// A sum of the ranks so far.
#include "wire/apps.h"

uint32_t apps_of(const Muster__Prepare *p, uint32_t rank)
{
    uint32_t app = 0;
    for (uint64_t end = 0; app + 1 < p->n_apps; app++) {
        end += p->apps[app]->ranks;
        if (rank < end)
            break;
    }
    return app;
}
