// CRC-32: the known value, and that cuts between calls change nothing.
#include <criterion/criterion.h>

#include "common/crc32.h"

Test(crc32, known_value)
{
    cr_assert_eq(crc32_add(0, "123456789", 9), 0xcbf43926);
    cr_assert_eq(crc32_add(0, "", 0), 0);
}

Test(crc32, cuts_change_nothing)
{
    uint8_t data[5000];
    uint32_t x = 1, bytewise = 0;
    for (size_t i = 0; i < sizeof data; i++) {
        x = x * 1664525 + 1013904223;
        data[i] = (uint8_t)(x >> 24);
        bytewise = crc32_add(bytewise, &data[i], 1);
    }
    for (size_t cut = 0; cut <= sizeof data; cut += 613)
        cr_assert_eq(crc32_add(crc32_add(0, data, cut), data + cut, sizeof data - cut),
                     bytewise);
}
