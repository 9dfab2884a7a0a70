// OpenAI's completions API as JSON: requests in, answers out. Pure.
//
// Fields that are unknown are passed over, as clients send many; those that would change the
// answer and are not supported (n > 1, best_of, echo, logprobs, suffix, penalties) are refused.
// As with vLLM, "return_token_ids" adds token_ids to each choice.
#ifndef MUSTER_KERNELS_INFER_OPENAI_H
#define MUSTER_KERNELS_INFER_OPENAI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/strv.h"
#include "kernels/infer/sampler.h"
#include "kernels/model/tokenizer.h"

enum {
    OPENAI_PROMPTS_MAX = 128,
    OPENAI_STOPS_MAX = 4,
    OPENAI_STOP_BYTES_MAX = 1024,
};

// A text or tokens.
struct openai_prompt {
    char *text; // owned; NULL: tokens
    struct tokens tokens;
};

struct openai_request {
    char *model; // owned; NULL: not said
    struct openai_prompt *prompts;
    size_t nprompts; // >= 1
    uint32_t max_tokens;
    struct sampler_how how;
    bool has_seed;
    struct strv stops;
    bool stream, stream_usage, token_ids;
};

// A body. Errors: the text for the client; err.kind is the field that is wrong, or NULL.
int openai_parse(const char *body, size_t n, struct openai_request *r, struct err *err);
void openai_request_free(struct openai_request *r);

// What all answers to a request have in common.
struct openai_head {
    char id[40];
    const char *model;
    uint64_t created; // seconds since 1970
};

struct openai_choice {
    size_t index;
    const char *text;
    const char *finish;          // "stop", "length"; NULL: it goes on
    const struct tokens *tokens; // NULL: not wanted
};

struct openai_usage {
    uint64_t prompt, completion; // tokens
};

void openai_answer(struct buf *out, const struct openai_head *head,
                   const struct openai_choice *choices, size_t n,
                   const struct openai_usage *usage);
// An event of a stream: of one choice, or (choice NULL) of the usage.
void openai_event(struct buf *out, const struct openai_head *head,
                  const struct openai_choice *choice, const struct openai_usage *usage);
void openai_done(struct buf *out); // the event that ends a stream
void openai_models(struct buf *out, const struct openai_head *head);
// `field` and `code` may be NULL.
void openai_error(struct buf *out, int status, const char *text, const char *field,
                  const char *code);

#endif
