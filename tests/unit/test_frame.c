// Frame encoding, the incremental parser, and bodies.
#include <criterion/criterion.h>
#include <string.h>

#include "common/buf.h"
#include "wire/frame.h"
#include "wire/msg.h"

static const struct frame sample = {.kind = FRAME_PREPARE,
                                    .seq = 7,
                                    .ack = 3,
                                    .job = 0x1122334455667788u,
                                    .term = 2,
                                    .attempt = 9,
                                    .src = 0,
                                    .dst = 5,
                                    .body = (const uint8_t *)"hello",
                                    .len = 5};

Test(frame, comes_out_as_it_went_in_byte_by_byte)
{
    BUF_AUTO wire = BUF_INIT;
    frame_encode(&wire, &sample);
    cr_assert_eq(buf_len(&wire), FRAME_HEADER + 5);
    BUF_AUTO in = BUF_INIT;
    struct frame f;
    size_t used;
    for (size_t i = 0; i < buf_len(&wire); i++) {
        cr_assert_eq(frame_decode(&in, &f, &used, NULL), 0);
        buf_append(&in, buf_data(&wire) + i, 1);
    }
    cr_assert_eq(frame_decode(&in, &f, &used, NULL), 1);
    cr_assert_eq(used, buf_len(&wire));
    cr_assert_eq(f.kind, FRAME_PREPARE);
    cr_assert_eq(f.seq, 7);
    cr_assert_eq(f.ack, 3);
    cr_assert_eq(f.job, 0x1122334455667788u);
    cr_assert_eq(f.term, 2);
    cr_assert_eq(f.attempt, 9);
    cr_assert_eq(f.dst, 5);
    cr_assert_eq(f.len, 5);
    cr_assert_eq(memcmp(f.body, "hello", 5), 0);
}

Test(frame, a_length_over_the_cap_is_refused_before_it_is_stored)
{
    ERR_AUTO err = ERR_INIT;
    BUF_AUTO in = BUF_INIT;
    struct frame f;
    size_t used;
    frame_encode(&in, &sample);
    memset(buf_data(&in), 0xff, 4);
    cr_assert_eq(frame_decode(&in, &f, &used, &err), -1);
    cr_assert_not_null(strstr(err.text, "4294967295"));
}

Test(frame, bulk_has_a_smaller_cap)
{
    BUF_AUTO in = BUF_INIT;
    struct frame f = sample;
    size_t used;
    f.kind = FRAME_OUTPUT;
    frame_encode(&in, &f);
    buf_data(&in)[1] = 2; // 128 KiB and more
    cr_assert_eq(frame_decode(&in, &f, &used, NULL), -1);
}

Test(frame, every_kind_has_a_name)
{
    cr_assert_str_eq(frame_kind_name(FRAME_COLL_DONE), "COLL_DONE");
    cr_assert_str_eq(frame_kind_name(9), "?");
    cr_assert_str_eq(frame_kind_name(60000), "?");
}

Test(msg, a_malformed_body_is_an_error_that_names_the_message)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_null(msg_unpack(&sample, &muster__prepare__descriptor, &err));
    cr_assert_not_null(strstr(err.text, "PREPARE"));
}

Test(msg, packs_and_unpacks)
{
    Muster__Failed in = MUSTER__FAILED__INIT;
    char text[] = "no such file";
    in.text = text;
    in.code = 127;
    struct frame f = {.kind = FRAME_FAILED};
    BUF_AUTO body = BUF_INIT;
    msg_pack(&f, &body, &in.base);
    Muster__Failed *out = msg_unpack(&f, &muster__failed__descriptor, NULL);
    cr_assert_str_eq(out->text, text);
    cr_assert_eq(out->code, 127);
    msg_free(out);
}

// protobuf-c takes it, and packs it so that it does not take it again.
Test(msg, a_field_of_number_zero_is_malformed_wherever_it_stands)
{
    static const uint8_t zero[] = {0x82, 0x00, 0x00};
    static const uint8_t in_a_part[] = {0x22, 3, 0x82, 0x00, 0x00};
    static const uint8_t in_a_list[] = {0x1a, 0, 0x1a, 3, 0x82, 0x00, 0x00};
    static const uint8_t unknown[] = {0xfa, 0x7f, 0x00};
    struct {
        const uint8_t *bytes;
        size_t len;
        const ProtobufCMessageDescriptor *type;
        bool good;
    } const rows[] = {
        {zero, sizeof zero, &muster__record__descriptor, false},
        {in_a_part, sizeof in_a_part, &muster__record__descriptor, false},
        {in_a_list, sizeof in_a_list, &muster__roll__descriptor, false},
        {in_a_list, 4 - 2, &muster__roll__descriptor, true},
        {unknown, sizeof unknown, &muster__record__descriptor, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ERR_AUTO err = ERR_INIT;
        struct frame f = {
            .kind = FRAME_ROLL, .body = rows[i].bytes, .len = rows[i].len};
        void *m = msg_unpack(&f, rows[i].type, &err);
        cr_assert_eq(m != NULL, rows[i].good, "row %zu", i);
        cr_assert(m != NULL || strstr(err.text, "malformed ROLL message") != NULL);
        void *copy = msg_copy(m);
        cr_assert_eq(copy != NULL, rows[i].good, "row %zu", i);
        msg_free(copy);
        msg_free(m);
    }
}
