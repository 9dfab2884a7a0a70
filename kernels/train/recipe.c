// The recipe of a run: its fields, and the optimizer's numbers at a step.
#include "kernels/train/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const double beta1 = 0.9, beta2 = 0.95;

static const struct {
    const char *option;
    bool real; // a double's bits
} known[RECIPE_FIELDS] = {
    {"--dim", false},    {"--hidden", false},   {"--layers", false},
    {"--heads", false},  {"--kv-heads", false}, {"--seq-len", false},
    {"--seed", false},   {"--steps", false},    {"--batch", false},
    {"--warmup", false}, {"--lr", true},        {"--decay", true},
    {"--clip", true},    {"--text", false},     {"--text", false},
};

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

void recipe_fields(const struct recipe *r, uint64_t fields[RECIPE_FIELDS])
{
    const struct model_config *c = &r->config;
    const uint64_t all[RECIPE_FIELDS] = {(uint64_t)c->dim,
                                         (uint64_t)c->hidden_dim,
                                         (uint64_t)c->layers,
                                         (uint64_t)c->heads,
                                         (uint64_t)c->kv_heads,
                                         (uint64_t)c->seq_len,
                                         r->seed,
                                         r->steps,
                                         r->batch,
                                         r->warmup,
                                         bits_of(r->lr),
                                         bits_of(r->decay),
                                         bits_of(r->clip),
                                         r->text_len,
                                         r->text_crc};
    memcpy(fields, all, sizeof all);
}

static void print_field(char *out, size_t size, size_t i, uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    if (known[i].real)
        snprintf(out, size, "%.9g", x);
    else
        snprintf(out, size, "%" PRIu64, bits);
}

int recipe_check(const struct recipe *r, const uint64_t fields[RECIPE_FIELDS],
                 struct err *err)
{
    uint64_t own[RECIPE_FIELDS];
    recipe_fields(r, own);
    for (size_t i = 0; i < RECIPE_FIELDS; i++) {
        if (fields[i] == own[i])
            continue;
        char was[32], is[32];
        print_field(was, sizeof was, i, fields[i]);
        print_field(is, sizeof is, i, own[i]);
        if (strcmp(known[i].option, "--text") == 0)
            err_set(err, "it was made from another text: give that one with --text, or "
                         "another --dir");
        else
            err_set(err,
                    "it was made with %s %s, and that is %s now: give %s, or another "
                    "--dir",
                    known[i].option, was, is, was);
        return -1;
    }
    return 0;
}

// x^n by squaring: libm's pow is not the same everywhere.
static double power(double x, uint64_t n)
{
    double result = 1;
    for (; n > 0; n >>= 1, x *= x) {
        if (n & 1)
            result *= x;
    }
    return result;
}

static double rate(const struct recipe *r, uint64_t step)
{
    if (step < r->warmup)
        return r->lr * (double)step / (double)r->warmup;
    if (step >= r->steps)
        return r->lr * 0.1;
    double left = (double)(r->steps - step) / (double)(r->steps - r->warmup + 1);
    return r->lr * (0.1 + 0.9 * left);
}

struct compute_adamw recipe_adamw(const struct recipe *r, uint64_t step)
{
    return (struct compute_adamw){
        .lr = (float)rate(r, step),
        .beta1 = (float)beta1,
        .beta2 = (float)beta2,
        .eps = 1e-8F,
        .decay = (float)r->decay,
        .correct1 = (float)(1 / (1 - power(beta1, step))),
        .correct2 = (float)(1 / (1 - power(beta2, step))),
    };
}
