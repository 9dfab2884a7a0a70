// The parts of the health checks that are pure, or read files: products, march, room for
// memory, Xids, findings.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "kernels/check/finding.h"
#include "kernels/check/gpu_here.h"
#include "kernels/check/kernel_log.h"
#include "kernels/check/march.h"
#include "kernels/check/memroom.h"
#include "kernels/check/net_hello.h"
#include "kernels/check/product.h"
#include "kernels/check/xid.h"

enum { WORDS = 8 * MARCH_BLOCK };

struct flip {
    uint64_t *word; // NULL: done
    unsigned pass;
};

static bool flip_once(void *arg, unsigned pass, size_t done)
{
    struct flip *f = arg;
    if (f->word != NULL && pass == f->pass) {
        *f->word ^= 4;
        f->word = NULL;
    }
    return true;
}

Test(march, finds_a_flip_before_each_pass_that_reads)
{
    CLEANUP_FREE uint64_t *words = xcalloc(WORDS, sizeof *words);
    for (unsigned pass = 2; pass <= MARCH_PASSES; pass++) {
        struct march_wrong wrong;
        struct flip f = {&words[1234], pass};
        struct march m = {words, WORDS, 3, flip_once, &f};
        cr_assert(march_run(&m, &wrong));
        cr_assert_eq(wrong.pass, pass);
        cr_assert_eq(wrong.address, (uintptr_t)&words[1234]);
        cr_assert_eq(wrong.expected ^ wrong.got, 4);
        cr_assert_eq(wrong.count, 1);
    }
}

static bool stop(void *arg, unsigned pass, size_t done)
{
    return pass < 2;
}

Test(march, ends_when_it_is_told_to)
{
    CLEANUP_FREE uint64_t *words = xcalloc(WORDS, sizeof *words);
    struct march_wrong wrong;
    struct march m = {words, WORDS, 3, stop, NULL};
    cr_assert_not(march_run(&m, &wrong));
    cr_assert_eq(wrong.count, 0);
    cr_assert_eq(words[WORDS - 1], march_word(&m, WORDS - 1));
}

Test(product, every_element_is_exact_and_a_flip_in_any_is_found)
{
    for (int k = 0; k < PRODUCT_KINDS; k++) {
        enum product_kind kind = (enum product_kind)k;
        size_t size = product_bytes(kind) / 3 / PRODUCT_N / PRODUCT_N;
        CLEANUP_FREE char *memory = aligned_alloc(64, product_bytes(kind));
        struct product *p = product_create(kind, memory);
        struct product_wrong wrong;
        for (uint64_t seed = 1; seed <= 5; seed++) {
            product_fill(p, seed);
            product_verify(p, &wrong);
            cr_assert_eq(wrong.count, PRODUCT_N * PRODUCT_N); // nothing is computed yet
            product_compute(p);
            product_verify(p, &wrong);
            cr_assert_eq(wrong.count, 0, "%s: row %u, column %u: %g, not %g",
                         product_name(kind), wrong.row, wrong.column, wrong.got,
                         wrong.expected);
            unsigned row = (unsigned)(seed * 51 % PRODUCT_N);
            memory[(row * PRODUCT_N + 9) * size] ^= 1; // the last bit
            product_verify(p, &wrong);
            cr_assert_eq(wrong.count, 1);
            cr_assert(wrong.row == row && wrong.column == 9);
            cr_assert_neq(product_expected(p, row, 9), wrong.got);
        }
        product_destroy(p);
    }
}

// The identity of the sums, element by element, as a matrix product is defined.
Test(product, an_element_is_its_row_times_its_column)
{
    size_t bytes = product_bytes(PRODUCT_FP64);
    CLEANUP_FREE double *c = aligned_alloc(64, bytes);
    struct product *p = product_create(PRODUCT_FP64, c);
    const double *a = c + PRODUCT_N * PRODUCT_N, *b = a + PRODUCT_N * PRODUCT_N;
    product_fill(p, 77);
    for (unsigned i = 0; i < PRODUCT_N; i += 37) {
        unsigned j = (i * 13 + 5) % PRODUCT_N;
        double sum = 0;
        for (unsigned k = 0; k < PRODUCT_N; k++)
            sum += a[i * PRODUCT_N + k] * b[k * PRODUCT_N + j];
        cr_assert_eq(sum, product_expected(p, i, j));
    }
    product_destroy(p);
}

// ---- room for memory ----

static void put(const char *root, const char *path, const char *text)
{
    CLEANUP_FREE char *name = xasprintf("%s%s", root, path);
    for (char *at = name + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(name, 0755);
        *at = '/';
    }
    FILE *f = fopen(name, "we");
    cr_assert_not_null(f, "%s", name);
    fputs(text, f);
    fclose(f);
}

static char *new_root(char *root)
{
    strcpy(root, "/tmp/check-parts-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    put(root, "/proc/meminfo", "MemTotal: 100000 kB\nMemAvailable:   50000 kB\n");
    return root;
}

static uint64_t room(const char *root)
{
    uint64_t bytes = 0;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(memroom_read(root, &bytes, &err), 0, "%s", err_text(&err));
    CLEANUP_FREE char *clean = xasprintf("rm -r %s", root);
    cr_assert_eq(system(clean), 0);
    return bytes;
}

Test(memroom, without_cgroups_what_the_machine_has)
{
    char root[32];
    cr_assert_eq(room(new_root(root)), UINT64_C(50000) * 1024);
}

Test(memroom, version_2_the_tightest_on_the_way_up)
{
    char root[32];
    new_root(root);
    put(root, "/proc/self/cgroup", "0::/pods/one\n");
    put(root, "/sys/fs/cgroup/pods/one/memory.max", "max\n");
    put(root, "/sys/fs/cgroup/pods/one/memory.current", "5000\n");
    put(root, "/sys/fs/cgroup/pods/memory.max", "10000000\n");
    put(root, "/sys/fs/cgroup/pods/memory.high", "9000000\n");
    put(root, "/sys/fs/cgroup/pods/memory.current", "4000000\n");
    put(root, "/sys/fs/cgroup/pods/memory.stat", "anon 1\ninactive_file 1000000\n");
    cr_assert_eq(room(root), 9000000 - 3000000);
}

// In a container the path is the host's, and the mount the container's own cgroup.
Test(memroom, version_2_in_a_container)
{
    char root[32];
    new_root(root);
    put(root, "/proc/self/cgroup", "0::/kubepods/pod1/abc\n");
    put(root, "/sys/fs/cgroup/memory.max", "2000000\n");
    put(root, "/sys/fs/cgroup/memory.current", "500000\n");
    cr_assert_eq(room(root), 1500000);
}

Test(memroom, version_1_has_other_names)
{
    char root[32];
    new_root(root);
    put(root, "/proc/self/cgroup", "9:cpu:/x\n4:memory:/pod/a\n0::/\n");
    put(root, "/sys/fs/cgroup/memory/pod/a/memory.limit_in_bytes", "3000000\n");
    put(root, "/sys/fs/cgroup/memory/pod/a/memory.usage_in_bytes", "2500000\n");
    put(root, "/sys/fs/cgroup/memory/pod/a/memory.stat",
        "inactive_file 7\ntotal_inactive_file 1500000\n");
    cr_assert_eq(room(root), 2000000);
}

Test(memroom, more_in_use_than_allowed_is_no_room)
{
    char root[32];
    new_root(root);
    put(root, "/proc/self/cgroup", "0::/\n");
    put(root, "/sys/fs/cgroup/memory.max", "1000\n");
    put(root, "/sys/fs/cgroup/memory.current", "2000\n");
    cr_assert_eq(room(root), 0);
}

Test(memroom, sizes_and_shares)
{
    struct memroom_share s;
    uint64_t bytes;
    ERR_AUTO err = ERR_INIT;
    cr_assert(memroom_parse("1.5M", &s) && s.value == 1572864 && !s.percent);
    cr_assert(memroom_parse("4096", &s) && s.value == 4096);
    cr_assert(memroom_parse("2G", &s) && s.value == 2147483648.0);
    cr_assert(memroom_parse("25%", &s) && s.percent);
    cr_assert_eq(memroom_take(&s, 1000, &bytes, &err), 0);
    cr_assert_eq(bytes, 250);
    static const char *const bad[] = {"", "M", "-1M", "0", "91%", "1MB", "nan", "5 %"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(memroom_parse(bad[i], &s), "%s", bad[i]);
    cr_assert(memroom_parse("901", &s));
    cr_assert_eq(memroom_take(&s, 1000, &bytes, &err), -1);
}

// ---- Xids ----

Test(xid, lines_of_the_kernels_log)
{
    struct xid_event e;
    cr_assert(xid_parse("6,1234,5678901,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1", &e));
    cr_assert_str_eq(e.bus_id, "0000:3b:00");
    cr_assert_eq(e.number, 79);
    cr_assert_eq(e.at_us, 5678901);
    static const char *const others[] = {"", "6,1,2,-;usb 1-1", "NVRM: Xid (PCI:0): 79",
                                         "6,1,2,-;NVRM: Xid (PCI:", "6,x,2;NVRM: Xid"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_not(xid_parse(others[i], &e), "%s", others[i]);
}

Test(xid, what_they_mean)
{
    static const unsigned application[] = {13, 31, 43, 45, 68, 109};
    static const unsigned workflow[] = {48, 74, 144, 147, 150};
    for (size_t i = 0; i < sizeof application / sizeof *application; i++)
        cr_assert_eq(xid_meaning(application[i]), XID_APPLICATION);
    for (size_t i = 0; i < sizeof workflow / sizeof *workflow; i++)
        cr_assert_eq(xid_meaning(workflow[i]), XID_WORKFLOW);
    cr_assert_eq(xid_meaning(79), XID_REBOOT);
    cr_assert_eq(xid_meaning(143), XID_UNKNOWN);
    cr_assert_eq(xid_meaning(151), XID_UNKNOWN);
}

Test(kernel_log, keeps_the_worst_of_each_gpu)
{
    char path[] = "/tmp/kernel-log-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "4,1,100,-;NVRM: Xid (PCI:0000:3B:00): 48, a\n"
                               "4,2,200,-;NVRM: Xid (PCI:0000:3B:00): 79, b\n"
                               " SUBSYSTEM=pci\n"
                               "4,3,300,-;NVRM: Xid (PCI:0000:3B:00): 31, c\n"
                               "4,4,400,-;NVRM: Xid (PCI:0000:5e:00): 31, d\n";
    struct kernel_log log;
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    cr_assert_eq(kernel_log_read(&log, path, &err), 0);
    unlink(path);
    cr_assert_eq(kernel_log_of(&log, "0000:3b:00.0")->number, 79);
    cr_assert_eq(kernel_log_of(&log, "0000:5e:00.0")->number, 31);
    cr_assert_null(kernel_log_of(&log, "0000:99:00.0"));
    kernel_log_free(&log);
    cr_assert_eq(kernel_log_read(&log, path, &err), -1);
}

// ---- findings ----

static bool hears(const char *line, uint64_t *seed)
{
    return net_hello_read(line, strlen(line), "token-of-the-pair", seed);
}

Test(net_hello, only_its_own_line_with_the_token_is_taken)
{
    static const char *const bad[] = {
        "",
        "\n",
        "muster-netcheck 2 token-of-the-pear 7\n",
        "muster-netcheck 2 token-of-the-pair-1 7\n",
        "muster-netcheck 1 token-of-the-pair 7\n",
        "muster-netcheck 2 token-of-the-pair 7",
        "muster-netcheck 2 token-of-the-pair 7 more\n",
        "muster-netcheck 2 token-of-the-pair -7\n",
        "muster-netcheck 2 token-of-the-pair 07\n",
        "muster-netcheck 2 token-of-the-pair 18446744073709551616\n",
    };
    uint64_t seed = 0;
    CLEANUP_FREE char *line = net_hello("token-of-the-pair", UINT64_MAX);
    cr_assert_str_eq(line,
                     "muster-netcheck 2 token-of-the-pair 18446744073709551615\n");
    cr_assert(hears(line, &seed));
    cr_assert_eq(seed, UINT64_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_not(hears(bad[i], &seed), "%s", bad[i]);
}

Test(finding, a_failure_outweighs_what_could_not_run)
{
    struct finding f;
    finding_init(&f);
    finding_could_not_run(&f, "first");
    finding_fail(&f, "core %d", 3);
    finding_could_not_run(&f, "later");
    finding_fail(&f, "core %d", 4);
    finding_set(&f, "cores", json_integer(2));
    CLEANUP_FREE char *line = finding_line(&f, "cpu", 1.23456);
    cr_assert_str_eq(line,
                     "{\"check\":\"cpu\",\"verdict\":\"fail\",\"why\":\"core 3 (and 1 "
                     "more)\",\"seconds\":1.235,\"cores\":2}\n");
    finding_clear(&f);
}

Test(finding, evidence_never_hides_the_verdict)
{
    struct finding f;
    finding_init(&f);
    finding_set(&f, "verdict", json_integer(0));
    finding_fail(&f, "it \"fails\" \xff");
    CLEANUP_FREE char *line = finding_line(&f, "net", 0);
    cr_assert_not_null(strstr(line, "\"verdict\":\"fail\""));
    json_t *o = json_loads(line, 0, NULL);
    cr_assert_not_null(o);
    json_decref(o);
    finding_clear(&f);
}

// ---- GPUs that are not here -----------------------------------------------------------

static void put_file(const char *root, const char *name, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = '\0';
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "we");
    cr_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

static char *make_root(char *text)
{
    cr_assert(mkdtemp(text) != NULL);
    return text;
}

Test(gpu_here, a_device_file_or_one_on_the_bus)
{
    char a[] = "/tmp/gpu_here.XXXXXX", b[] = "/tmp/gpu_here.XXXXXX";
    const char *root = make_root(a), *bus = "sys/bus/pci/devices/0000:01:00";
    cr_assert_not(gpu_here(root));
    CLEANUP_FREE char *vendor = xasprintf("%s.0/vendor", bus);
    CLEANUP_FREE char *kind = xasprintf("%s.0/class", bus);
    put_file(root, vendor, "0x10de\n");
    put_file(root, kind, "0x040300\n"); // its sound
    cr_assert_not(gpu_here(root));
    put_file(root, kind, "0x030200\n");
    cr_assert(gpu_here(root));
    put_file(root, vendor, "0x1002\n");
    cr_assert_not(gpu_here(root));
    root = make_root(b);
    put_file(root, "dev/null", "");
    cr_assert_not(gpu_here(root));
    put_file(root, "dev/nvidiactl", "");
    cr_assert(gpu_here(root));
}

Test(gpu_here, what_an_environment_promises)
{
    static const struct {
        const char *gpus, *visible;
        long n;
    } cases[] = {
        {NULL, NULL, -1},
        {"8", NULL, 8},
        {"0", "GPU-a", 0},
        {NULL, "all", -1},
        {NULL, "void", -1},
        {NULL, "none", -1},
        {NULL, "", -1},
        {NULL, "GPU-a,GPU-b", 2},
        {NULL, "0,1,2", 3},
        {NULL, "MIG-a,MIG-b", 1},
        {NULL, "GPU-a::0,GPU-a::1", 1},
        {"many", "GPU-a", 1},
        {"-1", NULL, -1},
        {"", "0", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(gpu_here_promised(cases[i].gpus, cases[i].visible), cases[i].n,
                     "case %zu", i);
}

Test(gpu_here, only_what_could_not_run_is_settled)
{
    struct finding f;
    finding_init(&f);
    gpu_here_settle(&f, 8);
    cr_assert_eq(f.verdict, FINDING_PASS);
    finding_could_not_run(&f, "no driver");
    gpu_here_settle(&f, 8);
    cr_assert_eq(f.verdict, gpu_here("") ? FINDING_COULD_NOT_RUN : FINDING_FAIL);
    finding_fail(&f, "hot");
    finding_not_here(&f, "gone");
    cr_assert_eq(f.verdict, FINDING_FAIL);
    finding_clear(&f);
    finding_init(&f);
    finding_could_not_run(&f, "no driver");
    finding_not_here(&f, "gone");
    cr_assert(f.verdict == FINDING_NOT_HERE && strcmp(f.why, "gone") == 0);
    finding_clear(&f);
}
