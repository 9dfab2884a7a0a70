// The completions API: what is asked, what is refused, what is answered.
#include <criterion/criterion.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/infer/openai.h"

static int parse(const char *body, struct openai_request *r, struct err *err)
{
    return openai_parse(body, strlen(body), r, err);
}

Test(openai, defaults_are_the_api_s)
{
    struct openai_request r;
    cr_assert_eq(
        parse("{\"prompt\": \"hi\", \"user\": \"x\", \"n\": 1, \"stop\": null}", &r,
              NULL),
        0);
    cr_assert_eq(r.nprompts, 1);
    cr_assert_str_eq(r.prompts[0].text, "hi");
    cr_assert_eq(r.max_tokens, 16);
    cr_assert_eq(r.how.temperature, 1);
    cr_assert_eq(r.how.top_p, 1);
    cr_assert(!r.stream && !r.has_seed && r.model == NULL && r.stops.n == 0);
    openai_request_free(&r);
}

Test(openai, fields_are_taken)
{
    struct openai_request r;
    cr_assert_eq(
        parse("{\"model\": \"m\", \"prompt\": [\"a\", \"b\"], \"max_tokens\": 5,"
              "\"temperature\": 0.5, \"top_p\": 0.9, \"seed\": -1, \"stream\": true,"
              "\"stream_options\": {\"include_usage\": true},"
              "\"return_token_ids\": true, \"stop\": [\"x\", \"\\n\"]}",
              &r, NULL),
        0);
    cr_assert_str_eq(r.model, "m");
    cr_assert_eq(r.nprompts, 2);
    cr_assert_str_eq(r.prompts[1].text, "b");
    cr_assert_eq(r.max_tokens, 5);
    cr_assert_float_eq(r.how.top_p, 0.9, 1e-6);
    cr_assert_eq(r.how.seed, UINT64_MAX);
    cr_assert(r.has_seed && r.stream && r.stream_usage && r.token_ids);
    cr_assert_str_eq(r.stops.v[1], "\n");
    openai_request_free(&r);
}

Test(openai, prompts_can_be_tokens)
{
    struct openai_request r;
    cr_assert_eq(parse("{\"prompt\": [1, 2, 3]}", &r, NULL), 0);
    cr_assert(r.nprompts == 1 && r.prompts[0].tokens.n == 3 &&
              r.prompts[0].tokens.at[2] == 3);
    openai_request_free(&r);
    cr_assert_eq(parse("{\"prompt\": [[1, 2], [3], \"x\"]}", &r, NULL), 0);
    cr_assert(r.nprompts == 3 && r.prompts[1].tokens.at[0] == 3 &&
              r.prompts[2].text != NULL);
    openai_request_free(&r);
}

Test(openai, what_is_wrong_is_named)
{
    static const struct {
        const char *body, *field, *part;
    } cases[] = {
        {"", NULL, "no JSON"},
        {"{\"prompt\": ", NULL, "no JSON: line 1"},
        {"[]", NULL, "a JSON object"},
        {"{}", "prompt", "missing"},
        {"{\"prompt\": 7}", "prompt", "has to be"},
        {"{\"prompt\": []}", "prompt", "empty"},
        {"{\"prompt\": [[]]}", "prompt", "empty"},
        {"{\"prompt\": [1, \"a\"]}", "prompt", "something else"},
        {"{\"prompt\": [1, -1]}", "prompt", "something else"},
        {"{\"prompt\": \"a\\u0000b\"}", NULL, "no JSON"},
        {"{\"prompt\": \"a\", \"max_tokens\": 0}", "max_tokens", "whole number"},
        {"{\"prompt\": \"a\", \"max_tokens\": 1.5}", "max_tokens", "whole number"},
        {"{\"prompt\": \"a\", \"temperature\": 3}", "temperature", "0 to 2"},
        {"{\"prompt\": \"a\", \"temperature\": \"hot\"}", "temperature", "0 to 2"},
        {"{\"prompt\": \"a\", \"top_p\": -1}", "top_p", "0 to 1"},
        {"{\"prompt\": \"a\", \"stop\": [1]}", "stop", "string"},
        {"{\"prompt\": \"a\", \"stop\": [\"\",\"\",\"\",\"\",\"\"]}", "stop",
         "more than 4"},
        {"{\"prompt\": \"a\", \"stream\": 1}", "stream", "true or false"},
        {"{\"prompt\": \"a\", \"n\": 2}", "n", "not supported"},
        {"{\"prompt\": \"a\", \"logprobs\": 1}", "logprobs", "not supported"},
        {"{\"prompt\": \"a\", \"echo\": true}", "echo", "not supported"},
        {"{\"prompt\": \"a\", \"model\": 1}", "model", "string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ERR_AUTO err = ERR_INIT;
        struct openai_request r;
        cr_assert_eq(parse(cases[i].body, &r, &err), -1, "case %zu", i);
        cr_assert_not_null(strstr(err_text(&err), cases[i].part), "case %zu: %s", i,
                           err_text(&err));
        if (cases[i].field != NULL)
            cr_assert_str_eq(err.kind, cases[i].field);
        else
            cr_assert_null(err.kind);
    }
}

static void expect(struct buf *out, const char *want)
{
    CLEANUP_FREE char *got = buf_steal_str(out);
    cr_assert_str_eq(got, want);
}

Test(openai, answers_are_as_clients_read_them)
{
    BUF_AUTO out = BUF_INIT;
    const struct openai_head head = {.id = "cmpl-1", .model = "m", .created = 9};
    struct tokens tokens = {.at = (int32_t[]){4, 5}, .n = 2};
    const struct openai_usage usage = {.prompt = 3, .completion = 2};
    const struct openai_choice choice = {
        .text = "a\xFF\"", .finish = "stop", .tokens = &tokens};
    openai_answer(&out, &head, &choice, 1, &usage);
    expect(&out,
           "{\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"created\":9,"
           "\"model\":\"m\",\"choices\":[{\"index\":0,\"text\":\"a\xEF\xBF\xBD\\\"\","
           "\"logprobs\":null,\"finish_reason\":\"stop\",\"token_ids\":[4,5]}],"
           "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,"
           "\"total_tokens\":5}}");
    openai_event(&out, &head, &(struct openai_choice){.index = 1, .text = "x"}, NULL);
    openai_done(&out);
    expect(&out,
           "data: {\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"created\":9,"
           "\"model\":\"m\",\"choices\":[{\"index\":1,\"text\":\"x\","
           "\"logprobs\":null,\"finish_reason\":null}]}\n\ndata: [DONE]\n\n");
    openai_error(&out, 429, "later", NULL, "busy");
    expect(&out, "{\"error\":{\"message\":\"later\",\"type\":\"rate_limit_error\","
                 "\"param\":null,\"code\":\"busy\"}}");
}
