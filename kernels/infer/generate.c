// Prompts are texts of the scheduler, with their index as tag.
#include "kernels/infer/generate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/mem.h"
#include "kernels/infer/lead.h"
#include "kernels/infer/textout.h"

struct text {
    struct tokens prompt, made;
    struct textout *out;
    struct buf shown;
    const char *finish;
};

struct generation {
    const struct tokenizer *tokenizer;
    struct text *texts;
    size_t n;
};

static bool is_end(void *arg, int32_t token)
{
    const struct generation *g = arg;
    return tokenizer_is_end(g->tokenizer, token);
}

static void tell(void *arg, const struct sched_news *news)
{
    struct generation *g = arg;
    struct text *t = &g->texts[news->tag];
    if (news->end != SCHED_STOP) {
        tokens_add(&t->made, news->token);
        textout_push(t->out, news->token, &t->shown);
    }
    if (news->end == SCHED_GOES_ON)
        return;
    textout_end(t->out, &t->shown);
    t->finish = news->end == SCHED_STOP ? "stop" : "length";
}

static int add(struct generation *g, struct sched *sched, const struct opts *o,
               size_t i, struct err *err)
{
    struct text *t = &g->texts[i];
    uint32_t length = sched_limits(sched)->length;
    const char *prompt = o->prompts.v[i];
    tokenizer_encode(g->tokenizer, prompt, strlen(prompt), &t->prompt);
    if (t->prompt.n > length) {
        err_set(err, "prompt %zu has %zu tokens, and the model's context %u", i + 1,
                t->prompt.n, length);
        return -1;
    }
    t->out = textout_create(g->tokenizer, t->prompt.at[t->prompt.n - 1], NULL, 0);
    const struct sched_text text = {.prompt = t->prompt.at,
                                    .n = (uint32_t)t->prompt.n,
                                    .max_tokens = o->max_tokens,
                                    .how = o->how,
                                    .tag = i};
    sched_add(sched, &text);
    return 0;
}

static void print_json(const struct text *t, size_t index)
{
    json_t *list = json_array();
    CLEANUP_FREE char *shown =
        xstrndup((const char *)buf_data(&t->shown), buf_len(&t->shown));
    for (size_t i = 0; i < t->made.n; i++)
        json_array_append_new(list, json_integer(t->made.at[i]));
    json_t *v = jsonpack("{s:I, s:s, s:s, s:o}", "index", (json_int_t)index, "text",
                         shown, "finish_reason", t->finish, "token_ids", list);
    CLEANUP_FREE char *line = json_dumps(v, JSON_COMPACT);
    puts(line);
    json_decref(v);
}

static int print(const struct generation *g, const struct opts *o, struct err *err)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct text *t = &g->texts[i];
        if (o->json) {
            print_json(t, i);
            continue;
        }
        fwrite(buf_data(&t->shown), 1, buf_len(&t->shown), stdout);
        putchar('\n');
    }
    if (fflush(stdout) == 0)
        return 0;
    err_set(err, "stdout cannot be written: %m");
    return -1;
}

int generate(struct engine *engine, struct sched *sched, const struct tokenizer *t,
             const struct opts *o, struct err *err)
{
    struct generation g = {.tokenizer = t, .n = o->prompts.n};
    g.texts = xcalloc(g.n, sizeof *g.texts);
    int rc = 0;
    for (size_t i = 0; i < g.n && rc == 0; i++)
        rc = add(&g, sched, o, i, err);
    if (rc == 0) {
        lead_run(
            &(struct lead){.engine = engine,
                           .sched = sched,
                           .listener = {.arg = &g, .is_end = is_end, .tell = tell}});
        rc = print(&g, o, err);
    }
    for (size_t i = 0; i < g.n; i++) {
        tokens_free(&g.texts[i].prompt);
        tokens_free(&g.texts[i].made);
        textout_destroy(g.texts[i].out);
        buf_free(&g.texts[i].shown);
    }
    free(g.texts);
    return rc;
}
