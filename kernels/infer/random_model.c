// NAME=NUMBER, by commas.
#include "kernels/infer/random_model.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"
#include "kernels/model/llama2c.h"

static int32_t *field(struct model_config *c, int32_t *shared, const char *name,
                      size_t n)
{
    const struct {
        const char *name;
        int32_t *at;
    } fields[] = {
        {"dim", &c->dim},        {"hidden", &c->hidden_dim}, {"layers", &c->layers},
        {"heads", &c->heads},    {"kv_heads", &c->kv_heads}, {"vocab", &c->vocab},
        {"length", &c->seq_len}, {"shared", shared},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strlen(fields[i].name) == n && memcmp(fields[i].name, name, n) == 0)
            return fields[i].at;
    return NULL;
}

static int parse_word(const char *word, struct model_config *c, int32_t *shared,
                      struct err *err)
{
    const char *equals = strchr(word, '=');
    int32_t *at =
        equals != NULL ? field(c, shared, word, (size_t)(equals - word)) : NULL;
    char *end = NULL;
    long n = equals != NULL ? strtol(equals + 1, &end, 10) : 0;
    if (at == NULL || end == equals + 1 || *end != '\0' || n < 0 || n > INT32_MAX) {
        err_set(
            err,
            "%s: it has to be dim, hidden, layers, heads, kv_heads, vocab, length or "
            "shared, = and a number",
            word);
        return -1;
    }
    *at = (int32_t)n;
    return 0;
}

int random_model_parse(const char *text, struct model_config *config, struct err *err)
{
    STRV_AUTO words = STRV_INIT;
    int32_t shared = 0;
    *config = (struct model_config){.dim = 64,
                                    .hidden_dim = 172,
                                    .layers = 4,
                                    .heads = 8,
                                    .kv_heads = 4,
                                    .vocab = 256,
                                    .seq_len = 256};
    strv_add_split(&words, text, ',');
    for (size_t i = 0; i < words.n; i++)
        if (parse_word(words.v[i], config, &shared, err) < 0)
            return -1;
    config->shared = shared != 0;
    return model_config_check(config, err);
}

int random_model_write(const char *path, const struct model_config *config,
                       uint64_t seed, struct err *err)
{
    struct model_layout layout = model_layout_of(config);
    CLEANUP_FREE float *weights = xcalloc(layout.count, sizeof *weights);
    llama2c_fill_random(config, seed, weights);
    return llama2c_write(path, config, weights, err);
}
