// From a check's end and its JSON to a verdict.
#include "launcher/finding.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/mem.h"
#include "common/proc.h"
#include "launcher/oneline.h"

enum { WHY_MAX = 500, NAME_MAX_BYTES = 64 };

const char *finding_verdict_name(enum finding_verdict v)
{
    static const char *const names[FINDING_VERDICTS] = {"not-here", "pass",
                                                        "could-not-run", "fail"};
    return names[v];
}

static void set(struct finding *f, enum finding_verdict v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void set(struct finding *f, enum finding_verdict v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    free(f->why);
    f->verdict = v;
    f->why = oneline(text, WHY_MAX);
}

// ---- how it ended ---------------------------------------------------------------

static bool is_of_hardware(int signo)
{
    return signo == SIGBUS || signo == SIGSEGV || signo == SIGILL || signo == SIGFPE;
}

// True: that says it all.
static bool judge_end(const Muster__CheckEnd *end, uint32_t timeout_ms,
                      struct finding *f)
{
    CLEANUP_FREE char *how = proc_status_text(end->status);
    if (end->error[0] != '\0')
        set(f, FINDING_COULD_NOT, "%s", end->error);
    else if (end->n_leftovers > 0)
        set(f, FINDING_FAIL, "process %s of it outlived SIGKILL", end->leftovers[0]);
    else if (end->late)
        set(f, FINDING_FAIL, "it did not end within %g s (--check-timeout)",
            timeout_ms / 1e3);
    else if (WIFSIGNALED(end->status))
        set(f, is_of_hardware(WTERMSIG(end->status)) ? FINDING_FAIL : FINDING_COULD_NOT,
            "it was ended by %s", how);
    else
        return false;
    return true;
}

// ---- what it said -----------------------------------------------------------------

// The last line of stderr is often why.
static char *last_words(const Muster__CheckEnd *end)
{
    CLEANUP_FREE char *words = xstrdup(end->words);
    size_t n = strlen(words);
    while (n > 0 && strchr(" \t\r\n", words[n - 1]) != NULL)
        words[--n] = '\0';
    const char *last = strrchr(words, '\n');
    return xstrdup(last != NULL ? last + 1 : words);
}

static void set_garbage(struct finding *f, const Muster__CheckEnd *end,
                        const char *what)
{
    CLEANUP_FREE char *how = proc_status_text(end->status);
    CLEANUP_FREE char *words = last_words(end);
    set(f, FINDING_COULD_NOT, "%s (%s)%s%s", what, how, words[0] != '\0' ? ": " : "",
        words);
}

static bool read_verdict(const json_t *o, enum finding_verdict *v)
{
    const char *text = json_string_value(json_object_get(o, "verdict"));
    for (int i = 0; text != NULL && i < FINDING_VERDICTS; i++)
        if (strcmp(text, finding_verdict_name((enum finding_verdict)i)) == 0) {
            *v = (enum finding_verdict)i;
            return true;
        }
    return false;
}

static int code_of(enum finding_verdict v)
{
    static const int codes[FINDING_VERDICTS] = {[FINDING_PASS] = 0,
                                                [FINDING_FAIL] = 1,
                                                [FINDING_COULD_NOT] = 2,
                                                [FINDING_NOT_HERE] = 3};
    return codes[v];
}

static void take_name(struct finding *f, const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "check"));
    if (name == NULL || name[0] == '\0')
        return;
    free(f->check);
    f->check = oneline(name, NAME_MAX_BYTES);
}

static void take_rest(struct finding *f, json_t *o)
{
    static const char *const known[] = {"check", "verdict", "why", "seconds"};
    const json_t *seconds = json_object_get(o, "seconds");
    double s = json_number_value(seconds);
    if (json_is_number(seconds) && isfinite(s) && s >= 0)
        f->seconds = s;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        json_object_del(o, known[i]);
    json_decref(f->evidence);
    f->evidence = json_incref(o);
}

static void judge_object(const Muster__CheckEnd *end, json_t *o, struct finding *f)
{
    enum finding_verdict v;
    const char *why = json_string_value(json_object_get(o, "why"));
    if (!json_is_string(json_object_get(o, "check")) || !read_verdict(o, &v)) {
        set_garbage(f, end,
                    "its JSON has no `check`, or no `verdict` that is pass, "
                    "fail, could-not-run or not-here");
        return;
    }
    take_name(f, o);
    if (WEXITSTATUS(end->status) != code_of(v)) {
        CLEANUP_FREE char *what =
            xasprintf("its verdict is %s, which goes with exit code %d",
                      finding_verdict_name(v), code_of(v));
        set_garbage(f, end, what);
    } else {
        set(f, v, "%s", why != NULL ? why : "");
    }
    take_rest(f, o);
}

static void judge_output(const Muster__CheckEnd *end, struct finding *f)
{
    json_t *o = end->cut ? NULL
                         : json_loadb((const char *)end->output.data, end->output.len,
                                      JSON_REJECT_DUPLICATES, NULL);
    if (end->cut)
        set_garbage(f, end, "it printed more than one JSON object needs");
    else if (!json_is_object(o))
        set_garbage(f, end, "it did not print one JSON object");
    else
        judge_object(end, o, f);
    json_decref(o);
}

static void begin(struct finding *f, const char *check, double seconds)
{
    *f = (struct finding){.check = oneline(check, NAME_MAX_BYTES),
                          .why = xstrdup(""),
                          .seconds = seconds,
                          .evidence = json_object()};
}

void finding_judge(const Muster__CheckEnd *end, uint32_t timeout_ms, struct finding *f)
{
    begin(f, end->name, end->took_ms / 1e3);
    if (!judge_end(end, timeout_ms, f))
        judge_output(end, f);
}

void finding_make(enum finding_verdict v, const char *why, struct finding *f)
{
    begin(f, "", 0);
    set(f, v, "%s", why);
}

void finding_free(struct finding *f)
{
    free(f->check);
    free(f->why);
    json_decref(f->evidence);
    *f = (struct finding){0};
}

enum finding_verdict finding_sum(const struct finding *v, size_t n,
                                 const struct finding **worst)
{
    *worst = NULL;
    for (size_t i = 0; i < n; i++)
        if (*worst == NULL || v[i].verdict > (*worst)->verdict)
            *worst = &v[i];
    return *worst != NULL && (*worst)->verdict != FINDING_NOT_HERE ? (*worst)->verdict
                                                                   : FINDING_COULD_NOT;
}

char *finding_text(const struct finding *f)
{
    return xasprintf("%s%s%s%s", f->check[0] != '\0' ? "check " : "inspection",
                     f->check, f->why[0] != '\0' ? ": " : "", f->why);
}
