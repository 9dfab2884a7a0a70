// Wrong words and elements, and how fast copies are.
#include "kernels/check/cpu_judge.h"

#include <stdlib.h>

#include "common/mem.h"
#include "kernels/check/physical.h"

enum { WRONG_SAID = 16 };

static void add(json_t *wrong, json_t *entry)
{
    if (json_array_size(wrong) < WRONG_SAID)
        json_array_append_new(wrong, entry);
    else
        json_decref(entry);
}

static void judge_words(struct finding *f, json_t *list, const struct core *c,
                        const char *what, const struct march_wrong *w)
{
    if (w->count == 0)
        return;
    finding_fail(f, "core %d: %s: %llu wrong words, the first at 0x%llx", c->number,
                 what, (unsigned long long)w->count, (unsigned long long)w->address);
    json_t *e =
        jsonpack("{s:i, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "core", c->number, "in",
                 what, "count", (json_int_t)w->count, "address",
                 finding_hex(w->address, 16), "expected", finding_hex(w->expected, 16),
                 "got", finding_hex(w->got, 16), "again", finding_hex(w->again, 16),
                 "differs", finding_hex(w->expected ^ w->got, 16));
    uint64_t physical = physical_address(w->address);
    if (w->pass > 0)
        json_object_set_new(e, "pass", json_integer(w->pass));
    if (physical != 0)
        json_object_set_new(e, "physical", finding_hex(physical, 16));
    add(list, e);
}

static void judge_product(struct finding *f, json_t *list, const struct core *c,
                          enum product_kind kind)
{
    const struct product_wrong *w = &c->product[kind];
    if (w->count == 0)
        return;
    finding_fail(f,
                 "core %d: %s product: %llu wrong elements, the first in row %u, "
                 "column %u",
                 c->number, product_name(kind), (unsigned long long)w->count, w->row,
                 w->column);
    CLEANUP_FREE char *expected = xasprintf("%.17g", w->expected);
    CLEANUP_FREE char *got = xasprintf("%.17g", w->got);
    add(list, jsonpack("{s:i, s:s, s:s, s:I, s:i, s:i, s:i, s:s, s:s}", "core",
                       c->number, "in", "product", "kind", product_name(kind), "count",
                       (json_int_t)w->count, "round", (int)c->rounds_done[kind], "row",
                       (int)w->row, "column", (int)w->column, "expected", expected,
                       "got", got));
}

static int by_rate(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// The slowest core, all of them, and the one in the middle.
static void judge_copies(struct finding *f, const struct cores *cores, double least)
{
    CLEANUP_FREE double *rates = xcalloc(cores->n, sizeof *rates);
    double sum = 0;
    for (size_t i = 0; i < cores->n; i++)
        sum += rates[i] = cores->v[i].copy_gb_s;
    qsort(rates, cores->n, sizeof *rates, by_rate);
    double median = rates[cores->n / 2];
    finding_set(
        f, "copy_gb_s",
        jsonpack("{s:f, s:f, s:f}", "least", rates[0], "median", median, "sum", sum));
    if (median < least)
        finding_fail(f, "copies run at %.2f GB/s a core, less than %s %.2f", median,
                     thresholds_name(THRESHOLD_CPU_COPY_MIN_GB_S), least);
}

void cpu_judge(const struct cores *cores, const struct thresholds *t, struct finding *f)
{
    json_t *wrong = json_array();
    double march = 0;
    bool whole = true;
    for (size_t i = 0; i < cores->n; i++) {
        const struct core *c = &cores->v[i];
        judge_words(f, wrong, c, "march", &c->march);
        judge_words(f, wrong, c, "copy", &c->copy);
        for (int k = 0; k < PRODUCT_KINDS; k++)
            judge_product(f, wrong, c, (enum product_kind)k);
        march += c->march_gb_s;
        if (c->unfinished[0] != '\0')
            finding_could_not_run(f,
                                  "the time was over in %s on core %d: give less "
                                  "--memory or a later --deadline",
                                  c->unfinished, c->number);
        whole = whole && c->unfinished[0] == '\0';
    }
    finding_set(f, "cores", json_integer((json_int_t)cores->n));
    finding_set(f, "memory_mib",
                json_real((double)(cores->slice * cores->at_once) / 1048576));
    finding_set(f, "rounds", json_integer((json_int_t)cores->v[0].rounds));
    finding_set(f, "seed", json_integer((json_int_t)cores->v[0].seed));
    if (whole) {
        double share = (double)cores->at_once / (double)cores->n; // of all at a time
        finding_set(f, "march_gb_s", json_real(march * share));
        judge_copies(f, cores, t->v[THRESHOLD_CPU_COPY_MIN_GB_S]);
    }
    if (json_array_size(wrong) > 0)
        finding_set(f, "wrong", wrong);
    else
        json_decref(wrong);
}
