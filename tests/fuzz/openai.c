// libFuzzer target for requests of the completions API: the body. What is refused, or taken, becomes an
// answer that is JSON again.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "demand.h"
#include "kernels/infer/openai.h"

// The member of an answer; the document goes to *root, the caller's.
static const json_t *member(const struct buf *out, const char *name, json_t **root)
{
    *root = json_loadb((const char *)buf_data(out), buf_len(out), 0, NULL);
    const json_t *v = json_object_get(*root, name);
    demand(v != NULL, "the answer is no JSON, or lacks something");
    return v;
}

static void check_refusal(const struct err *err)
{
    BUF_AUTO out = BUF_INIT;
    json_t *root;
    demand_error(err);
    openai_error(&out, 400, err_text(err), err->kind, NULL);
    const json_t *text = json_object_get(member(&out, "error", &root), "message");
    demand(json_is_string(text), "a refusal without a text");
    json_decref(root);
}

static void check_prompt(const struct openai_prompt *p)
{
    demand((p->text != NULL) != (p->tokens.n > 0), "a prompt is a text or tokens");
    for (size_t i = 0; i < p->tokens.n; i++)
        demand(p->tokens.at[i] >= 0, "no token");
}

static void check_bounds(const struct openai_request *r)
{
    demand(r->nprompts >= 1 && r->nprompts <= OPENAI_PROMPTS_MAX, "prompts");
    demand(r->max_tokens >= 1 && r->stops.n <= OPENAI_STOPS_MAX, "tokens, stops");
    demand(r->how.temperature >= 0 && r->how.temperature <= 2 && r->how.top_p >= 0 &&
               r->how.top_p <= 1,
           "sampling");
    for (size_t i = 0; i < r->stops.n; i++)
        demand(strlen(r->stops.v[i]) <= OPENAI_STOP_BYTES_MAX, "a stop");
    for (size_t i = 0; i < r->nprompts; i++)
        check_prompt(&r->prompts[i]);
}

// As a model of this name would answer that says the prompt again.
static void check_answer(const struct openai_request *r)
{
    const struct openai_head head = {.id = "cmpl-1",
                                     .model = r->model != NULL ? r->model : "m"};
    const struct openai_prompt *p = &r->prompts[0];
    const struct openai_choice choice = {.text = p->text != NULL ? p->text : "",
                                         .finish = "length",
                                         .tokens = r->token_ids ? &p->tokens : NULL};
    const struct openai_usage usage = {.prompt = p->tokens.n};
    BUF_AUTO out = BUF_INIT;
    json_t *root;
    openai_answer(&out, &head, &choice, 1, &usage);
    const json_t *said = json_array_get(member(&out, "choices", &root), 0);
    const char *text = json_string_value(json_object_get(said, "text"));
    demand(text != NULL && strcmp(text, choice.text) == 0, "another text");
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ERR_AUTO err = ERR_INIT;
    struct openai_request r;
    if (openai_parse((const char *)data, size, &r, &err) < 0) {
        check_refusal(&err);
        return 0;
    }
    check_bounds(&r);
    check_answer(&r);
    openai_request_free(&r);
    return 0;
}
