// CRC-32 by eight tables, which a call makes for itself: 2,048 steps, nothing beside a megabyte.
#include "common/crc32.h"

enum { SLICES = 8, FEW = 256 };

// One byte's worth of division by the polynomial.
static uint32_t divide(uint32_t rest)
{
    for (int bit = 0; bit < 8; bit++)
        rest = rest >> 1 ^ (rest & 1 ? 0xedb88320U : 0);
    return rest;
}

static void make_tables(uint32_t t[SLICES][256])
{
    for (uint32_t i = 0; i < 256; i++)
        t[0][i] = divide(i);
    for (int s = 1; s < SLICES; s++) {
        for (int i = 0; i < 256; i++)
            t[s][i] = t[s - 1][i] >> 8 ^ t[0][t[s - 1][i] & 0xff];
    }
}

static uint32_t word(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t add_slices(uint32_t crc, const uint8_t *p, size_t words)
{
    uint32_t t[SLICES][256];
    make_tables(t);
    for (; words > 0; words--, p += SLICES) {
        uint32_t a = word(p) ^ crc, b = word(p + 4);
        crc = t[7][a & 0xff] ^ t[6][a >> 8 & 0xff] ^ t[5][a >> 16 & 0xff] ^
              t[4][a >> 24] ^ t[3][b & 0xff] ^ t[2][b >> 8 & 0xff] ^
              t[1][b >> 16 & 0xff] ^ t[0][b >> 24];
    }
    return crc;
}

uint32_t crc32_add(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *at = p;
    crc = ~crc;
    if (n >= FEW) {
        crc = add_slices(crc, at, n / SLICES);
        at += n / SLICES * SLICES;
        n %= SLICES;
    }
    for (; n > 0; n--, at++)
        crc = crc >> 8 ^ divide((crc ^ *at) & 0xff);
    return ~crc;
}
