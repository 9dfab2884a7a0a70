// Numbers from the environment, or from options.
#include "kernels/infer/place.h"

#include <stdbool.h>
#include <stdlib.h>

enum { NUMBER_MAX = 1 << 20 };

// False: it is not set. -1 in *out: it is no number.
static bool from_env(char *(*getenv_fn)(const char *), const char *name, int *out)
{
    const char *text = getenv_fn(name);
    char *end;
    if (text == NULL || text[0] == '\0')
        return false;
    long n = strtol(text, &end, 10);
    *out = *end == '\0' && n >= 0 && n <= NUMBER_MAX ? (int)n : -1;
    return true;
}

static int read_axis(char *(*getenv_fn)(const char *), const char *rank_name,
                     const char *size_name, int *rank, int *size, struct err *err)
{
    if (!from_env(getenv_fn, size_name, size))
        *size = 1;
    if (!from_env(getenv_fn, rank_name, rank))
        *rank = 0;
    if (*size >= 1 && *rank >= 0 && *rank < *size)
        return 0;
    err_set(err, "%s and %s in the environment are no place on a grid", rank_name,
            size_name);
    return -1;
}

static int check_wish(const struct place_wish *wish, const struct place *p,
                      struct err *err)
{
    if ((wish->tp_size == 0 || wish->tp_size == p->tp_size) &&
        (wish->pp_size == 0 || wish->pp_size == p->pp_size))
        return 0;
    err_set(
        err,
        "--tp and --pp say something else than the grid that the ranks were started "
        "on (tp=%d,pp=%d): leave them out",
        p->tp_size, p->pp_size);
    return -1;
}

static int from_grid(int size, const struct place_wish *wish,
                     char *(*getenv_fn)(const char *), struct place *p, struct err *err)
{
    int dp, dp_size;
    if (read_axis(getenv_fn, "TP_RANK", "TP_SIZE", &p->tp, &p->tp_size, err) < 0 ||
        read_axis(getenv_fn, "PP_RANK", "PP_SIZE", &p->pp, &p->pp_size, err) < 0 ||
        read_axis(getenv_fn, "DP_RANK", "DP_SIZE", &dp, &dp_size, err) < 0)
        return -1;
    if (dp_size > 1) {
        err_set(
            err,
            "the grid has dp=%d: one job serves one copy of a model; start a job for "
            "each copy",
            dp_size);
        return -1;
    }
    if ((long long)p->tp_size * p->pp_size != size) {
        err_set(err, "the grid tp=%d,pp=%d has %lld ranks, but there are %d",
                p->tp_size, p->pp_size, (long long)p->tp_size * p->pp_size, size);
        return -1;
    }
    return check_wish(wish, p, err);
}

int place_find(int rank, int size, const struct place_wish *wish,
               char *(*getenv_fn)(const char *name), struct place *out, struct err *err)
{
    int unused;
    if (from_env(getenv_fn, "TP_SIZE", &unused) ||
        from_env(getenv_fn, "PP_SIZE", &unused))
        return from_grid(size, wish, getenv_fn, out, err);
    int pp = wish->pp_size > 0   ? wish->pp_size
             : wish->tp_size > 0 ? size / wish->tp_size
                                 : 1;
    int tp = wish->tp_size > 0 ? wish->tp_size : pp > 0 ? size / pp : 0;
    if ((long long)tp * pp != size) {
        err_set(err,
                "%d ranks do not make a grid of --tp %d and --pp %d: start as many as "
                "the product",
                size, wish->tp_size, wish->pp_size);
        return -1;
    }
    *out =
        (struct place){.tp = rank % tp, .pp = rank / tp, .tp_size = tp, .pp_size = pp};
    return 0;
}

struct place_range place_part(size_t n, int parts, int i)
{
    size_t at = n * (size_t)i / (size_t)parts;
    return (struct place_range){.at = at,
                                .n = n * ((size_t)i + 1) / (size_t)parts - at};
}

size_t place_part_most(size_t n, int parts)
{
    return (n + (size_t)parts - 1) / (size_t)parts;
}

// What the slowest stage has to do when the last one has k of n layers.
static double slowest(size_t n, double extra, int stages, size_t k)
{
    double others = (double)place_part_most(n - k, stages - 1),
           last = (double)k + extra;
    return others > last ? others : last;
}

struct place_range place_stage(size_t n, double extra, int stages, int i)
{
    size_t most = n + 1 - (size_t)stages, last = most;
    if (stages == 1)
        return (struct place_range){0, n};
    for (size_t k = most; k > 0; k--)
        if (slowest(n, extra, stages, k) < slowest(n, extra, stages, last))
            last = k;
    if (i == stages - 1)
        return (struct place_range){n - last, last};
    return place_part(n - last, stages - 1, i);
}
