// A small PMIx client, run as ranks by the PMIx tests: says what each call returned.
//
//   pmix_probe fence        put, fence with data over all, get from every rank
//   pmix_probe modex        put and commit, get from every rank without a fence
//   pmix_probe subset       fences over two disjoint subsets that span the pods, thrice
//   pmix_probe barrier      one fence over all; exit code 3 when it fails
//   pmix_probe stuck R      as barrier, but rank R waits for ever in its place; the
//   others
//                           say "waiting" once the server knows of their fence
//   pmix_probe abort R      rank R calls PMIx_Abort(9, "gave up"), the others a fence
//   pmix_probe connect      connect all, then the even and the odd ones, disconnect
//   pmix_probe names        publish; lookups that wait, that time out, that find nothing
#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUE = 1000, EXIT_FAILED = 3 };

static pmix_proc_t self;
static uint32_t size;

static void die(const char *what, pmix_status_t rc)
{
    fprintf(stderr, "pmix_probe: rank %u: %s: %s\n", self.rank, what,
            PMIx_Error_string(rc));
    _exit(EXIT_FAILED);
}

static void must(const char *what, pmix_status_t rc)
{
    if (rc != PMIX_SUCCESS)
        die(what, rc);
}

static uint32_t get_u32(pmix_rank_t rank, const char *key)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&proc, self.nspace, rank);
    must(key, PMIx_Get(&proc, key, NULL, 0, &value));
    uint32_t n = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return n;
}

static void put(void)
{
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = VALUE + self.rank};
    must("put", PMIx_Put(PMIX_GLOBAL, "probe", &value));
    must("commit", PMIx_Commit());
}

static void fence(const pmix_proc_t *procs, size_t n, bool collect)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    must("fence", PMIx_Fence(procs, n, &info, 1));
}

static void check_all(void)
{
    for (uint32_t r = 0; r < size; r++)
        if (get_u32(r, "probe") != VALUE + r)
            die("a wrong value", PMIX_ERROR);
}

// Even ranks, odd ranks: both sets have members in each pod. Named in descending order
// by half of them. Returns how many.
static uint32_t halves(pmix_proc_t *procs)
{
    uint32_t n = size / 2;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = self.rank < n ? i : n - 1 - i;
        PMIX_LOAD_PROCID(&procs[i], self.nspace, 2 * k + self.rank % 2);
    }
    return n;
}

static void subset_fences(void)
{
    pmix_proc_t procs[64];
    uint32_t n = halves(procs);
    for (int turn = 0; turn < 3; turn++)
        fence(procs, n, false);
}

static void fence_is_over(pmix_status_t rc, void *arg)
{
    int fd = *(int *)arg;
    if (write(fd, &rc, sizeof rc) != sizeof rc)
        _exit(1);
}

// The server reads what a client sends in order: when the fence over ourselves alone is
// over, it has the other one, too.
static void fence_and_tell(void)
{
    static int p[2];
    pmix_proc_t all;
    pmix_status_t rc;
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    must("pipe", pipe(p) == 0 ? PMIX_SUCCESS : PMIX_ERROR);
    must("fence_nb", PMIx_Fence_nb(&all, 1, NULL, 0, fence_is_over, &p[1]));
    fence(&self, 1, false);
    puts("waiting");
    fflush(stdout);
    must("read", read(p[0], &rc, sizeof rc) == sizeof rc ? PMIX_SUCCESS : PMIX_ERROR);
    must("fence", rc);
}

static pmix_status_t lookup(pmix_rank_t of, const char *key, int timeout)
{
    pmix_info_t info[2];
    pmix_pdata_t data;
    int all = 0;
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout, PMIX_INT);
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    pmix_status_t rc = PMIx_Lookup(&data, 1, info, timeout > 0 ? 2 : 0);
    if (rc == PMIX_SUCCESS && (data.value.type != PMIX_UINT32 || data.proc.rank != of ||
                               data.value.data.uint32 != VALUE + of))
        die("a wrong value was published", PMIX_ERROR);
    PMIX_PDATA_DESTRUCT(&data);
    return rc;
}

static void expect_status(const char *what, pmix_status_t rc, pmix_status_t want)
{
    if (rc != want)
        die(what, rc);
}

static void connect_all(void)
{
    pmix_proc_t all, procs[64];
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    must("connect", PMIx_Connect(&all, 1, NULL, 0));
    uint32_t n = halves(procs);
    for (int turn = 0; turn < 2; turn++) {
        must("connect a half", PMIx_Connect(procs, n, NULL, 0));
        must("disconnect a half", PMIx_Disconnect(procs, n, NULL, 0));
    }
    must("disconnect", PMIx_Disconnect(&all, 1, NULL, 0));
}

// Rank 0 publishes, but only once the last one waits for it.
static void names(void)
{
    pmix_info_t info;
    uint32_t value = VALUE;
    char key[] = "probe.name", *keys[] = {key, NULL};
    PMIX_INFO_LOAD(&info, key, &value, PMIX_UINT32);
    expect_status("lookup of nothing", lookup(0, key, 0), PMIX_ERR_NOT_FOUND);
    fence(NULL, 0, false);
    if (self.rank == 0) {
        expect_status("bounded lookup", lookup(0, "probe.never", 1), PMIX_ERR_TIMEOUT);
        must("publish", PMIx_Publish(&info, 1));
        expect_status("second publish", PMIx_Publish(&info, 1), PMIX_ERR_DUPLICATE_KEY);
    } else {
        must("lookup", lookup(0, key, 20));
    }
    fence(NULL, 0, false);
    if (self.rank == 0)
        must("unpublish", PMIx_Unpublish(keys, NULL, 0));
    fence(NULL, 0, false);
    expect_status("lookup after unpublish", lookup(0, key, 0), PMIX_ERR_NOT_FOUND);
}

static void run(const char *mode, pmix_rank_t who)
{
    if (strcmp(mode, "fence") == 0) {
        put();
        fence(NULL, 0, true);
        check_all();
    } else if (strcmp(mode, "modex") == 0) {
        put();
        check_all();
    } else if (strcmp(mode, "subset") == 0) {
        subset_fences();
    } else if (strcmp(mode, "connect") == 0) {
        connect_all();
    } else if (strcmp(mode, "names") == 0) {
        names();
    } else if (strcmp(mode, "stuck") == 0 && self.rank == who) {
        for (;;)
            pause();
    } else if (strcmp(mode, "stuck") == 0) {
        fence_and_tell();
    } else if (strcmp(mode, "abort") == 0 && self.rank == who) {
        must("abort", PMIx_Abort(9, "gave up", NULL, 0));
        _exit(9);
    } else {
        fence(NULL, 0, false);
    }
}

int main(int argc, char **argv)
{
    must("init", PMIx_Init(&self, NULL, 0));
    size = get_u32(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    run(argc > 1 ? argv[1] : "fence", argc > 2 ? (pmix_rank_t)atoi(argv[2]) : 0);
    printf("node %u of %u, %u local\n", get_u32(self.rank, PMIX_NODEID),
           get_u32(PMIX_RANK_WILDCARD, PMIX_NUM_NODES),
           get_u32(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE));
    fflush(stdout);
    must("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
