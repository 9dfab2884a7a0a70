// A small PMIx client, run as ranks by the PMIx tests: says what each call returned.
//
//   pmix_probe fence        put, fence with data over all, get from every rank
//   pmix_probe modex        put and commit, get from every rank without a fence
//   pmix_probe subset       fences over two disjoint subsets that span the pods, thrice
//   pmix_probe rounds       fences with data, until rank 0 sees /tmp/stop; each rank says
//                           each of them
//   pmix_probe barrier      one fence over all; exit code 3 when it fails
//   pmix_probe stuck R      as barrier, but rank R waits for ever in its place; the
//   others
//                           say "waiting" once the server knows of their fence
//   pmix_probe abort R      rank R calls PMIx_Abort(9, "gave up"), the others a fence
//   pmix_probe quit R       the same after a fence over all; the others sleep for ever
//   pmix_probe connect      connect all, then the even and the odd ones, disconnect
//   pmix_probe group        construct a group of all, with a context id; destruct it
//   pmix_probe event        rank 0 raises an event that all others wait for
//   pmix_probe query        process sets, namespaces, and what nobody knows
//   pmix_probe log          a text for stderr, and for a channel that there is not
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

static void group(void)
{
    pmix_proc_t all;
    pmix_info_t want, *got = NULL;
    size_t ngot = 0, id = 0;
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&want, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    must("group", PMIx_Group_construct("probe", &all, 1, &want, 1, &got, &ngot));
    for (size_t i = 0; i < ngot; i++)
        if (PMIX_CHECK_KEY(&got[i], PMIX_GROUP_CONTEXT_ID))
            id = got[i].value.data.size;
    if (id != 1)
        die("a wrong context id", PMIX_ERROR);
    must("destruct", PMIx_Group_destruct("probe", NULL, 0));
}

static int event_pipe[2];

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                     size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                     void *cbdata)
{
    pmix_rank_t rank = source->rank;
    if (write(event_pipe[1], &rank, sizeof rank) != sizeof rank)
        _exit(1);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void event(void)
{
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 1;
    pmix_rank_t from = PMIX_RANK_UNDEF;
    must("pipe", pipe(event_pipe) == 0 ? PMIX_SUCCESS : PMIX_ERROR);
    if (PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) < 0)
        die("register", PMIX_ERROR);
    fence(NULL, 0, false);
    if (self.rank == 0)
        must("notify",
             PMIx_Notify_event(code, &self, PMIX_RANGE_SESSION, NULL, 0, NULL, NULL));
    else if (read(event_pipe[0], &from, sizeof from) != sizeof from || from != 0)
        die("an event of somebody else", PMIX_ERROR);
    fence(NULL, 0, false);
}

static pmix_status_t query(const char *key, pmix_info_t **got)
{
    pmix_query_t q;
    size_t n = 0;
    *got = NULL;
    PMIX_QUERY_CONSTRUCT(&q);
    q.keys = calloc(2, sizeof *q.keys);
    q.keys[0] = strdup(key);
    pmix_status_t rc = PMIx_Query_info(&q, 1, got, &n);
    PMIX_QUERY_DESTRUCT(&q);
    return rc == PMIX_SUCCESS && n != 1 ? PMIX_ERROR : rc;
}

static void queries(void)
{
    pmix_info_t *got;
    must("psets", query(PMIX_QUERY_NUM_PSETS, &got));
    if (got->value.data.uint32 != 0)
        die("process sets", PMIX_ERROR);
    PMIX_INFO_FREE(got, 1);
    must("namespaces", query(PMIX_QUERY_NAMESPACES, &got));
    if (strcmp(got->value.data.string, self.nspace) != 0)
        die("other namespaces", PMIX_ERROR);
    PMIX_INFO_FREE(got, 1);
    if (query("probe.unknown", &got) == PMIX_SUCCESS)
        die("an answer to nothing", PMIX_ERROR);
}

static void log_text(void)
{
    pmix_info_t text;
    PMIX_INFO_LOAD(&text, PMIX_LOG_STDERR, "help\n", PMIX_STRING);
    must("log", PMIx_Log(&text, 1, NULL, 0));
    PMIX_INFO_LOAD(&text, PMIX_LOG_EMAIL, "help", PMIX_STRING);
    if (PMIx_Log(&text, 1, NULL, 0) == PMIX_SUCCESS)
        die("log by mail", PMIX_ERROR);
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

static void quit(pmix_rank_t who)
{
    if (self.rank == who)
        PMIx_Abort(9, "gave up", NULL, 0);
    for (;;)
        pause();
}

// Rank 0 tells the others by the fence whether another one follows.
static bool another_round(uint32_t n)
{
    pmix_value_t on = {.type = PMIX_UINT32,
                       .data.uint32 = access("/tmp/stop", F_OK) != 0};
    char key[32];
    snprintf(key, sizeof key, "on.%u", n);
    if (self.rank == 0) {
        must("put", PMIx_Put(PMIX_GLOBAL, key, &on));
        must("commit", PMIx_Commit());
    }
    fence(NULL, 0, true);
    return get_u32(0, key) != 0;
}

static void rounds(void)
{
    uint32_t n = 0;
    do {
        printf("rank %u round %u\n", self.rank, ++n);
        fflush(stdout);
    } while (another_round(n));
    printf("rank %u ended %u\n", self.rank, n);
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
    } else if (strcmp(mode, "group") == 0) {
        group();
    } else if (strcmp(mode, "event") == 0) {
        event();
    } else if (strcmp(mode, "query") == 0) {
        queries();
    } else if (strcmp(mode, "log") == 0) {
        log_text();
    } else if (strcmp(mode, "names") == 0) {
        names();
    } else if (strcmp(mode, "rounds") == 0) {
        rounds();
    } else if (strcmp(mode, "quit") == 0) {
        fence(NULL, 0, false);
        quit(who);
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
