// Signals, a listener, the leader's loop.
#include "kernels/infer/service.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "kernels/infer/fetch.h"
#include "kernels/infer/lead.h"
#include "kernels/infer/prefill.h"
#include "kernels/infer/serve.h"

struct service {
    const struct service_opts *o;
    struct log *log;
    struct event *term, *intr;
    bool stop;
    struct serve *serve;     // all but prefill
    struct fetch *fetch;     // decode
    struct prefill *prefill; // prefill
};

static void on_signal(int number, short what, void *arg)
{
    ((struct service *)arg)->stop = true;
}

static bool is_end(void *arg, int32_t token)
{
    const struct service *s = arg;
    return s->prefill == NULL && tokenizer_is_end(s->o->tokenizer, token);
}

static void tell(void *arg, const struct sched_news *news)
{
    struct service *s = arg;
    if (s->prefill != NULL)
        prefill_take(s->prefill, news);
    else
        serve_take(s->serve, news);
}

static void look(void *arg)
{
    struct service *s = arg;
    if (s->fetch != NULL)
        fetch_look(s->fetch);
}

// ---- what listens -----------------------------------------------------------------

static int begin_prefill(struct service *s, struct err *err)
{
    const struct service_opts *o = s->o;
    const struct prefill_opts opts = {
        .listen = o->listen,
        .model = o->model,
        .vocab = (uint32_t)tokenizer_vocab(o->tokenizer),
        .sources = o->sources,
        .nsources = o->nsources,
    };
    s->prefill = prefill_create(o->base, o->engine, o->sched, &opts, s->log, err);
    return s->prefill != NULL ? 0 : -1;
}

static int begin_serve(struct service *s, struct err *err)
{
    const struct service_opts *o = s->o;
    bool decode = o->opts->role == OPTS_DECODE;
    const struct serve_opts opts = {
        .listen = o->opts->listen, .model = o->opts->model_name, .fetch = decode};
    const struct fetch_opts fetch = {.prefill = o->opts->prefill,
                                     .role_file = getenv("MUSTER_ROLE_FILE"),
                                     .model = o->model};
    s->serve = serve_create(o->base, o->sched, o->tokenizer, &opts, s->log, err);
    if (s->serve == NULL)
        return -1;
    if (decode)
        s->fetch = fetch_create(o->base, o->engine, o->sched, &fetch, s->log);
    return 0;
}

// ---- all of it --------------------------------------------------------------------

static void end(struct service *s)
{
    fetch_destroy(s->fetch);
    serve_destroy(s->serve);
    prefill_destroy(s->prefill);
    event_free(s->term);
    event_free(s->intr);
    log_destroy(s->log);
}

int service_run(const struct service_opts *o, struct err *err)
{
    struct service s = {.o = o};
    s.log = log_create(STDERR_FILENO, "muster-infer", LOG_LEVEL_INFO);
    s.term = evsignal_new(o->base, SIGTERM, on_signal, &s);
    s.intr = evsignal_new(o->base, SIGINT, on_signal, &s);
    event_add(s.term, NULL);
    event_add(s.intr, NULL);
    int rc =
        o->opts->role == OPTS_PREFILL ? begin_prefill(&s, err) : begin_serve(&s, err);
    if (rc == 0)
        lead_run(&(struct lead){.engine = o->engine,
                                .sched = o->sched,
                                .listener = {.arg = &s, .is_end = is_end, .tell = tell},
                                .base = o->base,
                                .stop = &s.stop,
                                .look = look,
                                .look_arg = &s});
    end(&s);
    return rc;
}
