// Pairs of members: the network between them, which is INSPECT's second half.
//
// When every member that was asked has its verdict, all that are fit are paired (pairing.h): one end of
// a pair gets an INSPECT with netcheck's serving end, at its own address and a port chosen
// here, the other one with the dialling end; a token that only these two are told keeps
// strangers out. Both inspections are over before the next step begins, so that no port stays
// taken. Who is at fault is not fit for ranks; a link at fault is told of, and shuts nobody
// out: which of its ends to go without is for people to say.
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/jsonpack.h"
#include "common/log.h"
#include "common/mem.h"
#include "launcher/job_internal.h"
#include "launcher/pairing.h"
#include "wire/msg.h"

enum {
    // Of an end; with NCCL, which takes seconds to begin, there is none.
    TIMEOUT_MAX_MS = 10000,
    DEADLINE_TENTHS = 8, // of that: netcheck's own
    TRANSFER_PART = 16,  // of that: one of its six transfers
    KILL_MS = 5000,      // an inspector's bound after SIGKILL
    MARGIN_MS = 15000,
    PORT_FIRST = 20000, // below the ephemeral range
    PORTS = 12000,
    TOKEN_BYTES = 16,
};

struct node {
    uint32_t member;
    uint32_t number; // of its INSPECT; 0: none is out
};

struct job_pairs {
    struct pairing *pairing; // NULL: none in this phase
    struct node *nodes;
    size_t n;
    bool under_way;
    enum pairing_state state; // that was told
    struct blames blames;     // when it is over
};

static const char *name_of(const struct job *j, size_t node)
{
    return j->group.v[j->pairs->nodes[node].member].member->name;
}

// ---- starting a pair --------------------------------------------------------------

static unsigned random_port(void)
{
    unsigned r = 0;
    while (getrandom(&r, sizeof r, 0) != sizeof r)
        continue;
    return PORT_FIRST + r % PORTS;
}

static char *make_token(void)
{
    unsigned char bytes[TOKEN_BYTES];
    BUF_AUTO text = BUF_INIT;
    while (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        continue;
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_printf(&text, "%02x", bytes[i]);
    return buf_steal_str(&text);
}

static uint32_t timeout_ms(const struct job *j)
{
    const struct check_opts *o = &j->opts->check;
    return o->timeout_ms < TIMEOUT_MAX_MS || o->nccl ? o->timeout_ms : TIMEOUT_MAX_MS;
}

static void make_argv(const struct job *j, const char *role, const char *where,
                      struct strv *argv)
{
    double deadline = timeout_ms(j) * DEADLINE_TENTHS / 1e4;
    strv_add(argv, "netcheck");
    strv_addf(argv, "--%s=%s", role, where);
    strv_addf(argv, "--deadline=%.3f", deadline);
    strv_addf(argv, "--transfer=%.3f", deadline / TRANSFER_PART);
    if (j->opts->check.nccl)
        strv_add(argv, "--over=nccl");
}

static void send_end(struct job *j, struct node *node, const char *role,
                     const char *where, const char *token)
{
    STRV_AUTO argv = STRV_INIT;
    CLEANUP_FREE char *secret = xasprintf("MUSTER_CHECK_TOKEN=%s", token);
    CLEANUP_FREE char *thresholds = check_opts_thresholds_env(&j->opts->check);
    char *env[] = {secret, thresholds};
    Muster__Check check = MUSTER__CHECK__INIT, *checks[] = {&check};
    Muster__Inspect m = MUSTER__INSPECT__INIT;
    make_argv(j, role, where, &argv);
    check.name = argv.v[0];
    check.argv = argv.v;
    check.n_argv = argv.n;
    m.number = node->number = job_inspect_number(j);
    m.checks = checks;
    m.n_checks = 1;
    m.timeout_ms = timeout_ms(j);
    m.member = j->roll->members[node->member].name;
    m.env = env;
    m.n_env = thresholds != NULL ? 2 : 1;
    job_send(j, FRAME_INSPECT, group_vertex_of(&j->group, node->member), &m.base);
}

static void start_pair(struct job *j, size_t serves, size_t dials)
{
    struct node *nodes = j->pairs->nodes;
    const char *address = j->group.v[nodes[serves].member].address;
    bool six = strchr(address, ':') != NULL;
    CLEANUP_FREE char *token = make_token();
    CLEANUP_FREE char *where =
        xasprintf("%s%s%s:%u", six ? "[" : "", address, six ? "]" : "", random_port());
    log_debug(j->conf.log, "pair: %s serves %s, %s dials", name_of(j, serves), where,
              name_of(j, dials));
    send_end(j, &nodes[serves], "serve", where, token);
    send_end(j, &nodes[dials], "to", where, token);
}

static void write_blame(struct job *j, const struct blame *b, const char *text)
{
    events_write(j->conf.events, "blamed",
                 jsonpack("{s:b, s:b, s:s, s:s, s:s}", "link", (int)b->link, "sure",
                          (int)b->sure, "a", name_of(j, b->a), "b", name_of(j, b->b),
                          "why", text));
}

static const char **names(const struct job *j)
{
    const char **v = xcalloc(j->pairs->n, sizeof *v);
    for (size_t i = 0; i < j->pairs->n; i++)
        v[i] = name_of(j, i);
    return v;
}

static void follow_blames(struct job *j)
{
    struct job_pairs *p = j->pairs;
    CLEANUP_FREE const char **name = names(j);
    pairing_judge(p->pairing, &p->blames);
    for (size_t i = 0; i < p->blames.n; i++) {
        const struct blame *b = &p->blames.v[i];
        CLEANUP_FREE char *text = blame_text(b, name);
        write_blame(j, b, text);
        if (!b->link) // the text without "NAME: "
            job_inspect_blamed(j, p->nodes[b->a].member, text + strlen(name[b->a]) + 2);
        else if (!j->opts->check.only)
            log_warn(j->conf.log, "%s", text);
    }
}

static void tell_state(struct job *j)
{
    enum pairing_state to = pairing_state(j->pairs->pairing);
    if (to != j->pairs->state)
        log_debug(j->conf.log, "pairs: %s -> %s", pairing_state_name(j->pairs->state),
                  pairing_state_name(to));
    j->pairs->state = to;
}

// Starts what can be started; the end, where nothing runs any more.
static void go_on(struct job *j)
{
    struct job_pairs *p = j->pairs;
    size_t serves, dials;
    bool any = false;
    if (j->state != JOB_INSPECT)
        return;
    tell_state(j);
    for (; pairing_take(p->pairing, &serves, &dials); any = true)
        start_pair(j, serves, dials);
    if (any)
        job_wait_begin(j);
    if (!p->under_way || pairing_state(p->pairing) != PAIRING_OVER)
        return;
    p->under_way = false;
    follow_blames(j);
    job_inspect_look(j);
}

// ---- the phase ----------------------------------------------------------------------

static void forget(struct job_pairs *p)
{
    pairing_destroy(STEAL(p->pairing));
    free(STEAL(p->nodes));
    blames_free(&p->blames);
    p->n = 0;
    p->under_way = false;
}

void job_pairs_reset(struct job *j)
{
    forget(j->pairs);
}

static size_t find_fit(const struct job *j, struct node *nodes)
{
    size_t n = 0;
    for (uint32_t i = 0; i < j->group.n; i++)
        if (job_inspect_may_pair(j, i))
            nodes[n++] = (struct node){.member = i};
    return n;
}

bool job_pairs_begin(struct job *j)
{
    struct job_pairs *p = j->pairs;
    if (p->pairing != NULL || !j->opts->check.pairs)
        return false;
    p->nodes = xcalloc(j->group.n, sizeof *p->nodes);
    p->n = find_fit(j, p->nodes);
    CLEANUP_FREE struct blame_node *nodes = xcalloc(p->n, sizeof *nodes);
    for (size_t i = 0; i < p->n; i++)
        nodes[i].rate = job_inspect_rate(j, p->nodes[i].member);
    p->pairing = pairing_create(nodes, p->n, &j->opts->check.thresholds);
    p->under_way = true;
    p->state = PAIRING_ROUNDS;
    log_debug(j->conf.log, "%zu members are paired", p->n);
    go_on(j);
    return true;
}

bool job_pairs_run(const struct job *j)
{
    return j->pairs->under_way;
}

uint32_t job_pairs_bound_ms(const struct job *j)
{
    return 2 * (timeout_ms(j) + KILL_MS) +
           MARGIN_MS; // twice: what was there ends first
}

static bool is_word(const struct finding *f, const char *word)
{
    const char *said = json_string_value(json_object_get(f->evidence, "outcome"));
    return said != NULL && strcmp(said, word) == 0;
}

static struct pairing_word word_of(const struct finding *f)
{
    struct pairing_word w = {.outcome = BLAME_NOT_RUN};
    if (is_word(f, "ok"))
        w.outcome = BLAME_OK;
    else if (is_word(f, "wrong"))
        w.outcome = BLAME_WRONG;
    else if (f->verdict == FINDING_FAIL) // it says so, or came to no end
        w.outcome = BLAME_HANGS;
    w.taken = json_is_true(json_object_get(f->evidence, "taken"));
    w.mb_s = json_number_value(json_object_get(f->evidence, "mb_s"));
    w.rtt_us = json_number_value(json_object_get(f->evidence, "rtt_us"));
    return w;
}

static struct node *node_of(const struct job *j, uint32_t member)
{
    for (size_t i = 0; j->pairs->under_way && i < j->pairs->n; i++)
        if (j->pairs->nodes[i].member == member)
            return &j->pairs->nodes[i];
    return NULL;
}

static void take_verdict(struct job *j, size_t node, const Muster__Verdict *m)
{
    struct finding f;
    if (m->n_ends > 0)
        finding_judge(m->ends[0], timeout_ms(j), &f);
    else
        finding_make(FINDING_COULD_NOT, "its verdict is empty", &f);
    struct pairing_word w = word_of(&f);
    log_debug(j->conf.log, "pair: %s: %s%s%s", name_of(j, node),
              finding_verdict_name(f.verdict), f.why[0] != '\0' ? ": " : "", f.why);
    pairing_said(j->pairs->pairing, node, &w);
    finding_free(&f);
}

bool job_pairs_verdict(struct job *j, uint32_t member, const Muster__Verdict *m)
{
    struct node *n = node_of(j, member);
    if (n == NULL || n->number == 0 || n->number != m->number)
        return false;
    n->number = 0;
    take_verdict(j, (size_t)(n - j->pairs->nodes), m);
    go_on(j);
    return true;
}

void job_pairs_lost(struct job *j, uint32_t member)
{
    struct node *n = node_of(j, member);
    if (n == NULL)
        return;
    n->number = 0;
    pairing_lost(j->pairs->pairing, (size_t)(n - j->pairs->nodes));
    go_on(j);
}

void job_pairs_over(struct job *j)
{
    static const struct pairing_word silent = {.outcome = BLAME_HANGS};
    struct job_pairs *p = j->pairs;
    for (size_t i = 0; i < p->n; i++)
        if (p->nodes[i].number != 0) {
            p->nodes[i].number = 0;
            pairing_said(p->pairing, i, &silent);
        }
    go_on(j);
}

void job_pairs_count(const struct job *j, size_t *over, size_t *all)
{
    pairing_count(j->pairs->pairing, over, all);
}

// ---- telling ---------------------------------------------------------------------------

static json_t *numbers(double v)
{
    return v > 0 ? json_real(v) : json_null();
}

// The blame that a pair stands for, or that of one of its ends; NULL: none.
static const struct blame *blame_of(const struct job_pairs *p,
                                    const struct blame_pair *pair)
{
    size_t a = pair->a < pair->b ? pair->a : pair->b;
    size_t b = pair->a < pair->b ? pair->b : pair->a;
    for (size_t i = 0; i < p->blames.n; i++) {
        const struct blame *x = &p->blames.v[i];
        if (x->link ? x->a == a && x->b == b : x->a == a || x->a == b)
            return x;
    }
    return NULL;
}

static char *why_of(const struct job *j, const struct blame_pair *pair,
                    const char **name)
{
    const struct blame *b = blame_of(j->pairs, pair);
    if (b != NULL)
        return blame_text(b, name);
    if (pair->outcome == BLAME_NOT_RUN && j->opts->check.nccl)
        return xstrdup(
            "one of the two was lost, or has no GPU, driver, NCCL or netcheck");
    if (pair->outcome == BLAME_NOT_RUN)
        return xstrdup("one of the two was lost, or could not run netcheck");
    return xstrdup("");
}

static json_t *report_pair(const struct job *j, const struct blame_pair *pair,
                           const char **name)
{
    CLEANUP_FREE char *why = why_of(j, pair, name);
    enum finding_verdict v = blame_of(j->pairs, pair) != NULL ? FINDING_FAIL
                             : pair->outcome == BLAME_NOT_RUN ? FINDING_COULD_NOT
                                                              : FINDING_PASS;
    return jsonpack("{s:s, s:s, s:s, s:s, s:o, s:o}", "a", name[pair->a], "b",
                    name[pair->b], "verdict", finding_verdict_name(v), "why", why,
                    "mb_s", numbers(pair->mb_s), "rtt_us", numbers(pair->rtt_us));
}

static json_t *report_blame(const struct job *j, const struct blame *b,
                            const char **name)
{
    CLEANUP_FREE char *text = blame_text(b, name);
    json_t *o =
        jsonpack("{s:s, s:b, s:s}", "a", name[b->a], "sure", (int)b->sure, "why", text);
    if (b->link)
        json_object_set_new(o, "b", jsonpack_text(name[b->b]));
    return o;
}

void job_pairs_report(const struct job *j, json_t *report)
{
    const struct job_pairs *p = j->pairs;
    json_t *pairs = json_array(), *blamed = json_array();
    CLEANUP_FREE const char **name = names(j);
    size_t n = 0;
    const struct blame_pair *v =
        p->pairing != NULL ? pairing_results(p->pairing, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(pairs, report_pair(j, &v[i], name));
    for (size_t i = 0; i < p->blames.n; i++)
        json_array_append_new(blamed, report_blame(j, &p->blames.v[i], name));
    json_object_set_new(report, "pairs", pairs);
    json_object_set_new(report, "blamed", blamed);
}

// ---- life --------------------------------------------------------------------------------

void job_pairs_create(struct job *j)
{
    j->pairs = xcalloc(1, sizeof *j->pairs);
}

void job_pairs_destroy(struct job *j)
{
    if (j->pairs == NULL)
        return;
    forget(j->pairs);
    free(STEAL(j->pairs));
}
