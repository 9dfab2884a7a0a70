// What ranks find in their environment.
#include <criterion/criterion.h>
#include <string.h>

#include "agent/rank_env.h"
#include "common/mem.h"

// Three positions with 2, 1 and 3 ranks, numbered round robin; user -x entries in
// `env`.
struct job {
    Muster__Prepare prepare;
    Muster__Go go;
    Muster__App app;
    Muster__Position position[3], *positions[3];
    uint32_t ranks[3][3];
    struct rank_env e;
};

static void make_job(struct job *j, size_t self)
{
    static const uint32_t ranks[3][3] = {{0, 3}, {1}, {2, 4, 5}};
    static const size_t counts[3] = {2, 1, 3};
    static char names[3][16] = {"pod-0", "pod-1", "pod-2.svc"};
    memcpy(j->ranks, ranks, sizeof ranks);
    muster__prepare__init(&j->prepare);
    muster__go__init(&j->go);
    muster__app__init(&j->app);
    for (int i = 0; i < 3; i++) {
        muster__position__init(&j->position[i]);
        j->position[i].name = names[i];
        j->position[i].ranks = j->ranks[i];
        j->position[i].n_ranks = counts[i];
        j->positions[i] = &j->position[i];
    }
    j->prepare.positions = j->positions;
    j->prepare.n_positions = 3;
    static char key[] = "train", address[] = "10.1.2.3";
    j->prepare.job_key = key;
    j->prepare.universe_size = 24;
    j->go.master_address = address;
    j->go.master_port = 20123;
    j->e = (struct rank_env){
        .prepare = &j->prepare, .go = &j->go, .self = self, .attempt = 4, .cpus = 16};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The sorted entries, one a line.
static char *text(struct strv *s)
{
    qsort(s->v, s->n, sizeof *s->v, by_text);
    char *out = xstrdup("");
    for (size_t i = 0; i < s->n; i++) {
        char *more = xasprintf("%s%s\n", out, s->v[i]);
        free(out);
        out = more;
    }
    return out;
}

static const char common_part[] = "GROUP_RANK=2\n"
                                  "GROUP_WORLD_SIZE=3\n"
                                  "LOCAL_SIZE=3\n"
                                  "LOCAL_WORLD_SIZE=3\n"
                                  "MASTER_ADDR=10.1.2.3\n"
                                  "MASTER_PORT=20123\n"
                                  "MPI_LOCALNRANKS=3\n"
                                  "MUSTER_ATTEMPT=4\n"
                                  "MUSTER_HOST=pod-2.svc\n"
                                  "MUSTER_JOB=train\n"
                                  "MUSTER_LOCAL_SIZE=3\n"
                                  "MUSTER_NNODES=3\n"
                                  "MUSTER_NODE_RANK=2\n"
                                  "MUSTER_RESTART_COUNT=3\n"
                                  "MUSTER_SIZE=6\n"
                                  "NODE_RANK=2\n"
                                  "OMPI_COMM_WORLD_LOCAL_SIZE=3\n"
                                  "OMPI_COMM_WORLD_SIZE=6\n"
                                  "OMPI_UNIVERSE_SIZE=24\n"
                                  "PMI_SIZE=6\n"
                                  "TORCHELASTIC_RESTART_COUNT=3\n"
                                  "TORCHELASTIC_RUN_ID=train\n"
                                  "WORLD_SIZE=6\n";

static char *no_base[] = {NULL};

Test(rank_env, the_common_part_exactly)
{
    struct job j;
    STRV_AUTO out = STRV_INIT;
    make_job(&j, 2);
    rank_env_common(&j.e, &j.app, no_base, &out);
    CLEANUP_FREE char *got = text(&out);
    cr_assert_str_eq(got, common_part);
}

Test(rank_env, a_restart_says_why_and_old_reasons_go)
{
    struct job j;
    STRV_AUTO out = STRV_INIT;
    char old[] = "MUSTER_RESTART_REASON=of an outer job", why[] = "rank 3 ended: \"1\"";
    char *base[] = {old, NULL};
    make_job(&j, 2);
    rank_env_common(&j.e, &j.app, base, &out);
    cr_assert_null(strv_getenv(&out, "MUSTER_RESTART_REASON"));
    strv_free(&out);
    j.prepare.restart_reason = why;
    rank_env_common(&j.e, &j.app, base, &out);
    cr_assert_str_eq(strv_getenv(&out, "MUSTER_RESTART_REASON"), why);
}

Test(rank_env, the_part_of_a_rank_exactly)
{
    struct job j;
    STRV_AUTO out = STRV_INIT;
    make_job(&j, 2);
    rank_env_rank(&j.e, 1, &out);
    CLEANUP_FREE char *got = text(&out);
    cr_assert_str_eq(got, "CROSS_RANK=1\n"
                          "CROSS_SIZE=2\n"
                          "LOCAL_RANK=1\n"
                          "MPI_LOCALRANKID=1\n"
                          "MUSTER_LOCAL_RANK=1\n"
                          "MUSTER_RANK=4\n"
                          "OMPI_COMM_WORLD_LOCAL_RANK=1\n"
                          "OMPI_COMM_WORLD_NODE_RANK=1\n"
                          "OMPI_COMM_WORLD_RANK=4\n"
                          "PMI_RANK=4\n"
                          "RANK=4\n");
}

// By local rank: 0 is on positions 0, 1, 2; 1 on 0 and 2; 2 on 2 only.
Test(rank_env, cross_counts_the_positions_that_have_the_local_rank)
{
    static const uint32_t want[3][3][2] = {
        {{0, 3}, {0, 2}}, {{1, 3}}, {{2, 3}, {1, 2}, {0, 1}}};
    static const size_t counts[3] = {2, 1, 3};
    for (size_t self = 0; self < 3; self++)
        for (size_t local = 0; local < counts[self]; local++) {
            struct job j;
            uint32_t rank, size;
            make_job(&j, self);
            rank_env_cross(&j.e, local, &rank, &size);
            cr_assert_eq(rank, want[self][local][0], "%zu %zu: %u", self, local, rank);
            cr_assert_eq(size, want[self][local][1], "%zu %zu: %u", self, local, size);
        }
}

Test(rank_env, other_launchers_leave_nothing)
{
    static const char *const theirs[] = {"PMIX_NAMESPACE=old",
                                         "PMIX_LAUNCHER_RNDZ_URI=x",
                                         "PMIX_KEEPALIVE_PIPE=7",
                                         "PMI_FD=9",
                                         "OMPI_COMM_WORLD_RANK=9",
                                         "OMPI_MCA_ess_base_vpid=9",
                                         "SLURM_PROCID=9",
                                         "JSM_JSRUN_PORT=9",
                                         "FLUX_JOB_ID=9",
                                         "MPI_LOCALRANKID=9",
                                         "RANK=9",
                                         "LOCAL_RANK=9",
                                         "CROSS_RANK=9",
                                         "MUSTER_RANK=9",
                                         "MASTER_ADDR=9",
                                         "TORCHELASTIC_USE_AGENT_STORE=True"};
    // Alike, but nobody's.
    static const char *const ours[] = {"PATH=/bin", "RANKING=1",   "OMPI_MCA_pml=ob1",
                                       "NO_EQUALS", "MY_PMIX_X=1", "PMIXER=1"};
    STRV_AUTO base = STRV_INIT;
    STRV_AUTO out = STRV_INIT;
    STRV_AUTO want = STRV_INIT;
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
        strv_add(&base, theirs[i]);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        strv_add(&base, ours[i]);
        strv_add(&want, ours[i]);
    }
    struct job j;
    make_job(&j, 2);
    rank_env_common(&j.e, &j.app, base.v, &out);
    rank_env_common(&j.e, &j.app, no_base, &want);
    CLEANUP_FREE char *got_text = text(&out);
    CLEANUP_FREE char *want_text = text(&want);
    cr_assert_str_eq(got_text, want_text);
}

Test(rank_env, what_the_user_forwards_wins)
{
    char *user[] = {(char[]){"RANK=user"}, (char[]){"WORLD_SIZE=user"},
                    (char[]){"PMIX_RANK=user"}, (char[]){"MINE=1=2"}};
    char *server[] = {(char[]){"PMIX_RANK=4"}, (char[]){"PMIX_NAMESPACE=ns"}};
    Muster__RankEnv own = MUSTER__RANK_ENV__INIT, other = MUSTER__RANK_ENV__INIT;
    own.rank = 4;
    other.rank = 5;
    own.env = other.env = server;
    own.n_env = 2;
    other.n_env = 1;
    Muster__RankEnv *list[] = {&other, &own};
    Muster__PmixReady pmix = MUSTER__PMIX_READY__INIT;
    pmix.ranks = list;
    pmix.n_ranks = 2;
    struct job j;
    STRV_AUTO common = STRV_INIT;
    STRV_AUTO rank = STRV_INIT;
    make_job(&j, 2);
    j.prepare.env = user;
    j.prepare.n_env = 4;
    j.e.pmix = &pmix;
    rank_env_common(&j.e, &j.app, no_base, &common);
    rank_env_rank(&j.e, 1, &rank);
    cr_assert_str_eq(strv_getenv(&common, "RANK"), "user");
    cr_assert_str_eq(strv_getenv(&common, "WORLD_SIZE"), "user");
    cr_assert_str_eq(strv_getenv(&common, "MINE"), "1=2");
    cr_assert_str_eq(strv_getenv(&common, "JSM_JSRUN_PORT"), "0");
    cr_assert_null(strv_getenv(&rank, "RANK"));
    cr_assert_null(strv_getenv(&rank, "PMIX_RANK"));
    cr_assert_str_eq(strv_getenv(&rank, "PMIX_NAMESPACE"), "ns");
    cr_assert_str_eq(strv_getenv(&rank, "LOCAL_RANK"), "1");
    STRV_AUTO last = STRV_INIT;
    rank_env_rank(&j.e, 2, &last); // rank 5 has no namespace from the server
    cr_assert_null(strv_getenv(&last, "PMIX_NAMESPACE"));
}

Test(rank_env, values_survive_byte_for_byte)
{
    static const char value[] = "a\nb=$(rm) `x` \"q\" 'q' \\ \t\x01\xff =\n";
    CLEANUP_FREE char *inherited = xasprintf("INHERITED=%s", value);
    CLEANUP_FREE char *forwarded = xasprintf("FORWARDED=%s", value);
    char *base[] = {inherited, NULL};
    struct job j;
    STRV_AUTO out = STRV_INIT;
    make_job(&j, 0);
    j.prepare.env = &forwarded;
    j.prepare.n_env = 1;
    rank_env_common(&j.e, &j.app, base, &out);
    cr_assert_str_eq(strv_getenv(&out, "INHERITED"), value);
    cr_assert_str_eq(strv_getenv(&out, "FORWARDED"), value);
}

static const char *one(struct job *j, char *const *base, struct strv *out,
                       const char *name)
{
    strv_free(out);
    rank_env_common(&j->e, &j->app, base, out);
    return strv_getenv(out, name);
}

Test(rank_env, open_mpi_is_helped_unless_told)
{
    static const char tcp[] = "OMPI_MCA_btl_tcp_if_include";
    static const char yield[] = "OMPI_MCA_mpi_yield_when_idle";
    struct job j;
    STRV_AUTO out = STRV_INIT;
    make_job(&j, 2); // 3 ranks
    j.e.cpus = 3;
    cr_assert_null(one(&j, no_base, &out, tcp));
    cr_assert_null(one(&j, no_base, &out, yield));
    cr_assert_null(one(&j, no_base, &out, "JSM_JSRUN_PORT"));
    j.prepare.loopback = true;
    j.e.cpus = 2;
    cr_assert_str_eq(one(&j, no_base, &out, tcp), "127.0.0.0/8");
    cr_assert_str_eq(one(&j, no_base, &out, yield), "1");
    char *image[] = {(char[]){"OMPI_MCA_btl_tcp_if_include=lo"},
                     (char[]){"OMPI_MCA_mpi_yield_when_idle=0"}, NULL};
    cr_assert_str_eq(one(&j, image, &out, tcp), "lo");
    cr_assert_str_eq(one(&j, image, &out, yield), "0");
    char *user[] = {(char[]){"OMPI_MCA_btl_tcp_if_exclude=eth1"}};
    j.prepare.env = user;
    j.prepare.n_env = 1;
    cr_assert_null(one(&j, no_base, &out, tcp)); // both together are an error there
    j.e.cpus = 0;                                // not known
    cr_assert_null(one(&j, no_base, &out, yield));
}

Test(rank_env, pmi1_and_pmix_are_both_found)
{
    struct job j;
    STRV_AUTO out = STRV_INIT;
    Muster__PmixReady pmix = MUSTER__PMIX_READY__INIT;
    static const char fd[] = "PMI_FD", version[] = "MPIR_CVAR_PMI_VERSION";
    make_job(&j, 0);
    cr_assert_null(one(&j, no_base, &out, fd));
    cr_assert_null(one(&j, no_base, &out, version));
    j.e.pmix = &pmix;
    cr_assert_str_eq(one(&j, no_base, &out, version), "x");
    j.prepare.pmi1 = true;
    cr_assert_str_eq(one(&j, no_base, &out, fd), "30");
    cr_assert_str_eq(one(&j, no_base, &out, "PMI_SPAWNED"), "0");
    cr_assert_str_eq(one(&j, no_base, &out, version), "1");
    char *image[] = {(char[]){"MPIR_CVAR_PMI_VERSION=2"}, NULL};
    cr_assert_str_eq(one(&j, image, &out, version), "2");
}

Test(rank_env, an_unknown_master_is_not_set)
{
    struct job j;
    STRV_AUTO out = STRV_INIT;
    make_job(&j, 0);
    char empty[] = "";
    j.go.master_address = empty;
    j.go.master_port = 0;
    char *base[] = {(char[]){"MASTER_ADDR=old"}, NULL};
    cr_assert_null(one(&j, base, &out, "MASTER_ADDR"));
    cr_assert_null(one(&j, base, &out, "MASTER_PORT"));
}

Test(rank_env, a_universe_is_never_smaller_than_the_world)
{
    struct job j;
    STRV_AUTO out = STRV_INIT;
    make_job(&j, 0);
    j.prepare.universe_size = 0;
    cr_assert_str_eq(one(&j, no_base, &out, "OMPI_UNIVERSE_SIZE"), "6");
}

Test(rank_env, a_spawned_program_sets_variables_but_none_of_musters)
{
    struct job j;
    Muster__Proc parent = MUSTER__PROC__INIT;
    static const char *const set[] = {"OMPI_PARENT_PORT=port",
                                      "FROM=parent",
                                      "RANK=9",
                                      "PMIX_RANK=9",
                                      "JSM_JSRUN_PORT=7",
                                      "OMPI_MCA_btl_vader_backing_directory=/p"};
    STRV_AUTO env = STRV_INIT, base = STRV_INIT;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        strv_add(&env, set[i]);
    strv_add(&base, "FROM=image");
    STRV_AUTO out = STRV_INIT;
    make_job(&j, 0);
    j.prepare.parent = &parent;
    j.app.env = env.v;
    j.app.n_env = env.n;
    rank_env_common(&j.e, &j.app, base.v, &out);
    cr_assert_str_eq(strv_getenv(&out, "OMPI_PARENT_PORT"), "port");
    cr_assert_str_eq(strv_getenv(&out, "FROM"), "parent");
    cr_assert_null(strv_getenv(&out, "RANK"));
    cr_assert_null(strv_getenv(&out, "PMIX_RANK"));
    cr_assert_null(strv_getenv(&out, "JSM_JSRUN_PORT"));
    cr_assert_null(strv_getenv(&out, "OMPI_MCA_btl_vader_backing_directory"));
}

// "-x A=all -x B=all a : -x B=own -x RANK=9 b": the second program's.
Test(rank_env, what_the_user_says_for_one_program_goes_before_the_rest)
{
    struct job j;
    char a[] = "A=all", b[] = "B=all", own_b[] = "B=own", rank[] = "RANK=9";
    char *all[] = {a, b}, *own[] = {own_b, rank};
    Muster__App first = MUSTER__APP__INIT, *apps[] = {&first, &j.app};
    STRV_AUTO common = STRV_INIT, of_rank = STRV_INIT, of_first = STRV_INIT;
    make_job(&j, 1);
    first.ranks = 1;
    j.prepare.env = all;
    j.prepare.n_env = 2;
    j.app.env = own;
    j.app.n_env = 2;
    j.prepare.apps = apps;
    j.prepare.n_apps = 2;
    rank_env_common(&j.e, &j.app, no_base, &common);
    cr_assert_str_eq(strv_getenv(&common, "A"), "all");
    cr_assert_str_eq(strv_getenv(&common, "B"), "own");
    cr_assert_str_eq(strv_getenv(&common, "RANK"), "9");
    rank_env_rank(&j.e, 0, &of_rank);
    cr_assert_null(strv_getenv(&of_rank, "RANK"));
    cr_assert_str_eq(strv_getenv(&of_rank, "MUSTER_RANK"), "1");
    j.e.self = 0;
    rank_env_rank(&j.e, 0,
                  &of_first); // the other program's: nothing of it is set there
    cr_assert_str_eq(strv_getenv(&of_first, "RANK"), "0");
}

// One rank a position; what a command on its node finds, all of it.
Test(rank_env, a_command_of_a_node_is_told_nothing_that_its_own_ranks_would_take)
{
    struct job j;
    char addr[] = "10.1.2.4", host[] = "VLLM_HOST_IP={local_addr}",
         uri[] = "URI=tcp://{leader_addr}:{port}/{node_rank}/{nnodes}";
    char *env[] = {host, uri};
    STRV_AUTO out = STRV_INIT, of_rank = STRV_INIT;
    make_job(&j, 1);
    for (uint32_t i = 0; i < 3; i++) {
        j.position[i].n_ranks = 1;
        j.ranks[i][0] = i;
    }
    j.position[1].address = addr;
    j.prepare.per_node = true;
    j.prepare.env = env;
    j.prepare.n_env = 2;
    rank_env_common(&j.e, &j.app, no_base, &out);
    rank_env_rank(&j.e, 0, &of_rank);
    CLEANUP_FREE char *got = text(&out), *got_rank = text(&of_rank);
    cr_assert_str_eq(got, "MASTER_ADDR=10.1.2.3\n"
                          "MASTER_PORT=20123\n"
                          "MUSTER_ATTEMPT=4\n"
                          "MUSTER_HOST=pod-1\n"
                          "MUSTER_JOB=train\n"
                          "MUSTER_LOCAL_SIZE=1\n"
                          "MUSTER_NNODES=3\n"
                          "MUSTER_NODE_RANK=1\n"
                          "MUSTER_RESTART_COUNT=3\n"
                          "MUSTER_SIZE=3\n"
                          "NODE_RANK=1\n"
                          "URI=tcp://10.1.2.3:20123/1/3\n"
                          "VLLM_HOST_IP=10.1.2.4\n");
    cr_assert_str_eq(got_rank, "MUSTER_LOCAL_RANK=0\n"
                               "MUSTER_RANK=1\n");
}

// Ranks 2, 4 and 5 of tp=2, dp=3, pp=1.
Test(rank_env, a_grid_gives_each_rank_its_place_on_each_axis)
{
    static const char *const want[3][2] = {{"0", "1"}, {"0", "2"}, {"1", "2"}};
    struct job j;
    char tp[] = "TP", dp[] = "DP", pp[] = "PP";
    Muster__Axis axis[3] = {MUSTER__AXIS__INIT, MUSTER__AXIS__INIT, MUSTER__AXIS__INIT};
    Muster__Axis *grid[] = {&axis[0], &axis[1], &axis[2]};
    STRV_AUTO common = STRV_INIT;
    make_job(&j, 2);
    axis[0].name = tp;
    axis[0].size = 2;
    axis[1].name = dp;
    axis[1].size = 3;
    axis[2].name = pp;
    axis[2].size = 1;
    j.prepare.grid = grid;
    j.prepare.n_grid = 3;
    cr_assert_str_eq(one(&j, no_base, &common, "TP_SIZE"), "2");
    cr_assert_str_eq(strv_getenv(&common, "DP_SIZE"), "3");
    cr_assert_str_eq(strv_getenv(&common, "PP_SIZE"), "1");
    for (size_t i = 0; i < 3; i++) {
        STRV_AUTO out = STRV_INIT;
        rank_env_rank(&j.e, i, &out);
        cr_assert_str_eq(strv_getenv(&out, "TP_RANK"), want[i][0]);
        cr_assert_str_eq(strv_getenv(&out, "DP_RANK"), want[i][1]);
        cr_assert_str_eq(strv_getenv(&out, "PP_RANK"), "0");
    }
}
