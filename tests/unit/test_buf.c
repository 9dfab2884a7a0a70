// Byte buffer.
#include <criterion/criterion.h>
#include <string.h>

#include "common/buf.h"

Test(buf, takes_from_the_front_what_was_appended)
{
    BUF_AUTO b = BUF_INIT;
    buf_append_str(&b, "hello ");
    buf_printf(&b, "%d", 42);
    buf_take(&b, 3);
    cr_assert_eq(buf_len(&b), 5);
    cr_assert_eq(memcmp(buf_data(&b), "lo 42", 5), 0);
}

Test(buf, keeps_order_over_many_grows_and_takes)
{
    BUF_AUTO b = BUF_INIT;
    unsigned char next_in = 0, next_out = 0;
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < round % 97; i++, next_in++)
            buf_append(&b, &next_in, 1);
        size_t take = buf_len(&b) / 2;
        for (size_t i = 0; i < take; i++)
            cr_assert_eq(buf_data(&b)[i], next_out++);
        buf_take(&b, take);
    }
}

Test(buf, gives_its_content_as_a_string)
{
    BUF_AUTO b = BUF_INIT;
    char *empty = buf_steal_str(&b);
    cr_assert_str_eq(empty, "");
    free(empty);
    buf_append_str(&b, "text");
    char *s = buf_steal_str(&b);
    cr_assert_str_eq(s, "text");
    cr_assert_eq(buf_len(&b), 0);
    free(s);
}
