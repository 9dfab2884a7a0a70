// PMI-1 on two nodes without sockets: mapping, key-value space, commands, barriers.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pmi1_kvs.h"
#include "agent/pmi1_map.h"
#include "agent/pmi1_serve.h"
#include "common/buf.h"
#include "common/mem.h"

TestSuite(pmi1_serve, .timeout = 20);
TestSuite(pmi1_kvs, .timeout = 20);
TestSuite(pmi1_map, .timeout = 20);

// ---- mapping ----------------------------------------------------------------

enum { NODES_MAX = 8, RANKS_MAX = 16 };

// `nodes` holds the node of each rank as a digit.
static char *map_of(const char *nodes, size_t max)
{
    Muster__Position position[NODES_MAX], *list[NODES_MAX];
    uint32_t ranks[NODES_MAX][RANKS_MAX];
    size_t n = 0;
    for (size_t r = 0; nodes[r] != '\0'; r++)
        n = (size_t)(nodes[r] - '0') >= n ? (size_t)(nodes[r] - '0') + 1 : n;
    for (size_t i = 0; i < n; i++) {
        muster__position__init(&position[i]);
        position[i].ranks = ranks[i];
        list[i] = &position[i];
    }
    for (uint32_t r = 0; nodes[r] != '\0'; r++) {
        Muster__Position *p = list[nodes[r] - '0'];
        p->ranks[p->n_ranks++] = r;
    }
    return pmi1_map_text(list, n, max);
}

static void assert_map(const char *nodes, const char *want)
{
    CLEANUP_FREE char *got = map_of(nodes, 1000);
    cr_assert_str_eq(got, want, "%s: %s", nodes, got);
}

Test(pmi1_map, blocks)
{
    assert_map("0", "(vector,(0,1,1))");
    assert_map("00112233", "(vector,(0,4,2))");
    assert_map("0001223", "(vector,(0,1,3),(1,1,1),(2,1,2),(3,1,1))");
    assert_map("0011222333", "(vector,(0,2,2),(2,2,3))");
    assert_map("0101", "(vector,(0,2,1),(0,2,1))");
    assert_map("1100", "(vector,(1,1,2),(0,1,2))");
}

Test(pmi1_map, too_long_is_left_out)
{
    static const char want[] = "(vector,(0,4,2))";
    CLEANUP_FREE char *fits = map_of("00112233", sizeof want - 1);
    cr_assert_str_eq(fits, want);
    cr_assert_null(map_of("00112233", sizeof want - 2));
}

// ---- key-value space ----------------------------------------------------------

Test(pmi1_kvs, what_is_put_goes_over_once)
{
    struct pmi1_kvs *a = pmi1_kvs_create(1000), *b = pmi1_kvs_create(1000);
    BUF_AUTO data = BUF_INIT;
    cr_assert_eq(pmi1_kvs_put_here(a, "here", "1", NULL), 0);
    cr_assert_eq(pmi1_kvs_put(a, "k", "old", NULL), 0);
    cr_assert_eq(pmi1_kvs_put(a, "k", "new", NULL), 0);
    cr_assert_eq(pmi1_kvs_put(a, "empty", "", NULL), 0);
    pmi1_kvs_take_new(a, &data);
    cr_assert_eq(pmi1_kvs_merge(b, buf_data(&data), buf_len(&data), NULL), 0);
    cr_assert_str_eq(pmi1_kvs_get(b, "k"), "new");
    cr_assert_str_eq(pmi1_kvs_get(b, "empty"), "");
    cr_assert_null(pmi1_kvs_get(b, "here"));
    buf_clear(&data);
    pmi1_kvs_take_new(a, &data);
    cr_assert_eq(buf_len(&data), 0);
    cr_assert_eq(pmi1_kvs_merge(b, NULL, 0, NULL), 0);
    pmi1_kvs_destroy(a);
    pmi1_kvs_destroy(b);
}

Test(pmi1_kvs, broken_data_is_refused)
{
    static const struct {
        const char *data;
        size_t len;
    } bad[] = {{"k\0v", 3}, {"k\0", 2}, {"k", 1}, {"\0v\0", 3}, {"a\0b\0c\0", 6}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pmi1_kvs *k = pmi1_kvs_create(1000);
        ERR_AUTO err = ERR_INIT;
        cr_assert_eq(pmi1_kvs_merge(k, bad[i].data, bad[i].len, &err), -1, "%zu", i);
        cr_assert_not_null(err.text);
        pmi1_kvs_destroy(k);
    }
}

Test(pmi1_kvs, the_space_is_bounded)
{
    struct pmi1_kvs *k = pmi1_kvs_create(10);
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(pmi1_kvs_put_here(k, "12345", "12345", NULL), 0);
    cr_assert_eq(pmi1_kvs_put_here(k, "12345", "54321", NULL), 0);
    cr_assert_eq(pmi1_kvs_put_here(k, "12345", "123456", &err), -1);
    cr_assert_str_eq(pmi1_kvs_get(k, "12345"), "54321");
    cr_assert_eq(pmi1_kvs_put_here(k, "x", "", NULL), -1);
    cr_assert_eq(pmi1_kvs_merge(k, "x\0y\0", 4, NULL), -1);
    pmi1_kvs_destroy(k);
    // Putting one key again and again fills what waits for the barrier.
    k = pmi1_kvs_create(10);
    cr_assert_eq(pmi1_kvs_put(k, "a", "bcd", NULL), 0);
    cr_assert_eq(pmi1_kvs_put(k, "a", "bcd", NULL), -1);
    pmi1_kvs_destroy(k);
}

// ---- commands -----------------------------------------------------------------

enum { LOCAL = 2 };

// One node of two, with ranks 0 and 1; the other one has 2 and 3.
struct node {
    struct pmi1_serve *serve;
    struct pmi1_parse *parse;
    char *reply[LOCAL]; // last one, taken by said()
    bool connected[LOCAL], finalized[LOCAL];
    int abort_code;
    char *abort_text;
    unsigned barriers;
    uint64_t index;
    struct buf part;
    char *names, *spawn; // asked for last
};

static void on_reply(void *arg, size_t local, const char *line)
{
    struct node *n = arg;
    cr_assert_null(n->reply[local], "a second reply: %s", line);
    n->reply[local] = xstrdup(line);
}

static void on_connected(void *arg, size_t local)
{
    ((struct node *)arg)->connected[local] = true;
}

static void on_finalized(void *arg, size_t local)
{
    ((struct node *)arg)->finalized[local] = true;
}

static void on_aborted(void *arg, size_t local, int code, const char *text)
{
    struct node *n = arg;
    n->abort_code = code;
    n->abort_text = xstrdup(text);
}

static void on_barrier(void *arg, uint64_t index, const void *data, size_t len)
{
    struct node *n = arg;
    n->barriers++;
    n->index = index;
    buf_clear(&n->part);
    if (len > 0)
        buf_append(&n->part, data, len);
}

static void on_names(void *arg, size_t local, enum namestore_op op, const char *service,
                     const char *port)
{
    struct node *n = arg;
    free(n->names);
    n->names = xasprintf("%d %s %s", (int)op, service, port != NULL ? port : "-");
}

// As text: programs with ranks, arguments, directory; then hosts and what was put.
static void on_spawn(void *arg, size_t local, Muster__SpawnRequest *rq)
{
    struct node *n = arg;
    BUF_AUTO out = BUF_INIT;
    for (size_t i = 0; i < rq->n_apps; i++) {
        const Muster__App *a = rq->apps[i];
        buf_printf(&out, "%u", a->ranks);
        for (size_t k = 0; k < a->n_argv; k++)
            buf_printf(&out, " %s", a->argv[k]);
        buf_printf(&out, " in %s; ", a->wdir);
    }
    for (size_t i = 0; i < rq->n_hosts; i++)
        buf_printf(&out, "%s ", rq->hosts[i]);
    for (size_t i = 0; i < rq->pmi1_kvs.len; i++)
        buf_printf(&out, "%c",
                   rq->pmi1_kvs.data[i] != '\0' ? rq->pmi1_kvs.data[i] : '|');
    n->spawn = buf_steal_str(&out);
}

static void node_open(struct node *n, size_t self)
{
    static const struct pmi1_serve_ops ops = {on_reply,   on_connected, on_finalized,
                                              on_aborted, on_barrier,   on_names,
                                              on_spawn};
    static uint8_t preput[] = "where\0here";
    Muster__App app[2], *apps[2] = {&app[0], &app[1]};
    for (int i = 0; i < 2; i++) {
        muster__app__init(&app[i]);
        app[i].ranks = i == 0 ? 3 : 1;
    }
    static char nspace[] = "muster-5-1";
    uint32_t ranks[2][LOCAL] = {{0, 1}, {2, 3}};
    Muster__Position position[2], *list[2] = {&position[0], &position[1]};
    Muster__Prepare prepare;
    muster__prepare__init(&prepare);
    for (int i = 0; i < 2; i++) {
        muster__position__init(&position[i]);
        position[i].ranks = ranks[i];
        position[i].n_ranks = LOCAL;
    }
    prepare.nspace = nspace;
    prepare.universe_size = 9;
    prepare.positions = list;
    prepare.n_positions = 2;
    prepare.apps = apps;
    prepare.n_apps = 2;
    prepare.pmi1_kvs = (ProtobufCBinaryData){.len = sizeof preput, .data = preput};
    *n = (struct node){.parse = pmi1_parse_create()};
    n->serve = pmi1_serve_create(&prepare, self, &ops, n);
}

static void node_close(struct node *n)
{
    for (int i = 0; i < LOCAL; i++)
        free(n->reply[i]);
    pmi1_serve_destroy(n->serve);
    pmi1_parse_destroy(n->parse);
    free(n->abort_text);
    free(n->names);
    free(n->spawn);
    buf_free(&n->part);
}

static int say(struct node *n, size_t local, const char *line, struct err *err)
{
    const struct pmi1_cmd *cmd;
    pmi1_parse_feed(n->parse, line, strlen(line));
    pmi1_parse_feed(n->parse, "\n", 1);
    cr_assert_eq(pmi1_parse_next(n->parse, &cmd, NULL), 1, "%s", line);
    return pmi1_serve_command(n->serve, local, cmd, err);
}

static void assert_reply(struct node *n, size_t local, const char *want)
{
    CLEANUP_FREE char *got = STEAL(n->reply[local]);
    CLEANUP_FREE char *line = want != NULL ? xasprintf("%s\n", want) : NULL;
    if (line == NULL)
        cr_assert_null(got, "%s", got);
    else
        cr_assert_str_eq(got != NULL ? got : "(none)", line);
}

static void ask(struct node *n, size_t local, const char *line, const char *want)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(say(n, local, line, &err), 0, "%s: %s", line, err_text(&err));
    assert_reply(n, local, want);
}

Test(pmi1_serve, a_rank_from_init_to_finalize)
{
    struct node n;
    node_open(&n, 0);
    ask(&n, 1, "cmd=init pmi_version=1 pmi_subversion=1",
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    cr_assert(n.connected[1] && !n.connected[0]);
    ask(&n, 1, "cmd=get_maxes",
        "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=880");
    ask(&n, 1, "cmd=get_appnum", "cmd=appnum rc=0 appnum=0");
    ask(&n, 1, "cmd=get_my_kvsname", "cmd=my_kvsname rc=0 kvsname=muster-5-1");
    ask(&n, 1, "cmd=get_universe_size", "cmd=universe_size rc=0 size=9");
    ask(&n, 1, "cmd=get kvsname=muster-5-1 key=PMI_process_mapping",
        "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))");
    ask(&n, 1, "cmd=finalize", "cmd=finalize_ack rc=0");
    cr_assert(n.finalized[1] && !n.finalized[0]);
    node_close(&n);
}

Test(pmi1_serve, another_version_is_refused)
{
    struct node n;
    ERR_AUTO err = ERR_INIT;
    node_open(&n, 0);
    cr_assert_eq(say(&n, 0, "cmd=init pmi_version=2 pmi_subversion=0", &err), -1);
    assert_reply(&n, 0, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
    cr_assert(!n.connected[0]);
    node_close(&n);
}

Test(pmi1_serve, puts_are_everywhere_after_the_barrier)
{
    struct node a, b;
    node_open(&a, 0);
    node_open(&b, 1);
    ask(&a, 0, "cmd=put kvsname=muster-5-1 key=k0 value=v\\ 0",
        "cmd=put_result rc=0 msg=success");
    ask(&b, 1, "cmd=get key=k0",
        "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    ask(&a, 1, "cmd=barrier_in", NULL);
    cr_assert_eq(a.barriers, 0, "one of two ranks");
    ask(&a, 0, "cmd=barrier_in", NULL);
    ask(&b, 0, "cmd=barrier_in", NULL);
    ask(&b, 1, "cmd=barrier_in", NULL);
    cr_assert_eq(a.barriers, 1);
    cr_assert_eq(buf_len(&b.part), 0);
    cr_assert_eq(pmi1_serve_barrier_done(b.serve, 0, 0, "", buf_data(&a.part),
                                         buf_len(&a.part), NULL),
                 0);
    assert_reply(&b, 0, "cmd=barrier_out rc=0");
    assert_reply(&b, 1, "cmd=barrier_out rc=0");
    ask(&b, 1, "cmd=get key=k0", "cmd=get_result rc=0 msg=success value=v\\ 0");
    ask(&b, 0, "cmd=barrier_in", NULL);
    ask(&b, 1, "cmd=barrier_in", NULL);
    cr_assert_eq(b.index, 1, "the next one has another number");
    node_close(&a);
    node_close(&b);
}

Test(pmi1_serve, a_failed_barrier_is_told)
{
    struct node n;
    ERR_AUTO err = ERR_INIT;
    node_open(&n, 0);
    cr_assert_eq(pmi1_serve_barrier_done(n.serve, 0, -1, "x", NULL, 0, NULL), 0);
    assert_reply(&n, 0, NULL);
    ask(&n, 0, "cmd=barrier_in", NULL);
    cr_assert_eq(say(&n, 0, "cmd=barrier_in", &err), -1, "twice in a barrier");
    ask(&n, 1, "cmd=barrier_in", NULL);
    cr_assert_eq(pmi1_serve_barrier_done(n.serve, 7, -1, "x", NULL, 0, NULL), 0);
    assert_reply(&n, 0, NULL);
    cr_assert_eq(
        pmi1_serve_barrier_done(n.serve, 0, -1, "rank 3 is gone", NULL, 0, NULL), 0);
    assert_reply(&n, 0, "cmd=barrier_out rc=-1 msg=rank_3_is_gone");
    assert_reply(&n, 1, "cmd=barrier_out rc=-1 msg=rank_3_is_gone");
    ask(&n, 0, "cmd=barrier_in", NULL);
    ask(&n, 1, "cmd=barrier_in", NULL);
    cr_assert_eq(pmi1_serve_barrier_done(n.serve, 1, 0, "", "bad", 3, &err), -1);
    assert_reply(&n, 1, "cmd=barrier_out rc=-1 msg=bad_data_from_other_ranks");
    node_close(&n);
}

Test(pmi1_serve, bad_puts)
{
    struct node n;
    node_open(&n, 0);
    char key[PMI1_KEY_MAX + 1] = {0}, value[PMI1_VALUE_MAX + 1] = {0};
    memset(key, 'k', PMI1_KEY_MAX);
    memset(value, 'v', PMI1_VALUE_MAX);
    CLEANUP_FREE char *long_key = xasprintf("cmd=put key=%s value=v", key);
    CLEANUP_FREE char *long_value = xasprintf("cmd=put key=k value=%s", value);
    CLEANUP_FREE char *fits = xasprintf("cmd=put key=%s value=%s", key + 1, value + 1);
    ask(&n, 0, long_key, "cmd=put_result rc=-1 msg=key_is_longer_than_keylen_max");
    ask(&n, 0, long_value, "cmd=put_result rc=-1 msg=value_is_longer_than_vallen_max");
    ask(&n, 0, fits, "cmd=put_result rc=0 msg=success");
    ask(&n, 0, "cmd=put key=k", "cmd=put_result rc=-1 msg=key_or_value_is_missing");
    ask(&n, 0, "cmd=put key= value=v",
        "cmd=put_result rc=-1 msg=key_or_value_is_missing");
    ask(&n, 0, "cmd=put kvsname=other key=k value=v",
        "cmd=put_result rc=-1 msg=no_such_kvsname");
    node_close(&n);
}

Test(pmi1_serve, abort_has_a_code_and_a_text)
{
    struct node n;
    node_open(&n, 0);
    ask(&n, 0, "cmd=abort exitcode=7 error_msg=it\\ broke", NULL);
    cr_assert_eq(n.abort_code, 7);
    cr_assert_str_eq(n.abort_text, "it broke");
    node_close(&n);
}

Test(pmi1_serve, names_go_out_and_come_back)
{
    struct node n;
    ERR_AUTO err = ERR_INIT;
    node_open(&n, 0);
    ask(&n, 0, "cmd=publish_name service=s port=p", NULL);
    cr_assert_str_eq(n.names, "1 s p");
    cr_assert_eq(say(&n, 0, "cmd=lookup_name service=s", &err), -1, "it waits");
    pmi1_serve_names_done(n.serve, 0, NAMESTORE_OK, NULL);
    assert_reply(&n, 0, "cmd=publish_result rc=0 info=ok");
    ask(&n, 1, "cmd=lookup_name service=s", NULL);
    cr_assert_str_eq(n.names, "2 s -");
    pmi1_serve_names_done(n.serve, 1, NAMESTORE_OK, "p");
    assert_reply(&n, 1, "cmd=lookup_result rc=0 info=ok port=p");
    ask(&n, 1, "cmd=lookup_name service=t", NULL);
    pmi1_serve_names_done(n.serve, 1, NAMESTORE_NOT_FOUND, NULL);
    assert_reply(&n, 1, "cmd=lookup_result rc=-1 info=not_found msg=not_found");
    ask(&n, 0, "cmd=unpublish_name service=s", NULL);
    cr_assert_str_eq(n.names, "3 s -");
    pmi1_serve_names_done(n.serve, 0, NAMESTORE_OK, NULL);
    assert_reply(&n, 0, "cmd=unpublish_result rc=0 info=ok");
    pmi1_serve_names_done(n.serve, 0, NAMESTORE_OK, NULL); // nobody asked
    pmi1_serve_names_done(n.serve, 7, NAMESTORE_OK, NULL);
    assert_reply(&n, 0, NULL);
    ask(&n, 0, "cmd=publish_name service=s",
        "cmd=publish_result rc=-1 info=service_or_port_is_missing "
        "msg=service_or_port_is_missing");
    ask(&n, 0, "cmd=lookup_name service=s", NULL);
    pmi1_serve_names_done(n.serve, 0, NAMESTORE_OK, "p\ncmd=x"); // another's PMIx value
    assert_reply(&n, 0,
                 "cmd=lookup_result rc=-1 info=the_request_makes_no_sense "
                 "msg=the_request_makes_no_sense");
    node_close(&n);
}

Test(pmi1_serve, a_spawn_has_programs_hosts_and_what_is_put_for_the_children)
{
    struct node n;
    node_open(&n, 0);
    static const char first[] = "mcmd=spawn\nnprocs=2\nexecname=a b\ntotspawns=2\n"
                                "spawnssofar=1\narg1=x y\narg2=\nargcnt=2\n"
                                "preput_num=1\npreput_key_0=PORT\npreput_val_0=t#1\n"
                                "info_num=2\ninfo_key_0=host\ninfo_val_0=h1,h2\n"
                                "info_key_1=wdir\ninfo_val_1=/w d\nendcmd\n";
    pmi1_parse_feed(n.parse, first, sizeof first - 1);
    ask(&n, 1,
        "mcmd=spawn\nnprocs=1\nexecname=c\ntotspawns=2\nspawnssofar=2\nargcnt=0\n"
        "preput_num=1\npreput_key_0=PORT\npreput_val_0=t#1\ninfo_num=0\nendcmd",
        NULL);
    cr_assert_str_eq(n.spawn, "2 a b x y  in /w d; 1 c in ; h1 h2 PORT|t#1|");
    pmi1_serve_spawn_done(n.serve, 1, "");
    assert_reply(&n, 1, "cmd=spawn_result rc=0");
    ask(&n, 0, "mcmd=spawn\nnprocs=1\nendcmd",
        "cmd=spawn_result rc=-1 msg=spawn_wants_execname_and_nprocs");
    ask(&n, 0, "mcmd=spawn\nnprocs=1\nexecname=x\nargcnt=2000000000\nendcmd", NULL);
    pmi1_serve_spawn_done(n.serve, 0, "x: not found");
    assert_reply(&n, 0, "cmd=spawn_result rc=-1 msg=x:_not_found");
    pmi1_serve_spawn_done(n.serve, 0, "");
    assert_reply(&n, 0, NULL);
    node_close(&n);
}

Test(pmi1_serve, a_spawned_rank_knows_its_program_and_finds_what_was_put_for_it)
{
    struct node n;
    node_open(&n, 1);
    ask(&n, 0, "cmd=get_appnum", "cmd=appnum rc=0 appnum=0");
    ask(&n, 1, "cmd=get_appnum", "cmd=appnum rc=0 appnum=1");
    ask(&n, 0, "cmd=get key=where", "cmd=get_result rc=0 msg=success value=here");
    node_close(&n);
}

Test(pmi1_serve, what_is_not_served_says_so)
{
    struct node n;
    node_open(&n, 0);
    ask(&n, 0, "cmd=frobnicate a=b", "cmd=unknown rc=-1 msg=frobnicate_is_not_served");
    node_close(&n);
}
