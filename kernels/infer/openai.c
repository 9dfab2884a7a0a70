// Field by field, each with its bounds.
#include "kernels/infer/openai.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/jsonpack.h"
#include "common/mem.h"

enum { MAX_TOKENS_DEFAULT = 16, TOKENS_MOST = 1 << 24 };

// ---- requests ---------------------------------------------------------------------

static int refuse(struct err *err, const char *field, const char *what)
{
    err_set_kind(err, field, 0, "%s: %s", field, what);
    return -1;
}

// A field that is there and not null.
static const json_t *get(const json_t *body, const char *field)
{
    const json_t *v = json_object_get(body, field);
    return json_is_null(v) ? NULL : v;
}

static int add_token(const json_t *v, struct tokens *out, struct err *err)
{
    json_int_t token = json_integer_value(v);
    if (!json_is_integer(v) || token < 0 || token > INT32_MAX)
        return refuse(err, "prompt", "a list of tokens has something else in it");
    tokens_add(out, (int32_t)token);
    return 0;
}

static int take_prompt(struct openai_request *r, const json_t *v, struct err *err)
{
    struct openai_prompt *p = &r->prompts[r->nprompts++];
    *p = (struct openai_prompt){0};
    if (json_is_string(v)) {
        p->text = xstrdup(json_string_value(v));
        return 0;
    }
    if (!json_is_array(v) || json_array_size(v) == 0)
        return refuse(
            err, "prompt",
            "it has to be a string, a list of strings, a list of tokens, or a "
            "list of such lists, and no list may be empty");
    for (size_t i = 0; i < json_array_size(v); i++)
        if (add_token(json_array_get(v, i), &p->tokens, err) < 0)
            return -1;
    return 0;
}

static int parse_prompts(const json_t *body, struct openai_request *r, struct err *err)
{
    const json_t *v = get(body, "prompt");
    if (v == NULL)
        return refuse(err, "prompt", "it is missing");
    bool many = json_is_array(v) && !json_is_integer(json_array_get(v, 0));
    size_t n = many ? json_array_size(v) : 1;
    if (n > OPENAI_PROMPTS_MAX)
        return refuse(err, "prompt", "more than 128 prompts in a request");
    r->prompts = xcalloc(n > 0 ? n : 1, sizeof *r->prompts);
    if (!many || n == 0)
        return take_prompt(r, v, err);
    for (size_t i = 0; i < n; i++)
        if (take_prompt(r, json_array_get(v, i), err) < 0)
            return -1;
    return 0;
}

static int parse_integer(const json_t *body, const char *field, json_int_t least,
                         json_int_t most, json_int_t *out, struct err *err)
{
    const json_t *v = get(body, field);
    if (v == NULL)
        return 0;
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < least || n > most) {
        err_set_kind(err, field, 0, "%s: it has to be a whole number from %lld to %lld",
                     field, (long long)least, (long long)most);
        return -1;
    }
    *out = n;
    return 1;
}

static int parse_number(const json_t *body, const char *field, double most, float *out,
                        struct err *err)
{
    const json_t *v = get(body, field);
    if (v == NULL)
        return 0;
    double n = json_number_value(v);
    if (!json_is_number(v) || !isfinite(n) || n < 0 || n > most) {
        err_set_kind(err, field, 0, "%s: it has to be a number from 0 to %g", field,
                     most);
        return -1;
    }
    *out = (float)n;
    return 0;
}

static int parse_flag(const json_t *body, const char *field, bool *out, struct err *err)
{
    const json_t *v = get(body, field);
    if (v == NULL)
        return 0;
    if (!json_is_boolean(v))
        return refuse(err, field, "it has to be true or false");
    *out = json_is_true(v);
    return 0;
}

static int add_stop(struct openai_request *r, const json_t *v, struct err *err)
{
    const char *text = json_string_value(v);
    if (text == NULL || strlen(text) > OPENAI_STOP_BYTES_MAX)
        return refuse(
            err, "stop",
            "it has to be a string or a list of strings, of 1024 bytes at most");
    strv_add(&r->stops, text);
    return 0;
}

static int parse_stops(const json_t *body, struct openai_request *r, struct err *err)
{
    const json_t *v = get(body, "stop");
    if (v == NULL)
        return 0;
    if (!json_is_array(v))
        return add_stop(r, v, err);
    if (json_array_size(v) > OPENAI_STOPS_MAX)
        return refuse(err, "stop", "more than 4 strings");
    for (size_t i = 0; i < json_array_size(v); i++)
        if (add_stop(r, json_array_get(v, i), err) < 0)
            return -1;
    return 0;
}

static int parse_sampling(const json_t *body, struct openai_request *r, struct err *err)
{
    json_int_t max_tokens = MAX_TOKENS_DEFAULT, seed = 0;
    r->how = (struct sampler_how){.temperature = 1, .top_p = 1};
    if (parse_integer(body, "max_tokens", 1, TOKENS_MOST, &max_tokens, err) < 0 ||
        parse_number(body, "temperature", 2, &r->how.temperature, err) < 0 ||
        parse_number(body, "top_p", 1, &r->how.top_p, err) < 0)
        return -1;
    int rc = parse_integer(body, "seed", INT64_MIN, INT64_MAX, &seed, err);
    r->max_tokens = (uint32_t)max_tokens;
    r->how.seed = (uint64_t)seed;
    r->has_seed = rc > 0;
    return rc < 0 ? -1 : 0;
}

static int parse_streaming(const json_t *body, struct openai_request *r,
                           struct err *err)
{
    const json_t *options = get(body, "stream_options");
    if (options != NULL && !json_is_object(options))
        return refuse(err, "stream_options", "it has to be an object");
    if (options != NULL &&
        parse_flag(options, "include_usage", &r->stream_usage, err) < 0)
        return -1;
    return parse_flag(body, "stream", &r->stream, err) < 0 ||
                   parse_flag(body, "return_token_ids", &r->token_ids, err) < 0
               ? -1
               : 0;
}

// What would change the answer: only at the value that does not.
static int check_unsupported(const json_t *body, struct err *err)
{
    static const struct {
        const char *field;
        double neutral;
    } fields[] = {
        {"n", 1},       {"best_of", 1},          {"frequency_penalty", 0},
        {"echo", 0},    {"presence_penalty", 0}, {"logprobs", -1},
        {"suffix", -1}, {"logit_bias", -1},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const json_t *v = get(body, fields[i].field);
        bool empty = json_is_false(v) ||
                     (json_is_object(v) && json_object_size(v) == 0) ||
                     (json_is_string(v) && json_string_length(v) == 0);
        if (v != NULL && !empty &&
            !(json_is_number(v) && json_number_value(v) == fields[i].neutral))
            return refuse(err, fields[i].field, "it is not supported here");
    }
    return 0;
}

static int parse_fields(const json_t *body, struct openai_request *r, struct err *err)
{
    const json_t *model = get(body, "model");
    if (!json_is_object(body)) {
        err_set(err, "the body has to be a JSON object");
        return -1;
    }
    if (model != NULL && !json_is_string(model))
        return refuse(err, "model", "it has to be a string");
    r->model = model != NULL ? xstrdup(json_string_value(model)) : NULL;
    return check_unsupported(body, err) < 0 || parse_prompts(body, r, err) < 0 ||
                   parse_sampling(body, r, err) < 0 || parse_stops(body, r, err) < 0 ||
                   parse_streaming(body, r, err) < 0
               ? -1
               : 0;
}

int openai_parse(const char *body, size_t n, struct openai_request *r, struct err *err)
{
    json_error_t where;
    *r = (struct openai_request){0};
    json_t *root = json_loadb(body, n, 0, &where);
    if (root == NULL) {
        err_set(err, "the body is no JSON: line %d, column %d: %s", where.line,
                where.column, where.text);
        return -1;
    }
    int rc = parse_fields(root, r, err);
    json_decref(root);
    if (rc < 0)
        openai_request_free(r);
    return rc;
}

void openai_request_free(struct openai_request *r)
{
    for (size_t i = 0; i < r->nprompts; i++) {
        free(r->prompts[i].text);
        tokens_free(&r->prompts[i].tokens);
    }
    free(r->prompts);
    free(r->model);
    strv_free(&r->stops);
    *r = (struct openai_request){0};
}

// ---- answers ----------------------------------------------------------------------

static void print(struct buf *out, json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT);
    buf_append_str(out, text);
    free(text);
    json_decref(v);
}

static json_t *of_choice(const struct openai_choice *c)
{
    json_t *v = jsonpack("{s:I, s:s, s:o, s:s?}", "index", (json_int_t)c->index, "text",
                         c->text, "logprobs", json_null(), "finish_reason", c->finish);
    if (c->tokens == NULL)
        return v;
    json_t *list = json_array();
    for (size_t i = 0; i < c->tokens->n; i++)
        json_array_append_new(list, json_integer(c->tokens->at[i]));
    json_object_set_new(v, "token_ids", list);
    return v;
}

static json_t *of_usage(const struct openai_usage *u)
{
    return jsonpack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)u->prompt,
                    "completion_tokens", (json_int_t)u->completion, "total_tokens",
                    (json_int_t)u->prompt + (json_int_t)u->completion);
}

static json_t *of_head(const struct openai_head *head, const char *object)
{
    return jsonpack("{s:s, s:s, s:I, s:s}", "id", head->id, "object", object, "created",
                    (json_int_t)head->created, "model", head->model);
}

void openai_answer(struct buf *out, const struct openai_head *head,
                   const struct openai_choice *choices, size_t n,
                   const struct openai_usage *usage)
{
    json_t *v = of_head(head, "text_completion"), *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, of_choice(&choices[i]));
    json_object_set_new(v, "choices", list);
    json_object_set_new(v, "usage", of_usage(usage));
    print(out, v);
}

void openai_event(struct buf *out, const struct openai_head *head,
                  const struct openai_choice *choice, const struct openai_usage *usage)
{
    json_t *v = of_head(head, "text_completion"), *list = json_array();
    if (choice != NULL)
        json_array_append_new(list, of_choice(choice));
    json_object_set_new(v, "choices", list);
    if (usage != NULL)
        json_object_set_new(v, "usage", of_usage(usage));
    buf_append_str(out, "data: ");
    print(out, v);
    buf_append_str(out, "\n\n");
}

void openai_done(struct buf *out)
{
    buf_append_str(out, "data: [DONE]\n\n");
}

void openai_models(struct buf *out, const struct openai_head *head)
{
    json_t *list = json_array();
    json_array_append_new(
        list, jsonpack("{s:s, s:s, s:I, s:s}", "id", head->model, "object", "model",
                       "created", (json_int_t)head->created, "owned_by", "muster"));
    print(out, jsonpack("{s:s, s:o}", "object", "list", "data", list));
}

void openai_error(struct buf *out, int status, const char *text, const char *field,
                  const char *code)
{
    const char *type = status >= 500   ? "server_error"
                       : status == 429 ? "rate_limit_error"
                                       : "invalid_request_error";
    print(out, jsonpack("{s:{s:s, s:s, s:s?, s:s?}}", "error", "message", text, "type",
                        type, "param", field, "code", code));
}
