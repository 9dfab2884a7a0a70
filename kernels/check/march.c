// Passes over memory in blocks: the fast loop counts, a slow one finds what was wrong.
#include "kernels/check/march.h"

#include "kernels/check/clones.h"
#include "kernels/check/pattern.h"

// Words of a block that are not the pattern (inverted where flip is ~0).
CLONES static unsigned count_wrong(const uint64_t *at, uint64_t seed, uint64_t place,
                                   uint64_t flip)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < MARCH_BLOCK; i++)
        wrong += at[i] != (pattern_word(seed, place + i * sizeof(uint64_t)) ^ flip);
    return wrong;
}

CLONES static void write_block(uint64_t *at, uint64_t seed, uint64_t place,
                               uint64_t flip)
{
    for (unsigned i = 0; i < MARCH_BLOCK; i++)
        at[i] = pattern_word(seed, place + i * sizeof(uint64_t)) ^ flip;
}

static uint64_t read_again(const uint64_t *at)
{
    __sync_synchronize();
    return *(const volatile uint64_t *)at;
}

static void verify_block(const uint64_t *at, uint64_t seed, uint64_t place,
                         uint64_t flip, unsigned pass, struct march_wrong *wrong)
{
    unsigned count = count_wrong(at, seed, place, flip);
    wrong->count += count;
    if (count == 0 || wrong->count > count)
        return; // nothing, or not the first
    wrong->pass = pass;
    wrong->address = (uintptr_t)at;
    wrong->got = wrong->expected = ~flip; // none is found: it was wrong only once
    for (unsigned i = 0; i < MARCH_BLOCK; i++) {
        uint64_t expected = pattern_word(seed, place + i * sizeof(uint64_t)) ^ flip;
        uint64_t got = at[i];
        if (got == expected)
            continue;
        wrong->address = (uintptr_t)&at[i];
        wrong->expected = expected;
        wrong->got = got;
        break;
    }
    wrong->again = read_again((const uint64_t *)wrong->address);
}

uint64_t march_word(const struct march *m, size_t i)
{
    return pattern_word(m->seed, (uintptr_t)&m->words[i]);
}

static const struct pass {
    bool down, verifies, writes;
    uint64_t expected, written; // 0: the pattern, ~0: inverted
} passes[MARCH_PASSES] = {
    {false, false, true, 0, 0},
    {false, true, true, 0, UINT64_MAX},
    {true, true, true, UINT64_MAX, 0},
    {false, true, false, 0, 0},
};

static bool run_pass(const struct march *m, unsigned number, struct march_wrong *wrong)
{
    const struct pass *p = &passes[number];
    size_t blocks = m->n / MARCH_BLOCK;
    for (size_t done = 0; done < blocks; done++) {
        size_t block = p->down ? blocks - 1 - done : done;
        uint64_t *at = m->words + block * MARCH_BLOCK;
        if (m->go_on != NULL && !m->go_on(m->arg, number + 1, done * MARCH_BLOCK))
            return false;
        if (p->verifies)
            verify_block(at, m->seed, (uintptr_t)at, p->expected, number + 1, wrong);
        if (p->writes)
            write_block(at, m->seed, (uintptr_t)at, p->written);
    }
    return true;
}

bool march_run(const struct march *m, struct march_wrong *wrong)
{
    *wrong = (struct march_wrong){0};
    for (unsigned i = 0; i < MARCH_PASSES; i++)
        if (!run_pass(m, i, wrong))
            return false;
    return true;
}

void march_fill(const struct march *m)
{
    for (size_t i = 0; i < m->n; i += MARCH_BLOCK)
        write_block(m->words + i, m->seed, (uintptr_t)(m->words + i), 0);
}

void march_verify(const struct march *m, const uint64_t *at, struct march_wrong *wrong)
{
    *wrong = (struct march_wrong){0};
    for (size_t i = 0; i < m->n; i += MARCH_BLOCK)
        verify_block(at + i, m->seed, (uintptr_t)(m->words + i), 0, 0, wrong);
}
