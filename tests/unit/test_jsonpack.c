// Objects of JSON: each kind of value, and texts that are not UTF-8.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "common/jsonpack.h"

static void expect(json_t *object, const char *text)
{
    char *got = json_dumps(object, JSON_COMPACT);
    cr_assert_str_eq(got, text);
    free(got);
    json_decref(object);
}

Test(jsonpack, values_of_each_kind_in_their_order)
{
    expect(jsonpack("{s:s, s:i, s:I, s:f, s:b, s:s?, s:s?, s:o, s:{s:i, s:{}}, s:s}",
                    "text", "a\"b", "int", -7, "long", (json_int_t)1 << 40, "real", 0.5,
                    "flag", 1, "none", NULL, "some", "x", "list", json_array(), "inner",
                    "n", 1, "empty", "last", ""),
           "{\"text\":\"a\\\"b\",\"int\":-7,\"long\":1099511627776,\"real\":0.5,"
           "\"flag\":true,\"none\":null,\"some\":\"x\",\"list\":[],"
           "\"inner\":{\"n\":1,\"empty\":{}},\"last\":\"\"}");
    expect(jsonpack("{}"), "{}");
}

Test(jsonpack, a_text_that_is_no_utf8_is_mended)
{
    expect(jsonpack("{s:s, s:s?}", "member",
                    "tr\xff"
                    "ain\xc3",
                    "why", "\xc3\xa4 \x80"),
           "{\"member\":\"tr\xef\xbf\xbd"
           "ain\xef\xbf\xbd\","
           "\"why\":\"\xc3\xa4 \xef\xbf\xbd\"}");
    json_t *text = jsonpack_text("\xed\xa0\x80"); // half of a surrogate pair
    cr_assert_str_eq(json_string_value(text), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    json_decref(text);
}
