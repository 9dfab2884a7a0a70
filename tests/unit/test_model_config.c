// A model's shape: what is one, the header of llama2.c, the layout.
#include <criterion/criterion.h>

#include <string.h>

#include "kernels/model/config.h"

static const struct model_config stories15m = {.dim = 288,
                                               .hidden_dim = 768,
                                               .layers = 6,
                                               .heads = 6,
                                               .kv_heads = 6,
                                               .vocab = 32000,
                                               .seq_len = 256,
                                               .shared = true};

Test(model_config, header_of_stories15m)
{
    const uint8_t want[MODEL_HEADER_BYTES] = {0x20, 1,    0, 0, 0, 3, 0, 0, 6, 0,
                                              0,    0,    6, 0, 0, 0, 6, 0, 0, 0,
                                              0,    0x7d, 0, 0, 0, 1, 0, 0};
    uint8_t header[MODEL_HEADER_BYTES];
    struct model_config c;
    ERR_AUTO err = ERR_INIT;
    model_config_write(&stories15m, header);
    cr_assert_arr_eq(header, want, sizeof want);
    cr_assert_eq(model_config_read(&c, header, &err), 0, "%s", err_text(&err));
    cr_assert(c.dim == 288 && c.hidden_dim == 768 && c.layers == 6 && c.heads == 6);
    cr_assert(c.kv_heads == 6 && c.vocab == 32000 && c.seq_len == 256 && c.shared);
}

Test(model_config, a_negative_vocab_is_a_classifier_of_its_own)
{
    struct model_config c = stories15m, back;
    uint8_t header[MODEL_HEADER_BYTES];
    c.shared = false;
    model_config_write(&c, header);
    cr_assert_eq(model_config_read(&back, header, NULL), 0);
    cr_assert_not(back.shared);
    cr_assert_eq(back.vocab, 32000);
    struct model_layout with = model_layout_of(&c),
                        without = model_layout_of(&stories15m);
    cr_assert_eq(with.count, without.count + 288 * 32000);
    cr_assert_eq(with.tensor[MODEL_CLASSIFIER].at, without.count);
    cr_assert_eq(without.tensor[MODEL_CLASSIFIER].at, 0);
}

Test(model_config, layout_is_dense_and_in_order)
{
    struct model_layout l = model_layout_of(&stories15m);
    size_t at = 0;
    cr_assert_eq(l.count, 15191712);
    for (int t = 0; t < MODEL_CLASSIFIER; t++) {
        cr_assert_eq(l.tensor[t].at, at, "%s", model_tensor_name(t));
        at += l.tensor[t].layers * l.tensor[t].rows * l.tensor[t].cols;
    }
    cr_assert_eq(at, l.count);
    cr_assert_eq(model_at(&l, MODEL_W1, 2), l.tensor[MODEL_W1].at + 2 * 768 * 288);
}

Test(model_config, what_is_no_model_says_why)
{
    const struct {
        size_t field;
        int32_t value;
        const char *why;
    } bad[] = {{0, 0, "dim is 0"},      {1, -5, "hidden_dim is -5"},
               {2, 1 << 30, "layers"},  {3, 7, "whole, even number"},
               {3, 288, "whole, even"}, {4, 4, "divide heads"},
               {5, 0, "vocab is 0"},    {5, INT32_MIN, "vocab"},
               {6, 0, "seq_len is 0"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct model_config c;
        uint8_t header[MODEL_HEADER_BYTES];
        ERR_AUTO err = ERR_INIT;
        model_config_write(&stories15m, header);
        memcpy(header + 4 * bad[i].field, &bad[i].value, 4);
        cr_assert_eq(model_config_read(&c, header, &err), -1, "%zu", i);
        cr_assert(strstr(err_text(&err), bad[i].why) != NULL, "%s", err_text(&err));
    }
    struct model_config huge = stories15m;
    ERR_AUTO err = ERR_INIT;
    huge.dim = huge.hidden_dim = 1 << 20;
    huge.heads = huge.kv_heads = 4;
    cr_assert_eq(model_config_check(&huge, &err), -1);
    cr_assert(strstr(err_text(&err), "less than 2^40") != NULL, "%s", err_text(&err));
}
