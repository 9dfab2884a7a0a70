// PMI-1 over real sockets: fds passed between processes' ends, ranks that misbehave.
#include <criterion/criterion.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/pmi1.h"
#include "agent/rank_fds.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "wire/coll.h"
#include "wire/namestore.h"

TestSuite(pmi1, .timeout = 20);
TestSuite(rank_fds, .timeout = 20);

// ---- passing of fds -----------------------------------------------------------

static void pair(int sv[2])
{
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
}

Test(rank_fds, come_in_order_before_what_is_written_later)
{
    enum { N = 300 }; // more than one message holds
    int sv[2], mine[N], theirs[N];
    char c = 0, later[6] = "";
    pair(sv);
    cr_assert_eq(rank_fds_give(sv[0], mine, N, NULL), 0);
    cr_assert_eq(write(sv[0], "later", 5), 5);
    cr_assert_eq(rank_fds_take(sv[1], theirs, N, NULL), 0);
    cr_assert_eq(read(sv[1], later, 5), 5);
    cr_assert_str_eq(later, "later");
    for (int i = 0; i < N; i++) {
        char tag = (char)(i % 100);
        cr_assert_eq(write(mine[i], &tag, 1), 1);
        cr_assert_eq(read(theirs[i], &c, 1), 1);
        cr_assert_eq(c, tag, "socket %d", i);
        cr_assert((fcntl(theirs[i], F_GETFD) & FD_CLOEXEC) != 0);
    }
    rank_fds_close(mine, N);
    rank_fds_close(theirs, N);
}

Test(rank_fds, too_few_are_an_error)
{
    int sv[2], mine[2], theirs[3];
    ERR_AUTO err = ERR_INIT;
    pair(sv);
    cr_assert_eq(rank_fds_give(sv[0], mine, 2, NULL), 0);
    close(sv[0]);
    cr_assert_eq(rank_fds_take(sv[1], theirs, 3, &err), -1);
    cr_assert(strstr(err_text(&err), "2 of 3") != NULL, "%s", err_text(&err));
}

Test(rank_fds, out_of_fds_is_a_clear_error_and_leaves_none_open)
{
    int sv[2], mine[200];
    ERR_AUTO err = ERR_INIT;
    pair(sv);
    struct rlimit old, few = {.rlim_cur = (rlim_t)sv[1] + 20};
    getrlimit(RLIMIT_NOFILE, &old);
    few.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    cr_assert_eq(rank_fds_give(sv[0], mine, 200, &err), -1);
    setrlimit(RLIMIT_NOFILE, &old);
    cr_assert(strstr(err_text(&err), "ulimit -n") != NULL, "%s", err_text(&err));
    int next = dup(sv[0]);
    cr_assert_eq(next, sv[1] + 1);
}

// ---- ranks ----------------------------------------------------------------------

enum { RANKS = 2 };

struct bed {
    struct event_base *base;
    struct log *log;
    struct pmi1 *pmi1;
    int rank[RANKS];
    int connected, finalized, parts, failed, aborted;
    uint32_t names, spawned;
    uint64_t index;
    Muster__Prepare prepare;
    Muster__Position position, *positions[1];
    uint32_t ranks[RANKS];
};

static void on_connected(void *arg, size_t local)
{
    ((struct bed *)arg)->connected++;
}

static void on_finalized(void *arg, size_t local)
{
    ((struct bed *)arg)->finalized++;
}

static void on_aborted(void *arg, size_t local, int code, const char *text)
{
    ((struct bed *)arg)->aborted = code;
}

static void on_part(void *arg, const Muster__Coll *part)
{
    struct bed *b = arg;
    cr_assert_eq(part->kind, COLL_PMI1);
    cr_assert_eq(part->n_procs, 1);
    cr_assert_eq(part->procs[0]->rank, COLL_RANK_ALL);
    b->parts++;
    b->index = part->index;
}

static void on_failed(void *arg, const struct err *err)
{
    ((struct bed *)arg)->failed++;
}

static void on_names(void *arg, size_t local, Muster__Names *rq)
{
    struct bed *b = arg;
    cr_assert_str_eq(rq->items[0]->key, "pmi1:s");
    cr_assert_eq(rq->proc->rank, local);
    b->names = rq->op;
}

static void on_spawn(void *arg, size_t local, Muster__SpawnRequest *rq)
{
    struct bed *b = arg;
    cr_assert_eq(rq->parent->rank, local);
    cr_assert_str_eq(rq->parent->nspace, "muster-5-1");
    b->spawned = rq->apps[0]->ranks;
}

static void bed_open(struct bed *b)
{
    static const struct pmi1_ops ops = {on_connected, on_finalized, on_aborted, on_part,
                                        on_failed,    on_names,     on_spawn};
    static char nspace[] = "muster-5-1";
    int fds[RANKS];
    *b = (struct bed){.base = loop_create(), .ranks = {0, 1}};
    b->log =
        log_create(open("/dev/null", O_WRONLY | O_CLOEXEC), "test", LOG_LEVEL_WARN);
    muster__prepare__init(&b->prepare);
    muster__position__init(&b->position);
    b->position.ranks = b->ranks;
    b->position.n_ranks = RANKS;
    b->positions[0] = &b->position;
    b->prepare.nspace = nspace;
    b->prepare.positions = b->positions;
    b->prepare.n_positions = 1;
    for (int i = 0; i < RANKS; i++) {
        int sv[2];
        pair(sv);
        fds[i] = sv[0];
        b->rank[i] = sv[1];
        fcntl(sv[1], F_SETFL, O_NONBLOCK);
    }
    struct pmi1_conf conf = {.base = b->base, .log = b->log, .prepare = &b->prepare};
    b->pmi1 = pmi1_create(&conf, fds, &ops, b);
}

static void bed_close(struct bed *b)
{
    pmi1_destroy(b->pmi1);
    for (int i = 0; i < RANKS; i++)
        if (b->rank[i] >= 0)
            close(b->rank[i]);
    log_destroy(b->log);
    loop_destroy(b->base);
}

static void say(struct bed *b, int rank, const char *text)
{
    cr_assert_eq(write(b->rank[rank], text, strlen(text)), (ssize_t)strlen(text));
}

// Lets the loop run until the rank got something; "" is the end of its stream.
static const char *hear(struct bed *b, int rank, char *out, size_t size)
{
    ssize_t n;
    while ((n = read(b->rank[rank], out, size - 1)) < 0 && errno == EAGAIN)
        event_base_loop(b->base, EVLOOP_ONCE);
    out[n > 0 ? n : 0] = '\0';
    return out;
}

Test(pmi1, ranks_meet_in_a_barrier)
{
    struct bed b;
    char line[256];
    bed_open(&b);
    say(&b, 0, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=barr");
    hear(&b, 0, line, sizeof line);
    cr_assert_eq(b.connected, 1);
    say(&b, 0, "ier_in\n");
    say(&b, 1, "cmd=barrier_in\n");
    while (b.parts == 0)
        event_base_loop(b.base, EVLOOP_ONCE);
    Muster__Coll result = MUSTER__COLL__INIT;
    result.index = b.index;
    pmi1_result(b.pmi1, &result);
    cr_assert_str_eq(hear(&b, 0, line, sizeof line), "cmd=barrier_out rc=0\n");
    cr_assert_str_eq(hear(&b, 1, line, sizeof line), "cmd=barrier_out rc=0\n");
    bed_close(&b);
}

Test(pmi1, what_a_rank_asks_for_goes_out_and_its_answer_comes_back)
{
    struct bed b;
    char line[256], port[] = "p", nspace[] = "muster-5-1.1";
    bed_open(&b);
    say(&b, 1, "cmd=lookup_name service=s\n");
    while (b.names == 0)
        event_base_loop(b.base, EVLOOP_ONCE);
    cr_assert_eq(b.names, NAMESTORE_LOOKUP);
    Muster__NamesDone found = MUSTER__NAMES_DONE__INIT;
    Muster__NamesItem item = MUSTER__NAMES_ITEM__INIT, *items[] = {&item};
    item.value = (ProtobufCBinaryData){.len = 1, .data = (uint8_t *)port};
    found.items = items;
    found.n_items = 1;
    pmi1_names_done(b.pmi1, 1, &found);
    pmi1_names_done(b.pmi1, 1, &found); // nobody asked
    cr_assert_str_eq(hear(&b, 1, line, sizeof line),
                     "cmd=lookup_result rc=0 info=ok port=p\n");
    say(&b, 1, "mcmd=spawn\nnprocs=3\nexecname=x\nendcmd\n");
    while (b.spawned == 0)
        event_base_loop(b.base, EVLOOP_ONCE);
    cr_assert_eq(b.spawned, 3);
    Muster__SpawnDone done = MUSTER__SPAWN_DONE__INIT;
    done.nspace = nspace;
    pmi1_spawn_done(b.pmi1, 1, &done);
    cr_assert_str_eq(hear(&b, 1, line, sizeof line), "cmd=spawn_result rc=0\n");
    bed_close(&b);
}

Test(pmi1, a_rank_that_talks_nonsense_is_cut_off_and_others_are_not)
{
    struct bed b;
    char line[256];
    bed_open(&b);
    say(&b, 0, "\x16\x03\x01\n");
    cr_assert_str_eq(hear(&b, 0, line, sizeof line), "");
    say(&b, 1, "cmd=get_appnum\n");
    cr_assert_str_eq(hear(&b, 1, line, sizeof line), "cmd=appnum rc=0 appnum=0\n");
    bed_close(&b);
}

Test(pmi1, what_a_rank_said_before_its_end_is_heard)
{
    struct bed b;
    bed_open(&b);
    say(&b, 1, "cmd=finalize\ncmd=abort exitcode=9\n");
    close(b.rank[1]);
    b.rank[1] = -1;
    pmi1_drain(b.pmi1, 1);
    // Also what came behind a reply that nobody takes.
    cr_assert_eq(b.finalized, 1);
    cr_assert_eq(b.aborted, 9);
    bed_close(&b);
}

Test(pmi1, a_rank_that_does_not_read_is_not_read)
{
    static const char ask[] = "cmd=get key=PMI_process_mapping\n";
    struct bed b;
    bed_open(&b);
    size_t taken = 0;
    // Until nothing moves any more: neither side of the socket takes more.
    for (int idle = 0; idle < 3;) {
        ssize_t n = write(b.rank[0], ask, sizeof ask - 1);
        taken += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        event_base_loop(b.base, EVLOOP_NONBLOCK);
        cr_assert(taken < 16 << 20, "it is read without end");
    }
    cr_assert(taken > 0);
    bed_close(&b);
}
