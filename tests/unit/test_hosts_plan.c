// The managed block of /etc/hosts: every write of a plan keeps the file good for readers.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/strv.h"
#include "hostfile/hostname.h"
#include "hostfile/hosts_block.h"
#include "hostfile/hosts_diff.h"
#include "hostfile/hosts_plan.h"

#define KUBELET                                                                        \
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"                         \
    "::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n"               \
    "10.244.0.7\ttrain-0.train.ns.svc.cluster.local\ttrain-0\n"

static void want(struct hosts_want *w, const char *address, const char *name)
{
    struct sockaddr_storage addr;
    ERR_AUTO err = ERR_INIT;
    cr_assert(hostname_literal(address, strlen(address), &addr));
    cr_assert_eq(hosts_want_add(w, &addr, &name, 1, &err), 0, "%s", err.text);
}

static void put(struct buf *file, const char *text)
{
    buf_clear(file);
    buf_append_str(file, text);
}

static const struct hosts_offsets none;

// Plans, applies, and returns how many writes it took.
static size_t bring(struct buf *file, const struct hosts_want *w)
{
    struct hosts_plan plan;
    size_t first = 0, n = 1;
    for (int i = 0; i < 6 && n > 0;
         i++) { // what was retired is blanked by the next plan
        hosts_plan((const char *)buf_data(file), buf_len(file), HOSTS_UNCUT, w, &none,
                   &plan);
        hosts_plan_apply(&plan, plan.n, file);
        n = plan.n;
        first = i == 0 ? n : first;
        hosts_plan_free(&plan);
    }
    cr_assert_eq(n, 0);
    return first;
}

// As the C library reads the file: all addresses of a name, "a b c".
static void lookup(const struct buf *file, const char *name, char *out, size_t size)
{
    CLEANUP_FREE char *copy = xstrndup((const char *)buf_data(file), buf_len(file));
    char *rest, *line = strtok_r(copy, "\n", &rest);
    size_t at = 0;
    out[0] = '\0';
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char *words, *address, *word;
        line[strcspn(line, "#")] = '\0';
        address = strtok_r(line, " \t", &words);
        while (address != NULL && (word = strtok_r(NULL, " \t", &words)) != NULL)
            if (strcmp(word, name) == 0 && at < size)
                at += (size_t)snprintf(out + at, size - at, "%s%s", at > 0 ? " " : "",
                                       address);
    }
}

static void expect(const struct buf *file, const char *name, const char *addresses)
{
    char got[256];
    lookup(file, name, got, sizeof got);
    cr_assert_str_eq(got, addresses, "%s is at '%s', not '%s', in\n%.*s", name, got,
                     addresses, (int)buf_len(file), buf_data(file));
}

static size_t count(const struct buf *file, const char *text)
{
    size_t n = 0;
    CLEANUP_FREE char *copy = xstrndup((const char *)buf_data(file), buf_len(file));
    for (const char *p = copy; (p = strstr(p, text)) != NULL; p++)
        n++;
    return n;
}

// Lines that mean something.
static size_t lines(const struct buf *file)
{
    size_t n = 0;
    CLEANUP_FREE char *copy = xstrndup((const char *)buf_data(file), buf_len(file));
    char *rest, *line = strtok_r(copy, "\n", &rest);
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest))
        n += line[0] != '#' && line[strspn(line, " \t")] != '\0' ? 1 : 0;
    return n;
}

// The block is whole; `others`: all other lines, when the test knows them.
static void expect_whole(const struct buf *file, const char *others)
{
    struct hosts_block block;
    const char *text = (const char *)buf_data(file);
    hosts_block_find(text, buf_len(file), HOSTS_UNCUT, &block);
    cr_assert(block.begin.len > 0 && block.end.len > 0, "%.*s", (int)buf_len(file),
              text);
    cr_assert_eq(block.rubbish.n, 0, "%.*s", (int)buf_len(file), text);
    for (size_t i = 0; i < block.slots.n; i++) {
        const struct hosts_line *l = &block.slots.v[i];
        cr_assert_not(hosts_line_crosses(l->off, l->len));
        cr_assert_leq(l->len, HOSTS_LINE_MAX);
    }
    hosts_block_free(&block);
    if (others == NULL)
        return;
    CLEANUP_FREE char *got = hosts_block_others(text, buf_len(file));
    cr_assert_str_eq(got, others);
}

Test(hosts_plan, a_block_is_appended_and_kept)
{
    BUF_AUTO file = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    put(&file, KUBELET);
    want(&w, "10.244.0.7", "train-0.train");
    want(&w, "fd00::8", "train-1.train");
    cr_assert_gt(bring(&file, &w), 0);
    expect(&file, "train-0.train", "10.244.0.7");
    expect(&file, "train-1.train", "fd00::8");
    expect(&file, "localhost", "127.0.0.1 ::1");
    expect_whole(&file, KUBELET);
    cr_assert_eq(bring(&file, &w), 0);
}

// Case hst-05.
Test(hosts_plan, the_same_again_adds_nothing)
{
    BUF_AUTO file = BUF_INIT;
    put(&file, KUBELET);
    for (int i = 0; i < 5; i++) {
        HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
        want(&w, "10.244.0.8", "train-1.train");
        want(&w, "10.244.0.9", "train-2.train");
        bring(&file, &w);
    }
    cr_assert_eq(count(&file, "# BEGIN muster"), 1);
    cr_assert_eq(count(&file, "train-1.train"), 1);
    cr_assert_eq(count(&file, "train-2.train"), 1);
}

// Case hst-06.
Test(hosts_plan, replacements_do_not_pile_up)
{
    BUF_AUTO file = BUF_INIT;
    char address[32];
    put(&file, KUBELET);
    for (int i = 0; i < 300; i++) {
        HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
        snprintf(address, sizeof address, "10.244.%d.%d", i / 200, i % 200 + 1);
        want(&w, address, "train-1.train");
        want(&w, "10.244.9.9", "train-2.train");
        size_t size = buf_len(&file), n = bring(&file, &w);
        cr_assert(i < 2 || (n == 3 && buf_len(&file) == size));
    }
    cr_assert_eq(lines(&file), 4 + 2);
    expect(&file, "localhost", "127.0.0.1 ::1");
    expect(&file, "train-1.train", "10.244.1.100");
    expect(&file, "train-2.train", "10.244.9.9");
}

// Case hst-10.
Test(hosts_plan, no_line_is_longer_than_musl_reads)
{
    BUF_AUTO file = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    STRV_AUTO names = STRV_INIT;
    struct sockaddr_storage addr;
    hostname_literal("10.0.0.1", 8, &addr);
    for (int i = 0; i < 100; i++)
        strv_addf(&names, "alias-%039d", i);
    cr_assert_eq(strlen(names.v[0]), 45);
    cr_assert_eq(hosts_want_add(&w, &addr, (const char *const *)names.v, names.n, NULL),
                 0);
    put(&file, KUBELET);
    bring(&file, &w);
    for (size_t i = 0; i < names.n; i++)
        expect(&file, names.v[i], "10.0.0.1");
    const char *text = (const char *)buf_data(&file);
    for (size_t off = 0; off < buf_len(&file);) {
        struct hosts_line l = hosts_line_read(text, buf_len(&file), off);
        cr_assert_lt(l.len, 512);
        off += l.len;
    }
}

Test(hosts_plan, what_no_pod_can_use_is_refused)
{
    static const char *const bad[][2] = {
        {"127.0.0.1", "a"},       {"::1", "a"},
        {"0.0.0.0", "a"},         {"::", "a"},
        {"10.0.0.1", "b c"},      {"10.0.0.1", "b\nc"},
        {"10.0.0.1", ""},         {"10.0.0.1", "#x"},
        {"10.0.0.1", "10.0.0.2"}, {"127.9.9.9", "a"},
        {"10.0.0.1", "fd00::1"},  {"10.0.0.1", "localhost"},
        {"10.0.0.1", "LocalHost"}};
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sockaddr_storage addr;
        ERR_AUTO err = ERR_INIT;
        hostname_literal(bad[i][0], strlen(bad[i][0]), &addr);
        cr_assert_eq(hosts_want_add(&w, &addr, &bad[i][1], 1, &err), -1, "%s %s",
                     bad[i][0], bad[i][1]);
        cr_assert_not_null(
            strstr(err.text, i < 4 || i == 9 ? "HOSTS_BAD_ADDRESS" : "HOSTS_BAD_NAME"));
    }
    cr_assert_eq(w.n, 0);
}

Test(hosts_plan, lines_of_others_behind_the_block_stay)
{
    BUF_AUTO file = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    put(&file, "127.0.0.1 localhost\n");
    want(&w, "10.0.0.1", "a");
    bring(&file, &w);
    buf_append_str(&file, "10.9.9.9 added\n");
    w.v[0].address[7] = '2'; // has to grow: behind them
    bring(&file, &w);
    size_t size = buf_len(&file);
    cr_assert_eq(bring(&file, &w), 0);
    cr_assert_eq(buf_len(&file), size);
    want(&w, "10.0.0.3", "b"); // has to grow: behind them
    bring(&file, &w);
    expect(&file, "a", "10.0.0.2");
    expect(&file, "b", "10.0.0.3");
    expect(&file, "added", "10.9.9.9");
    expect_whole(&file, NULL);
    cr_assert_eq(count(&file, "# BEGIN muster"), 1);
    cr_assert_eq(bring(&file, &w), 0);
}

// Found by fuzzing: everything behind a hole was taken for what had fallen there.
Test(hosts_plan, lines_of_others_behind_a_hole_stay)
{
    BUF_AUTO file = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    put(&file, "127.0.0.1 localhost\n10.1.1.1 cut");
    buf_append(&file, "\0\0\0\0\0\0", 6);
    buf_append_str(&file, " b.train b      \n10.9.9.9 added\n10.9.9.8 more\n");
    want(&w, "10.0.0.1", "a");
    bring(&file, &w);
    expect(&file, "added", "10.9.9.9");
    expect(&file, "more", "10.9.9.8");
    expect(&file, "cut", "10.1.1.1"); // its line ends where the hole begins
    expect(&file, "b.train", "");
    expect(&file, "a", "10.0.0.1");
    expect_whole(&file, NULL);
}

Test(hosts_plan, a_file_without_final_newline_gets_one)
{
    BUF_AUTO file = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    put(&file, "127.0.0.1 localhost\n10.1.1.1 other");
    want(&w, "10.0.0.1", "a");
    bring(&file, &w);
    expect(&file, "other", "10.1.1.1");
    expect(&file, "a", "10.0.0.1");
    expect_whole(&file, NULL);
}

Test(hosts_plan, damage_inside_the_block_is_mended)
{
    BUF_AUTO file = BUF_INIT, good = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    put(&good, KUBELET);
    want(&w, "10.0.0.1", "a");
    want(&w, "10.0.0.2", "b");
    bring(&good, &w);
    for (size_t cut = strlen(KUBELET); cut < buf_len(&good); cut++) {
        buf_clear(&file); // the end is lost
        buf_append(&file, buf_data(&good), cut);
        bring(&file, &w);
        expect(&file, "a", "10.0.0.1");
        expect(&file, "b", "10.0.0.2");
        expect(&file, "train-0", "10.244.0.7");
        cr_assert_eq(lines(&file), 4 + 2, "cut at %zu:\n%.*s", cut, (int)buf_len(&file),
                     buf_data(&file));
        expect_whole(&file, NULL);
    }
    buf_clear(&file); // somebody edits one of its lines
    buf_append(&file, buf_data(&good), buf_len(&good));
    char *line = strstr((char *)buf_data(&file), "10.0.0.1  ");
    memcpy(line, "10.9.9.9\ta c d", 14);
    bring(&file, &w);
    expect(&file, "a", "10.0.0.1");
    expect(&file, "c", "");
    cr_assert_eq(lines(&file), 4 + 2);
}

Test(hosts_plan, holes_and_rests_of_a_truncation_are_mended)
{
    BUF_AUTO file = BUF_INIT, before = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    struct hosts_plan plan;
    put(&file, "127.0.0.1 localhost\n10.1.1.1 x\n");
    want(&w, "10.0.0.11", "a");
    want(&w, "10.0.0.12", "b");
    bring(&file, &w);
    buf_append(&before, buf_data(&file), buf_len(&file));

    char *text = (char *)buf_data(&file);
    size_t slot = (size_t)(strstr(text, "10.0.0.12") - text);
    memset(text + 31, 0, slot - 31); // written behind a new, shorter end
    bring(&file, &w);
    expect(&file, "b", "10.0.0.12");
    expect(&file, "a", "10.0.0.11");
    expect(&file, "x", "10.1.1.1");
    cr_assert_eq(count(&file, "# BEGIN muster"), 1);
    cr_assert_eq(memchr(buf_data(&file), 0, buf_len(&file)), NULL);

    put(&file, "127.0.0.1 localhost\n10.1.1.1 x\n"); // a part of an address fell there
    buf_append(&file,
               "\0\0\0\0\0"
               "1",
               6);
    bring(&file, &w);
    cr_assert_eq(lines(&file), 4);
    expect_whole(&file, NULL);

    // Others wrote late over our beginning: "0.0.0.12 b" must not stay.
    buf_clear(&file);
    buf_append(&file, buf_data(&before), buf_len(&before));
    memset(buf_data(&file), '#', slot + 1);
    memcpy(buf_data(&file) + slot - 12, "\n10.1.1.2 yy\n", 13);
    size_t cut = hosts_block_cut((char *)buf_data(&file), buf_len(&file),
                                 (char *)buf_data(&before), buf_len(&before));
    cr_assert_eq(cut, slot + 1);
    hosts_plan((char *)buf_data(&file), buf_len(&file), cut, &w, &none, &plan);
    hosts_plan_apply(&plan, plan.n, &file);
    hosts_plan_free(&plan);
    expect(&file, "a", "10.0.0.11");
    expect(&file, "b", "10.0.0.12");
    expect(&file, "yy", "10.1.1.2");
    expect_whole(&file, NULL);
}

// A reader may stand in the middle of a line that was retired just now.
Test(hosts_plan, a_retired_line_is_not_touched_until_it_has_rested)
{
    BUF_AUTO file = BUF_INIT;
    HOSTS_WANT_AUTO w = HOSTS_WANT_INIT;
    struct hosts_plan plan;
    struct hosts_offsets resting = {0};
    put(&file, KUBELET);
    want(&w, "10.0.0.1", "a");
    bring(&file, &w);
    for (int i = 2; i < 9; i++) {
        w.v[0].address[7] = (char)('0' + i);
        hosts_plan((const char *)buf_data(&file), buf_len(&file), HOSTS_UNCUT, &w,
                   &resting, &plan);
        cr_assert_eq(plan.retired.n, 1);
        hosts_offsets_add(&resting, plan.retired.v[0]);
        hosts_plan_apply(&plan, plan.n, &file);
        hosts_plan_free(&plan);
    }
    for (size_t i = 0; i < resting.n; i++)
        cr_assert_eq(buf_data(&file)[resting.v[i]], '#');
    cr_assert_eq(count(&file, "#0.0.0."), resting.n);
    expect(&file, "a", "10.0.0.8");
    bring(&file, &w); // all have rested
    cr_assert_eq(count(&file, "#0.0.0."), 0);
    expect(&file, "a", "10.0.0.8");
    free(resting.v);
}

// ---- any history ------------------------------------------------------------------

enum { NAMES = 120 };

struct world {
    struct buf file;
    int address[NAMES]; // 0: not a member
    unsigned seed;
    size_t foreign;
};

static int dice(struct world *w, int n)
{
    return rand_r(&w->seed) % n;
}

static void name_of(int i, char *out, size_t size)
{
    static const char more[] =
        "abcdefghijklmnopqrs.abcdefghijklmnopqrs.abcdefghijklmnopqrs."
        "abcdefghijklmnopqrs."
        "abcdefghijklmnopqrs.abcdefghijklmnopqrs.abcdefghijklmnopqrs";
    snprintf(out, size, "node-%d.%.*s", i, i % 7 * 20 + 19, more);
}

static void text_of(int address, char *out, size_t size)
{
    if (address % 3 == 0)
        snprintf(out, size, "fd00::1:%x:%x", address / 65536 + 1, address % 65536 + 1);
    else
        snprintf(out, size, "10.%d.%d.%d", address / 65536, address / 256 % 256,
                 address % 256);
}

static void want_all(struct world *w, struct hosts_want *out)
{
    char name[256], address[64];
    for (int i = 0; i < NAMES; i++) {
        if (w->address[i] == 0)
            continue;
        name_of(i, name, sizeof name);
        text_of(w->address[i], address, sizeof address);
        want(out, address, name);
    }
}

static void change(struct world *w, bool *changed)
{
    memset(changed, 0, NAMES * sizeof *changed);
    for (int k = dice(w, 4) == 0 ? dice(w, NAMES) : dice(w, 3); k >= 0; k--) {
        int i = dice(w, NAMES);
        w->address[i] = dice(w, 4) == 0 ? 0 : 1 + dice(w, 200000);
        changed[i] = true;
    }
}

// After each write: lines of others are there, and members that stay have their address.
static void check_state(struct world *w, const struct buf *file, const bool *changed)
{
    cr_assert_eq(memcmp(buf_data(file), KUBELET, strlen(KUBELET)), 0);
    cr_assert_eq(count(file, " foreign-"), w->foreign);
    for (int i = 0; i < NAMES; i++) {
        char name[256], address[64], got[256];
        if (w->address[i] == 0 || changed[i] || dice(w, 8) != 0)
            continue;
        name_of(i, name, sizeof name);
        text_of(w->address[i], address, sizeof address);
        lookup(file, name, got, sizeof got);
        cr_assert_not_null(strstr(got, address), "%s: '%s', not %s", name, got,
                           address);
    }
}

static void update(struct world *w, const bool *changed)
{
    HOSTS_WANT_AUTO wanted = HOSTS_WANT_INIT;
    struct hosts_plan plan;
    want_all(w, &wanted);
    hosts_plan((const char *)buf_data(&w->file), buf_len(&w->file), HOSTS_UNCUT,
               &wanted, &none, &plan);
    size_t stop = dice(w, 6) == 0 ? (size_t)dice(w, (int)plan.n + 1) : plan.n;
    for (size_t i = 0; i < stop; i++) {
        struct hosts_plan one = plan;
        cr_assert_eq(plan.v[i].off / HOSTS_PAGE,
                     (plan.v[i].off + plan.v[i].len - 1) / HOSTS_PAGE);
        cr_assert_leq(plan.v[i].off, buf_len(&w->file));
        one.v = &plan.v[i];
        hosts_plan_apply(&one, 1, &w->file);
        cr_assert_eq(buf_data(&w->file)[buf_len(&w->file) - 1], '\n');
        check_state(w, &w->file, changed);
    }
    hosts_plan_free(&plan);
    if (bring(&w->file, &wanted) == 0 && stop == 0)
        return; // killed in between, and started again
    cr_assert_eq(bring(&w->file, &wanted), 0);
    expect_whole(&w->file, NULL);
    cr_assert_eq(count(&w->file, "# BEGIN muster"), 1);
    cr_assert_eq(count(&w->file, "# END muster"), 1);
    cr_assert_eq(lines(&w->file), 4 + w->foreign + wanted.n);
    for (size_t i = 0; i < wanted.n; i++)
        expect(&w->file, wanted.v[i].names, wanted.v[i].address);
}

static void live(unsigned seed)
{
    struct world w = {.seed = seed};
    bool changed[NAMES] = {false};
    put(&w.file, KUBELET);
    for (int round = 0; round < 40; round++) {
        change(&w, changed);
        update(&w, changed);
        if (dice(&w, 8) != 0)
            continue;
        buf_printf(&w.file, "10.200.0.%zu foreign-%zu\n", w.foreign, w.foreign);
        w.foreign++;
    }
    buf_free(&w.file);
}

Test(hosts_plan, any_history_is_safe_at_every_write, .timeout = 60)
{
    for (unsigned seed = 1; seed <= 6; seed++)
        live(seed);
}

// ---- any bytes --------------------------------------------------------------------

// Pieces of good files and of bad ones, in any order.
static void throw_together(struct world *w)
{
    static const char *const pieces[] = {
        HOSTS_BEGIN "\n",
        HOSTS_END "\n",
        "10.0.0.1                                      a                \n",
        "10.0.0.2                                      b                \n",
        "fd00::2                                       b                \n",
        "10.0.0.3                                      c d              \n",
        "#                                                              \n",
        "\n",
        "#\n",
        "127.0.0.1 localhost\n",
        "10.1.1.1\tx y # z\n",
        HOSTS_BEGIN,
        HOSTS_END,
        "10.0.0",
        "garbage"};
    buf_clear(&w->file);
    for (int n = dice(w, 30); n > 0; n--) {
        int k = dice(w, (int)(sizeof pieces / sizeof *pieces) + 2);
        if (k < (int)(sizeof pieces / sizeof *pieces))
            buf_append_str(&w->file, pieces[k]);
        else
            memset(buf_reserve(&w->file, 70), 0, 70), buf_commit(&w->file, 70);
    }
    for (int n = dice(w, 4); n > 0 && buf_len(&w->file) > 0; n--)
        buf_data(&w->file)[dice(w, (int)buf_len(&w->file))] = (uint8_t)dice(w, 256);
}

// The lines of others that mean something to a reader of the file.
static char *others(const struct buf *file)
{
    BUF_AUTO out = BUF_INIT;
    CLEANUP_FREE char *text =
        hosts_block_others((const char *)buf_data(file), buf_len(file));
    char *rest, *line = strtok_r(text, "\n", &rest);
    for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        line[strcspn(line, "#")] = '\0';
        if (line[0] != '\0')
            buf_printf(&out, "%s\n", line);
    }
    return buf_steal_str(&out);
}

Test(hosts_plan, any_bytes_become_a_good_file, .timeout = 60)
{
    struct world w = {.seed = 5};
    HOSTS_WANT_AUTO wanted = HOSTS_WANT_INIT;
    want(&wanted, "10.0.0.7", "a");
    want(&wanted, "10.0.0.2", "b");
    want(&wanted, "10.0.0.8", "long-enough-for-a-line-of-its-own.example.com");
    for (int i = 0; i < 2000; i++) {
        throw_together(&w);
        CLEANUP_FREE char *before = others(&w.file);
        bring(&w.file, &wanted);
        bring(&w.file, &wanted); // damage of several kinds can take a second look
        CLEANUP_FREE char *after = others(&w.file);
        cr_assert_str_eq(after, before, "round %d:\n%s==>\n%s", i, before, after);
        expect_whole(&w.file, NULL);
        cr_assert_eq(bring(&w.file, &wanted), 0, "round %d", i);
        cr_assert_eq(count(&w.file, "long-enough"), 1, "round %d", i);
    }
    buf_free(&w.file);
}
