// Wrong words, slow ways, and the outcome.
#include "kernels/check/net_judge.h"

#include <string.h>

struct times {
    double sent_mb_s, received_mb_s, rtt_us;
};

static void judge_times(struct finding *f, const struct times *is,
                        const struct thresholds *t)
{
    double out = is->sent_mb_s, in = is->received_mb_s;
    double mb_s = out < in ? out : in;
    finding_set(f, "mb_s", json_real(mb_s));
    finding_set(f, "sent_mb_s", json_real(out));
    finding_set(f, "received_mb_s", json_real(in));
    finding_set(f, "rtt_us", json_real(is->rtt_us));
    if (mb_s < t->v[THRESHOLD_NET_MIN_MB_S])
        finding_fail(f, "%.4g MB/s are less than %s %.4g", mb_s,
                     thresholds_name(THRESHOLD_NET_MIN_MB_S),
                     t->v[THRESHOLD_NET_MIN_MB_S]);
    if (is->rtt_us > t->v[THRESHOLD_NET_MAX_RTT_US])
        finding_fail(f, "a round trip takes %.4g us, more than %s %.4g", is->rtt_us,
                     thresholds_name(THRESHOLD_NET_MAX_RTT_US),
                     t->v[THRESHOLD_NET_MAX_RTT_US]);
}

// The place of the first one is the caller's to add.
static json_t *evidence(struct finding *f, const char *in, const struct net_got *g)
{
    json_t *wrong = jsonpack(
        "{s:s, s:I, s:o, s:o, s:o}", "in", in, "count", (json_int_t)g->wrong,
        "expected", finding_hex(g->expected, 16), "got", finding_hex(g->got, 16),
        "differs", finding_hex(g->expected ^ g->got, 16));
    finding_set(f, "wrong", wrong);
    return wrong;
}

// ---- TCP --------------------------------------------------------------------------

static void judge_bytes(struct finding *f, const char *way, const struct net_got *g)
{
    if (g->wrong == 0)
        return;
    finding_fail(f, "%llu wrong words in what was %s, the first at byte %llu",
                 (unsigned long long)g->wrong, way, (unsigned long long)g->offset);
    json_object_set_new(evidence(f, way, g), "offset",
                        json_integer((json_int_t)g->offset));
}

void net_judge_tcp(struct finding *f, const struct net_pair *p, const struct err *err,
                   const struct thresholds *t)
{
    const struct times is = {net_got_mb_s(&p->sent), net_got_mb_s(&p->received),
                             p->rtt_us};
    finding_set(f, "rounds", json_integer(p->rounds));
    judge_bytes(f, "sent", &p->sent);
    judge_bytes(f, "received", &p->received);
    if (err->text == NULL)
        judge_times(f, &is, t);
}

// ---- NCCL -------------------------------------------------------------------------

static void judge_elements(struct finding *f, const struct net_nccl *p, const char *in,
                           const struct net_nccl_got *g)
{
    unsigned gpu = 0;
    unsigned long long element = g->got.offset / sizeof(uint64_t);
    if (g->got.wrong == 0)
        return;
    bool here = net_nccl_own(p, g->rank, &gpu);
    if (!here)
        gpu = p->dials ? g->rank : g->rank - net_gpus_count(p->gpus);
    const char *bus_id = here ? net_gpus_bus_id(p->gpus, gpu) : "";
    finding_fail(
        f,
        "NCCL, %s: %llu wrong elements in the buffer of rank %u, GPU %u %s%s%s; "
        "the first is element %llu",
        in, (unsigned long long)g->got.wrong, g->rank, gpu,
        here ? "here (" : "of the other end", bus_id, here ? ")" : "", element);
    json_t *wrong = evidence(f, in, &g->got);
    json_object_set_new(wrong, "rank", json_integer(g->rank));
    json_object_set_new(wrong, "gpu", json_integer(gpu));
    json_object_set_new(wrong, "end", jsonpack_text(here ? "here" : "there"));
    json_object_set_new(wrong, "element", json_integer((json_int_t)element));
    if (here)
        json_object_set_new(wrong, "bus_id", jsonpack_text(bus_id));
}

void net_judge_nccl(struct finding *f, const struct net_nccl *p, const struct err *err,
                    const struct thresholds *t)
{
    static const char *const names[] = {"sent", "received", "sum"};
    const struct net_nccl_got *best = p->best;
    const struct times is = {net_got_mb_s(&best[NET_NCCL_SENT].got),
                             net_got_mb_s(&best[NET_NCCL_RECEIVED].got), p->rtt_us};
    unsigned own = net_gpus_count(p->gpus);
    finding_set(f, "rounds", json_integer(p->rounds));
    finding_set(f, "gpus", json_integer(own));
    finding_set(f, "ranks", json_integer(own + p->others));
    for (int k = 0; k < NET_NCCL_KINDS; k++)
        judge_elements(f, p, names[k], &best[k]);
    if (err->text != NULL)
        return;
    finding_set(f, "sum_mb_s", json_real(net_got_mb_s(&best[NET_NCCL_SUM].got)));
    judge_times(f, &is, t);
}

// ---- the outcome ------------------------------------------------------------------

void net_judge_outcome(struct finding *f, const struct err *err)
{
    bool wrong = json_object_get(f->evidence, "wrong") != NULL ||
                 (err->kind != NULL && strcmp(err->kind, "WRONG") == 0);
    if (err->text != NULL && err->code == FINDING_FAIL)
        finding_fail(f, "%s", err_text(err));
    else if (err->text != NULL)
        finding_could_not_run(f, "%s", err_text(err));
    const char *word = wrong                                 ? "wrong"
                       : f->verdict == FINDING_COULD_NOT_RUN ? "not-run"
                       : err->text != NULL                   ? "hangs"
                                                             : "ok";
    finding_set(f, "outcome", jsonpack_text(word));
    if (err->kind != NULL && strcmp(err->kind, "TAKEN") == 0)
        finding_set(f, "taken", json_true());
}
