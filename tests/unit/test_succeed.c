// Who follows whom: what becomes of each kind of list, and random lists against a model.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hostfile/hostname.h"
#include "hostfile/succeed.h"

enum { MOST = 24 };

// A job's members as text: "NAME=ADDRESS", '+' in front: its agent is attached; '?': open.
struct job {
    char name[MOST][32], address[MOST][48];
    struct succeed_member v[MOST];
    size_t n;
};

static void job_add(struct job *j, const char *name, const char *address, bool live)
{
    cr_assert_lt(j->n, (size_t)MOST);
    snprintf(j->name[j->n], sizeof j->name[0], "%s", name);
    snprintf(j->address[j->n], sizeof j->address[0], "%s", address);
    j->v[j->n] = (struct succeed_member){
        .name = j->name[j->n], .address = j->address[j->n], .live = live};
    j->n++;
}

// "NAME=ADDRESS" or "ADDRESS", separated by blanks; "NAME=": no address.
static const char *next_word(const char **text, char *name, char *address)
{
    char word[80];
    int used = 0;
    if (sscanf(*text, " %79s%n", word, &used) != 1)
        return NULL;
    *text += used;
    char *sign = strchr(word, '=');
    if (sign != NULL)
        *sign = '\0';
    snprintf(name, 32, "%.31s", word);
    snprintf(address, 48, "%.47s", sign != NULL ? sign + 1 : word);
    return name;
}

static void job_parse(struct job *j, const char *text)
{
    char name[32], address[48];
    *j = (struct job){0};
    while (next_word(&text, name, address) != NULL) {
        bool live = name[0] == '+', open = name[0] == '?';
        job_add(j, name + (live || open),
                strchr(address, '+') == address ? address + 1 : address, live);
        j->v[j->n - 1].open = open;
    }
}

static void list_add(struct members *m, const char *name, const char *address)
{
    struct member *one = members_add(m, name, strlen(name));
    hostname_literal(address, strlen(address), &one->addr);
}

static void list_parse(struct members *m, const char *text)
{
    char name[32], address[48];
    while (next_word(&text, name, address) != NULL)
        list_add(m, name, address);
}

static void job_apply(struct job *j, const struct succeed *s)
{
    for (size_t c = 0; c < s->nchanges; c++) {
        const struct succeed_change *x = &s->changes[c];
        if (x->name != j->name[x->member])
            snprintf(j->name[x->member], sizeof j->name[0], "%s", x->name);
        snprintf(j->address[x->member], sizeof j->address[0], "%s", x->address);
        j->v[x->member].port = x->port;
        j->v[x->member].live = x->live && x->cause != SUCCEED_MOVED;
    }
}

// "0 filled 10.0.0.9=10.0.0.9, extra 3, extra 4 after 1"
static void describe(const struct succeed *s, char *out, size_t size)
{
    FILE *f = fmemopen(out, size, "w");
    for (size_t c = 0; c < s->nchanges; c++)
        fprintf(f, "%s%zu %s%s %s=%s", c > 0 ? ", " : "", s->changes[c].member,
                succeed_cause_name(s->changes[c].cause),
                s->changes[c].live ? " (live)" : "", s->changes[c].name,
                s->changes[c].address);
    for (size_t k = 0; k < s->nextras; k++) {
        fprintf(f, "%sextra %zu", k + s->nchanges > 0 ? ", " : "", s->extras[k].entry);
        if (s->extras[k].after >= 0)
            fprintf(f, " after %ld", s->extras[k].after);
    }
    fputc('\0', f);
    fclose(f);
}

static const struct {
    const char *name, *members, *list, *gives;
    size_t warnings;
} tables[] = {
    {"the same list", "+a=10.0.0.1 +10.0.0.2", "a=10.0.0.1 10.0.0.2", "", 0},
    {"another order", "+a=10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.3 10.0.0.2 a=10.0.0.1",
     "", 0},
    {"case and IPv4 in IPv6 do not matter", "Pod-A=10.0.0.1 10.0.0.2",
     "pod-a=10.0.0.1 ::ffff:10.0.0.2", "", 0},
    {"fewer entries", "a=10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.3", "", 0},
    {"a name moves", "a=10.0.0.1 b=10.0.0.2", "a=10.0.0.9 b=10.0.0.2",
     "0 moved a=10.0.0.9", 0},
    {"a name moves while its agent is attached", "+a=10.0.0.1", "a=10.0.0.9",
     "0 moved (live) a=10.0.0.9", 0},
    {"a name gets its first address", "a=", "a=10.0.0.1", "0 moved a=10.0.0.1", 0},
    {"a name without address keeps what it had", "a=10.0.0.1", "a=", "", 0},
    {"names change places", "a=10.0.0.1 b=10.0.0.2", "a=10.0.0.2 b=10.0.0.1",
     "0 moved a=10.0.0.2, 1 moved b=10.0.0.1", 0},
    {"one new address, one vacant place", "+10.0.0.1 10.0.0.2 +10.0.0.3",
     "10.0.0.1 10.0.0.9 10.0.0.3", "1 filled 10.0.0.9=10.0.0.9", 0},
    {"several fill in the order of the file", "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4",
     "10.0.0.9 10.0.0.2 10.0.0.8 10.0.0.4",
     "0 filled 10.0.0.9=10.0.0.9, 2 filled 10.0.0.8=10.0.0.8", 0},
    {"the vacant place is filled wherever the address stands",
     "10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.3 10.0.0.1 10.0.0.9",
     "1 filled 10.0.0.9=10.0.0.9", 0},
    {"more than vacant: spares", "10.0.0.1 10.0.0.2", "10.0.0.9 10.0.0.1 10.0.0.8 c=",
     "1 filled 10.0.0.9=10.0.0.9, extra 2, extra 3", 0},
    {"appended", "+a=10.0.0.1", "a=10.0.0.1 b=10.0.0.2 10.0.0.3", "extra 1, extra 2",
     0},
    {"who was left out is still attached", "10.0.0.1 +10.0.0.2 +10.0.0.3",
     "10.0.0.9 10.0.0.8 10.0.0.2 10.0.0.7",
     "0 filled 10.0.0.9=10.0.0.9, extra 1 after 2, extra 3", 0},
    {"a name is never followed by a guess", "a=10.0.0.1 b=10.0.0.2",
     "a=10.0.0.1 c=10.0.0.3", "extra 1", 0},
    {"a new name fills the place of an address", "10.0.0.1", "c=10.0.0.3",
     "0 filled c=10.0.0.3", 0},
    {"names that are made of addresses", "+10-0-0-1.t=10.0.0.1 10-0-0-2.t=10.0.0.2",
     "10-0-0-1.t=10.0.0.1 10-0-0-9.t=10.0.0.9", "1 filled 10-0-0-9.t=10.0.0.9", 0},
    {"the same in IPv6, and nothing is new", "+fd00--1.t=fd00::1 fd00--2.t=fd00::2",
     "fd00--2.t=fd00::2 fd00--1.t=fd00::1", "", 0},
    {"nobody has met it, and it is listed no longer",
     "+a=10.0.0.1 ?b=10.0.0.2 ?c=10.0.0.3", "a=10.0.0.1 d=10.0.0.4 c=10.0.0.3",
     "1 filled d=10.0.0.4", 0},
    {"an address gets a name", "+10.0.0.1 10.0.0.2", "a=10.0.0.1 b=10.0.0.2",
     "0 named (live) a=10.0.0.1, 1 named b=10.0.0.2", 0},
    {"a name becomes an address, or another name", "a=10.0.0.1 +b=10.0.0.2",
     "10.0.0.1 b.ns=10.0.0.2", "", 0},
    {"a name twice", "a=10.0.0.1", "a=10.0.0.1 a=10.0.0.9 A=10.0.0.8", "", 2},
    {"an address twice", "10.0.0.1 10.0.0.2", "10.0.0.9 ::ffff:10.0.0.9 10.0.0.2",
     "0 filled 10.0.0.9=10.0.0.9", 1},
    {"the same, the other name first", "a=10.0.0.1 b=10.0.0.2 10.0.0.3",
     "b=10.0.0.1 a=10.0.0.1 b.ns=10.0.0.3 a.ns=10.0.0.3", "2 named b.ns=10.0.0.3", 2},
    {"an address under its own and another name", "a=10.0.0.1 b=10.0.0.2",
     "a=10.0.0.1 b=10.0.0.1", "", 1},
    {"the address of an attached member", "a=10.0.0.1 +b=10.0.0.2",
     "a=10.0.0.2 b=10.0.0.2", "", 1},
    {"the address of an attached member that moves", "a=10.0.0.1 +b=10.0.0.2",
     "a=10.0.0.2 b=10.0.0.3", "1 moved (live) b=10.0.0.3", 1},
    {"the address of an attached member, listed by a new name too", "+b=10.0.0.2",
     "c=10.0.0.2 b=10.0.0.2", "", 1},
    {"the address of a lost member is reused", "a=10.0.0.1 b=10.0.0.2 10.0.0.3",
     "a=10.0.0.2 b=", "0 moved a=10.0.0.2, 1 robbed b=", 0},
    {"the address of a vacant place is reused", "a=10.0.0.1 10.0.0.3",
     "a=10.0.0.3 10.0.0.9", "0 moved a=10.0.0.3, 1 filled 10.0.0.9=10.0.0.9", 0},
    {"the same, and nothing follows", "a=10.0.0.1 10.0.0.3", "a=10.0.0.3",
     "0 moved a=10.0.0.3, 1 robbed 10.0.0.3=", 0},
    {"an empty list", "a=10.0.0.1 +10.0.0.3", "", "", 0},
    {"an empty job", "", "a=10.0.0.1", "extra 0", 0},
};

Test(succeed, tables)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        MEMBERS_AUTO list = MEMBERS_INIT;
        SUCCEED_AUTO s = {0};
        struct job job;
        char got[512];
        job_parse(&job, tables[t].members);
        list_parse(&list, tables[t].list);
        succeed_plan(job.v, job.n, &list, &s);
        describe(&s, got, sizeof got);
        cr_assert_str_eq(got, tables[t].gives, "%s: %s", tables[t].name, got);
        cr_assert_eq(s.warnings.n, tables[t].warnings, "%s: %zu warnings",
                     tables[t].name, s.warnings.n);
    }
}

Test(succeed, ports_tell_agents_of_one_address_apart)
{
    MEMBERS_AUTO list = MEMBERS_INIT;
    SUCCEED_AUTO s = {0};
    struct job job;
    char got[512];
    job_parse(&job, "+a=10.0.0.1 b=10.0.0.1");
    job.v[1].port = 7000;
    list_parse(&list, "a=10.0.0.1 b=10.0.0.1");
    list.v[0].port = MEMBERS_DEFAULT_PORT; // what no port means
    list.v[1].port = 7001;
    succeed_plan(job.v, job.n, &list, &s);
    describe(&s, got, sizeof got);
    cr_assert_str_eq(got, "1 moved b=10.0.0.1");
    cr_assert_eq(s.changes[0].port, 7001);
}

Test(succeed, texts_name_both_sides)
{
    MEMBERS_AUTO list = MEMBERS_INIT;
    SUCCEED_AUTO s = {0};
    struct job job;
    job_parse(&job, "a=10.0.0.1 +b=10.0.0.2");
    list_parse(&list, "a=10.0.0.2 c=10.0.0.3 d=10.0.0.3");
    succeed_plan(job.v, job.n, &list, &s);
    cr_assert_eq(s.warnings.n, 2);
    cr_assert_str_eq(s.warnings.v[0],
                     "a at 10.0.0.2 is passed over: b has its agent there");
    cr_assert_str_eq(s.warnings.v[1],
                     "d at 10.0.0.3 is passed over: c is listed there");
}

// ---- random lists against a slow model ---------------------------------------------------

// What the header's table says, by plain loops. at[i] and name[i] are afterwards.
struct model {
    long entry[MOST];
    const char *name[MOST];
    char at[MOST][48];
    long extra[MOST], after[MOST];
    size_t nextras;
};

static const char *address_of(const struct members *list, size_t k)
{
    static char text[48]; // until the next call
    members_address(&list->v[k], text, sizeof text);
    return text;
}

static bool is_address(const char *s)
{
    return strspn(s, "0123456789.") == strlen(s);
}

// The member that an entry names.
static long named(const struct job *j, const struct members *list, size_t k)
{
    for (size_t i = 0; i < j->n; i++)
        if (!is_address(j->name[i]) && strcmp(j->name[i], list->v[k].name) == 0)
            return (long)i;
    return -1;
}

static bool is_listed(const struct job *j, const struct members *list, size_t i)
{
    for (size_t k = 0; k < list->n; k++)
        if (named(j, list, k) == (long)i)
            return true;
    return false;
}

static bool name_again(const struct members *list, size_t k)
{
    for (size_t j = 0; j < k; j++)
        if (strcmp(list->v[j].name, list->v[k].name) == 0)
            return true;
    return false;
}

enum fate { OPEN, OUT, OWN, STANDS, NEW };

// Has an entry whose fate is known this address?
static bool is_claimed(const struct members *list, const enum fate *fate,
                       const char *at)
{
    for (size_t k = 0; k < list->n; k++)
        if (fate[k] > OUT && strcmp(address_of(list, k), at) == 0)
            return true;
    return false;
}

static long holder_of(const struct job *j, const char *at)
{
    for (size_t i = 0; i < j->n; i++)
        if (strcmp(j->address[i], at) == 0)
            return (long)i;
    return -1;
}

// First what stays where it is, then what is new.
static enum fate fate_of(const struct job *j, const struct members *list, size_t k,
                         const enum fate *fate, bool first, long *who)
{
    char at[48];
    strcpy(at, address_of(list, k));
    long holder = at[0] != '\0' ? holder_of(j, at) : -1;
    *who = named(j, list, k);
    if (name_again(list, k))
        return OUT;
    bool stays = *who >= 0 && *who == holder;
    bool stands = *who < 0 && holder >= 0 && !is_listed(j, list, (size_t)holder);
    if (first && !stays && !stands)
        return OPEN;
    if (at[0] != '\0' && is_claimed(list, fate, at))
        return OUT;
    if (stands)
        *who = holder;
    else if (holder >= 0 && j->v[holder].live && !stays)
        return OUT;
    return stands ? STANDS : *who >= 0 ? OWN : NEW;
}

static void model_fill(const struct job *j, const struct members *list,
                       const enum fate *fate, struct model *m)
{
    size_t vacant = 0, waiting = 0;
    for (size_t k = 0; k < list->n; k++) {
        if (fate[k] != NEW)
            continue;
        bool placed = address_of(list, k)[0] != '\0';
        while (vacant < j->n && (j->v[vacant].live || m->entry[vacant] >= 0 ||
                                 !is_address(j->name[vacant])))
            vacant++;
        if (placed && vacant < j->n) {
            m->entry[vacant] = (long)k;
            m->name[vacant] = list->v[k].name;
            strcpy(m->at[vacant], address_of(list, k));
            continue;
        }
        while (waiting < j->n && (!j->v[waiting].live || m->entry[waiting] >= 0 ||
                                  !is_address(j->name[waiting])))
            waiting++;
        m->extra[m->nextras] = (long)k;
        m->after[m->nextras++] = placed && waiting < j->n ? (long)waiting++ : -1;
    }
}

static void model_run(const struct job *j, const struct members *list, struct model *m)
{
    enum fate fate[MOST] = {OPEN};
    long who[MOST];
    m->nextras = 0;
    for (size_t i = 0; i < j->n; i++) {
        m->entry[i] = -1;
        m->name[i] = j->name[i];
        strcpy(m->at[i], j->address[i]);
        for (size_t k = list->n; k-- > 0 && !is_address(j->name[i]);)
            m->entry[i] = named(j, list, k) == (long)i ? (long)k : m->entry[i];
    }
    for (size_t k = 0; k < 2 * list->n; k++)
        if (fate[k % list->n] == OPEN)
            fate[k % list->n] =
                fate_of(j, list, k % list->n, fate, k < list->n, &who[k % list->n]);
    for (size_t k = 0; k < list->n; k++) {
        if (fate[k] == STANDS) {
            m->entry[who[k]] = (long)k;
            if (is_address(j->name[who[k]]))
                m->name[who[k]] = list->v[k].name;
        }
        if (fate[k] == OWN && address_of(list, k)[0] != '\0')
            strcpy(m->at[who[k]], address_of(list, k));
    }
    model_fill(j, list, fate, m);
    // Who stays where another one is now.
    for (size_t i = 0; i < j->n; i++)
        for (size_t k = 0; k < list->n; k++)
            if (fate[k] != OUT && m->entry[i] != (long)k && !j->v[i].live &&
                strcmp(m->at[i], j->address[i]) == 0 &&
                strcmp(address_of(list, k), m->at[i]) == 0)
                m->at[i][0] = '\0';
}

static unsigned below(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245U + 12345U;
    return (*seed >> 16) % n;
}

static void random_list(unsigned *seed, struct members *list)
{
    for (unsigned k = below(seed, 9); k > 0; k--) {
        char name[32], address[48];
        snprintf(address, sizeof address, "10.0.0.%u", below(seed, 9) + 1);
        if (below(seed, 2) == 0)
            snprintf(name, sizeof name, "%c", (char)('a' + below(seed, 5)));
        else
            strcpy(name, address);
        list_add(list, name, below(seed, 8) == 0 && !is_address(name) ? "" : address);
    }
}

static void check_against(const struct job *now, const struct model *m,
                          const struct succeed *s, unsigned round)
{
    for (size_t i = 0; i < now->n; i++) {
        cr_assert_str_eq(now->address[i], m->at[i], "round %u: member %zu", round, i);
        cr_assert_eq(s->entry[i], m->entry[i], "round %u: member %zu", round, i);
    }
    cr_assert_eq(s->nextras, m->nextras, "round %u", round);
    for (size_t k = 0; k < m->nextras; k++) {
        cr_assert_eq(s->extras[k].entry, (size_t)m->extra[k], "round %u", round);
        cr_assert_eq(s->extras[k].after, m->after[k], "round %u", round);
    }
}

static void check_job(const struct job *before, const struct job *now,
                      const struct succeed *s, unsigned round)
{
    for (size_t i = 0; i < now->n; i++) {
        for (size_t k = 0; k < i; k++)
            cr_assert(now->address[i][0] == '\0' ||
                          strcmp(now->address[i], now->address[k]) != 0,
                      "round %u: %zu and %zu are both at %s", round, i, k,
                      now->address[i]);
        if (!is_address(before->name[i]))
            cr_assert_str_eq(now->name[i], before->name[i], "round %u", round);
    }
    for (size_t c = 0; c < s->nchanges; c++)
        cr_assert(!s->changes[c].live || s->changes[c].cause == SUCCEED_MOVED ||
                      s->changes[c].cause == SUCCEED_NAMED,
                  "round %u", round);
}

static void apply_twice(struct job *job, const struct members *list, unsigned round)
{
    SUCCEED_AUTO s = {0};
    SUCCEED_AUTO again = {0};
    struct job before = *job;
    static struct model m;
    for (size_t i = 0; i < job->n; i++) {
        before.v[i].name = before.name[i];
        before.v[i].address = before.address[i];
    }
    succeed_plan(job->v, job->n, list, &s);
    model_run(&before, list, &m);
    job_apply(job, &s);
    check_against(job, &m, &s, round);
    check_job(&before, job, &s, round);
    for (size_t k = 0; k < s.nextras && job->n < MOST; k++)
        if (s.extras[k].after < 0)
            job_add(job, list->v[s.extras[k].entry].name,
                    address_of(list, s.extras[k].entry), false);
    for (size_t c = 0; c < s.nchanges; c++)
        if (s.changes[c].live && s.changes[c].cause == SUCCEED_MOVED)
            return; // the address that it left may be had now
    succeed_plan(job->v, job->n, list, &again);
    cr_assert_eq(again.nchanges, 0, "round %u: the same list changes member %zu again",
                 round, again.nchanges > 0 ? again.changes[0].member : 0);
}

Test(succeed, random_lists_give_what_the_rules_say, .timeout = 60)
{
    unsigned seed = 20240501;
    struct job job = {0};
    for (unsigned round = 0; round < 20000; round++) {
        MEMBERS_AUTO list = MEMBERS_INIT;
        if (round % 8 == 0)
            job = (struct job){0};
        for (size_t i = 0; i < job.n; i++)
            job.v[i].live = job.address[i][0] != '\0' && below(&seed, 2) == 0;
        random_list(&seed, &list);
        apply_twice(&job, &list, round);
    }
}

Test(succeed, ten_thousand_members_at_once, .timeout = 30)
{
    enum { N = 10000 };
    MEMBERS_AUTO list = MEMBERS_INIT;
    SUCCEED_AUTO s = {0};
    struct succeed_member *v = calloc(N, sizeof *v);
    char(*at)[16] = calloc(N, sizeof *at);
    for (unsigned i = 0; i < N; i++) {
        char now[16];
        snprintf(at[i], sizeof at[i], "10.0.%u.%u", i >> 8, i & 255);
        snprintf(now, sizeof now, "10.%u.%u.%u", i % 2, i >> 8, i & 255);
        v[i] = (struct succeed_member){.name = at[i], .address = at[i]};
        list_add(&list, now, now);
    }
    succeed_plan(v, N, &list, &s);
    cr_assert_eq(s.nchanges, N / 2);
    cr_assert_eq(s.nextras, 0);
    for (size_t c = 0; c < s.nchanges; c++) {
        cr_assert_eq(s.changes[c].member, 2 * c + 1);
        cr_assert_eq(s.entry[2 * c + 1], (long)(2 * c + 1));
    }
    free(v);
    free(at);
}
