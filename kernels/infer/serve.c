// Completions in progress, and the texts that they consist of.
#include "kernels/infer/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <utlist.h>

#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "kernels/infer/http.h"
#include "kernels/infer/openai.h"
#include "kernels/infer/textout.h"

struct completion;

struct answer {
    struct completion *of;
    uint64_t tag;
    size_t index;
    uint32_t prompt; // tokens
    struct tokens made;
    struct textout *out;
    struct buf text;    // not streamed: all of it
    const char *finish; // NULL: it goes on
};

struct completion {
    struct serve *serve;
    struct http_exchange *exchange;
    struct openai_request request;
    struct openai_head head;
    struct answer *answers;
    size_t n, left; // answers, and those that go on
    struct completion *prev, *next;
};

struct serve {
    struct sched *sched;
    const struct tokenizer *tokenizer;
    struct serve_opts opts;
    struct log *log;
    struct http *http;
    struct completion *all;
    uint64_t tags;
    uint64_t started; // seconds since 1970
};

static const char JSON[] = "application/json";

// ---- a completion -----------------------------------------------------------------

static void forget(struct completion *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct answer *a = &c->answers[i];
        if (a->finish == NULL)
            sched_cancel(c->serve->sched, a->tag);
        tokens_free(&a->made);
        textout_destroy(a->out);
        buf_free(&a->text);
    }
    DL_DELETE(c->serve->all, c);
    openai_request_free(&c->request);
    free(c->answers);
    free(c);
}

static struct openai_usage usage_of(const struct completion *c)
{
    struct openai_usage u = {0};
    for (size_t i = 0; i < c->n; i++) {
        u.prompt += c->answers[i].prompt;
        u.completion += c->answers[i].made.n;
    }
    return u;
}

static void end_stream(struct completion *c)
{
    BUF_AUTO out = BUF_INIT;
    struct openai_usage usage = usage_of(c);
    if (c->request.stream_usage)
        openai_event(&out, &c->head, NULL, &usage);
    openai_done(&out);
    http_more(c->exchange, &out);
    http_end(c->exchange);
}

static void answer_whole(struct completion *c)
{
    BUF_AUTO body = BUF_INIT;
    struct openai_usage usage = usage_of(c);
    CLEANUP_FREE struct openai_choice *choices = xcalloc(c->n, sizeof *choices);
    STRV_AUTO texts = STRV_INIT;
    for (size_t i = 0; i < c->n; i++) {
        struct answer *a = &c->answers[i];
        strv_add_steal(&texts, buf_steal_str(&a->text));
        choices[i] =
            (struct openai_choice){.index = i,
                                   .text = texts.v[i],
                                   .finish = a->finish,
                                   .tokens = c->request.token_ids ? &a->made : NULL};
    }
    openai_answer(&body, &c->head, choices, c->n, &usage);
    http_answer(c->exchange, 200, JSON, &body);
}

static void stream(struct completion *c, const struct answer *a, struct buf *text,
                   const struct tokens *tokens)
{
    BUF_AUTO out = BUF_INIT;
    if (buf_len(text) == 0 && a->finish == NULL && tokens == NULL)
        return;
    CLEANUP_FREE char *whole = buf_steal_str(text);
    const struct openai_choice choice = {
        .index = a->index, .text = whole, .finish = a->finish, .tokens = tokens};
    openai_event(&out, &c->head, &choice, NULL);
    http_more(c->exchange, &out);
}

static void take_token(struct answer *a, const struct sched_news *news,
                       struct buf *text)
{
    struct completion *c = a->of;
    if (news->end != SCHED_STOP) {
        tokens_add(&a->made, news->token);
        if (textout_push(a->out, news->token, text)) {
            sched_cancel(c->serve->sched, a->tag);
            a->finish = "stop";
            return;
        }
    }
    if (news->end == SCHED_GOES_ON)
        return;
    textout_end(a->out, text);
    a->finish = news->end == SCHED_STOP ? "stop" : "length";
}

static void take_news(struct answer *a, const struct sched_news *news)
{
    struct completion *c = a->of;
    BUF_AUTO text = BUF_INIT;
    struct tokens one = {.at = (int32_t[]){news->token},
                         .n = news->end == SCHED_STOP ? 0 : 1};
    take_token(a, news, &text);
    if (c->request.stream)
        stream(c, a, &text, c->request.token_ids ? &one : NULL);
    else
        buf_append(&a->text, buf_data(&text), buf_len(&text));
    if (a->finish == NULL || --c->left > 0)
        return;
    if (c->request.stream)
        end_stream(c);
    else
        answer_whole(c);
    forget(c);
}

static struct answer *find(struct serve *s, uint64_t tag)
{
    struct completion *c;
    DL_FOREACH (s->all, c)
        if (tag >= c->answers[0].tag && tag < c->answers[0].tag + c->n)
            return &c->answers[tag - c->answers[0].tag];
    return NULL;
}

void serve_take(struct serve *s, const struct sched_news *news)
{
    struct answer *a = find(s, news->tag);
    if (a != NULL && a->finish == NULL)
        take_news(a, news);
}

// ---- taking one -------------------------------------------------------------------

static void refuse(struct http_exchange *x, int status, const char *text,
                   const char *field, const char *code)
{
    BUF_AUTO body = BUF_INIT;
    openai_error(&body, status, text, field, code);
    http_answer(x, status, JSON, &body);
}

// A text that cannot fit is not encoded: nothing else goes on meanwhile.
static int encode(const struct serve *s, struct openai_prompt *p, struct err *err)
{
    uint32_t length = sched_limits(s->sched)->length;
    uint32_t longest = tokenizer_longest(s->tokenizer);
    size_t n = strlen(p->text);
    if (n > (size_t)length * longest) {
        err_set_kind(err, "prompt", 0,
                     "prompt: it has %zu bytes, and the model's context %u tokens of "
                     "at most %u bytes",
                     n, length, longest);
        return -1;
    }
    tokenizer_encode(s->tokenizer, p->text, n, &p->tokens);
    return 0;
}

static int take_tokens(const struct serve *s, struct openai_prompt *p, struct err *err)
{
    uint32_t length = sched_limits(s->sched)->length;
    if (p->text != NULL && encode(s, p, err) < 0)
        return -1;
    for (size_t i = 0; i < p->tokens.n; i++)
        if (p->tokens.at[i] >= tokenizer_vocab(s->tokenizer)) {
            err_set_kind(err, "prompt", 0, "prompt: token %d: the model has %d",
                         p->tokens.at[i], tokenizer_vocab(s->tokenizer));
            return -1;
        }
    if (p->tokens.n <= length)
        return 0;
    err_set_kind(err, "prompt", 0,
                 "prompt: it has %zu tokens, and the model's context %u", p->tokens.n,
                 length);
    return -1;
}

static int check(const struct serve *s, struct openai_request *r, struct err *err)
{
    for (size_t i = 0; i < r->nprompts; i++)
        if (take_tokens(s, &r->prompts[i], err) < 0)
            return -1;
    return 0;
}

static void begin_answer(struct completion *c, size_t i)
{
    struct serve *s = c->serve;
    const struct tokens *prompt = &c->request.prompts[i].tokens;
    struct answer *a = &c->answers[i];
    *a = (struct answer){
        .of = c, .tag = ++s->tags, .index = i, .prompt = (uint32_t)prompt->n};
    a->out = textout_create(s->tokenizer, prompt->at[prompt->n - 1], c->request.stops.v,
                            c->request.stops.n);
    const struct sched_text text = {.prompt = prompt->at,
                                    .n = (uint32_t)prompt->n,
                                    .max_tokens = c->request.max_tokens,
                                    .how = c->request.how,
                                    .tag = a->tag,
                                    .fetch = s->opts.fetch};
    sched_add(s->sched, &text);
}

static void begin(struct serve *s, struct http_exchange *x, struct openai_request *r)
{
    struct completion *c = xcalloc(1, sizeof *c);
    uint64_t id[2] = {0};
    // A draw that nobody asked to be the same each time.
    if (getrandom(id, sizeof id, 0) == (ssize_t)sizeof id && !r->has_seed)
        r->how.seed = id[0];
    *c = (struct completion){.serve = s,
                             .exchange = x,
                             .request = *r,
                             .n = r->nprompts,
                             .left = r->nprompts};
    c->head =
        (struct openai_head){.model = s->opts.model, .created = loop_wall_ms() / 1000};
    snprintf(c->head.id, sizeof c->head.id, "cmpl-%016llx", (unsigned long long)id[1]);
    c->answers = xcalloc(c->n, sizeof *c->answers);
    DL_APPEND(s->all, c);
    for (size_t i = 0; i < c->n; i++)
        begin_answer(c, i);
    if (r->stream)
        http_begin(x, "text/event-stream");
}

static void complete(struct serve *s, struct http_exchange *x, const char *body,
                     size_t n)
{
    ERR_AUTO err = ERR_INIT;
    struct openai_request r;
    if (openai_parse(body, n, &r, &err) < 0) {
        refuse(x, 400, err_text(&err), err.kind, NULL);
        return;
    }
    uint32_t waiting = sched_count(s->sched, SCHED_WAITING);
    if (r.model != NULL && strcmp(r.model, s->opts.model) != 0) {
        CLEANUP_FREE char *text =
            xasprintf("model: there is no %s here, only %s", r.model, s->opts.model);
        refuse(x, 404, text, "model", "model_not_found");
    } else if (check(s, &r, &err) < 0) {
        refuse(x, 400, err_text(&err), err.kind, NULL);
    } else if (waiting + r.nprompts > sched_limits(s->sched)->waiting) {
        refuse(x, 429, "too many prompts are waiting: try again later", NULL, NULL);
    } else {
        begin(s, x, &r);
        return;
    }
    openai_request_free(&r);
}

// ---- requests ---------------------------------------------------------------------

static void on_health(struct http_exchange *x)
{
    BUF_AUTO body = BUF_INIT;
    buf_append_str(&body, "{\"status\":\"ok\"}\n");
    http_answer(x, 200, JSON, &body);
}

static void on_models(const struct serve *s, struct http_exchange *x)
{
    BUF_AUTO body = BUF_INIT;
    openai_models(&body,
                  &(struct openai_head){.model = s->opts.model, .created = s->started});
    http_answer(x, 200, JSON, &body);
}

static void on_request(void *arg, struct http_exchange *x, const struct httpreq *r,
                       const char *body)
{
    struct serve *s = arg;
    if (r->post && httpreq_is(r, "/v1/completions")) {
        complete(s, x, body, r->body_len);
    } else if (!r->post && httpreq_is(r, "/v1/models")) {
        on_models(s, x);
    } else if (!r->post && httpreq_is(r, "/health")) {
        on_health(x);
    } else {
        refuse(x, 404,
               "there is POST /v1/completions, GET /v1/models and GET /health, and "
               "nothing else",
               NULL, NULL);
    }
}

static const char *on_refuse(void *arg, int status, struct buf *body)
{
    openai_error(body, status,
                 status == 411   ? "the body's length is missing (Content-Length)"
                 : status == 405 ? "the method is neither GET, HEAD nor POST"
                 : status == 413 ? "the body is too large: at most 4 MiB"
                 : status == 431
                     ? "the head is too large: at most 8 KiB"
                     : "this is no request of HTTP/1.1 that can be answered",
                 NULL, NULL);
    return JSON;
}

static void on_gone(void *arg, struct http_exchange *x)
{
    struct serve *s = arg;
    struct completion *c, *next;
    DL_FOREACH_SAFE (s->all, c, next)
        if (c->exchange == x)
            forget(c);
}

struct serve *serve_create(struct event_base *base, struct sched *sched,
                           const struct tokenizer *tokenizer,
                           const struct serve_opts *opts, struct log *log,
                           struct err *err)
{
    struct serve *s = xcalloc(1, sizeof *s);
    *s = (struct serve){.sched = sched,
                        .tokenizer = tokenizer,
                        .opts = *opts,
                        .log = log,
                        .started = loop_wall_ms() / 1000};
    const struct http_owner owner = {
        .arg = s, .request = on_request, .refuse = on_refuse, .gone = on_gone};
    const struct sched_limits *limits = sched_limits(sched);
    s->http = http_create(base, opts->listen,
                          (size_t)limits->slots + limits->waiting + HTTP_SPARE, &owner,
                          log, err);
    if (s->http != NULL)
        return s;
    free(s);
    return NULL;
}

void serve_destroy(struct serve *s)
{
    if (s == NULL)
        return;
    while (s->all != NULL)
        forget(s->all);
    http_destroy(s->http);
    free(s);
}
