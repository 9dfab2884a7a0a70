// Training's files: shards, the directory of checkpoints, the log of losses, the plot, the text.
#include <criterion/criterion.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/crc32.h"
#include "kernels/train/checkpoint.h"
#include "kernels/train/ckptdir.h"
#include "kernels/train/losslog.h"
#include "kernels/train/plot.h"
#include "kernels/train/shard.h"
#include "kernels/train/text.h"
#include "kernels/train/wholefile.h"
#include "tests/unit/numbers.h"

static char *folder(void)
{
    char *dir = xstrdup("/tmp/muster-train.XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    return dir;
}

static void remove_folder(const char *dir)
{
    CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", dir);
    cr_assert_eq(system(command), 0);
}

static void put_text(const char *path, const char *text)
{
    BUF_AUTO b = BUF_INIT;
    buf_append_str(&b, text);
    cr_assert_eq(wholefile_put(path, &b, NULL), 0);
}

// ---- checkpoints ------------------------------------------------------------------

struct bed {
    char *dir;
    struct recipe recipe;
    struct units units;
    struct comm *comm;
    struct params *params;
    struct checkpoint checkpoint;
    char *warned; // the last warning
    int warnings;
};

static void bed_make(struct bed *b)
{
    *b = (struct bed){.dir = folder(),
                      .recipe = {.config = {.dim = 32,
                                            .hidden_dim = 48,
                                            .layers = 2,
                                            .heads = 2,
                                            .kv_heads = 2,
                                            .vocab = 256,
                                            .seq_len = 8,
                                            .shared = true},
                                 .lr = 0.5,
                                 .steps = 10,
                                 .batch = 3}};
    b->units = units_of(&b->recipe.config);
    b->comm = comm_self();
    b->params = params_create(&b->units, compute_cpu(), b->comm, 1);
    params_init(b->params, 5);
    b->checkpoint = (struct checkpoint){.dir = b->dir,
                                        .keep = 2,
                                        .recipe = &b->recipe,
                                        .units = &b->units,
                                        .params = b->params,
                                        .comm = b->comm};
}

static void bed_end(struct bed *b)
{
    params_destroy(b->params);
    comm_destroy(b->comm);
    remove_folder(b->dir);
    free(b->dir);
    free(b->warned);
}

static void remember(void *arg, const char *text)
{
    struct bed *b = arg;
    free(b->warned);
    b->warned = xstrdup(text);
    b->warnings++;
}

static int load(struct bed *b, uint64_t *step, struct err *err)
{
    return checkpoint_load(&b->checkpoint, step, remember, b, err);
}

static void damage(const char *path, off_t at)
{
    uint8_t byte;
    CLEANUP_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
}

Test(checkpoint, every_flipped_bit_is_found)
{
    struct bed b;
    bed_make(&b);
    CLEANUP_FREE char *path = xasprintf("%s/shard", b.dir);
    const struct shard own = {.ranks = 1, .step = 7},
                       s = {.rank = 1, .ranks = 3, .step = 7};
    struct stat st;
    cr_assert_eq(shard_write(path, &own, &b.recipe, &b.units, b.params, NULL), 0);
    cr_assert_eq(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at += at < 200 ? 1 : 9973) {
        ERR_AUTO err = ERR_INIT;
        damage(path, at);
        cr_assert_eq(shard_read(path, &own, &b.recipe, &b.units, b.params, &err), -1);
        cr_assert_null(err.kind, "%s", err_text(&err));
        damage(path, at);
    }
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(shard_read(path, &own, &b.recipe, &b.units, b.params, &err), 0, "%s",
                 err_text(&err));
    cr_assert_eq(shard_read(path, &s, &b.recipe, &b.units, b.params, &err), -1);
    cr_assert(strstr(err_text(&err), "rank 0 of 1 at step 7") != NULL, "%s",
              err_text(&err));
    bed_end(&b);
}

// The right CRC behind a header with this many floats and no floats: what no writer makes.
static void put_header(const char *path, const struct bed *b, uint64_t floats)
{
    BUF_AUTO file = BUF_INIT;
    const uint32_t numbers[4] = {1, 0, 1, 0};
    const uint64_t step = 7;
    uint64_t fields[RECIPE_FIELDS];
    recipe_fields(&b->recipe, fields);
    buf_append_str(&file, "MUSTERCK");
    buf_append(&file, numbers, sizeof numbers);
    buf_append(&file, &step, sizeof step);
    buf_append(&file, &floats, sizeof floats);
    buf_append(&file, fields, sizeof fields);
    uint32_t crc = crc32_add(0, buf_data(&file), buf_len(&file));
    buf_append(&file, &crc, sizeof crc);
    cr_assert_eq(wholefile_put(path, &file, NULL), 0);
}

Test(checkpoint, a_number_of_floats_that_is_not_the_models_is_refused)
{
    struct bed b;
    const struct shard s = {.ranks = 1, .step = 7};
    bed_make(&b);
    CLEANUP_FREE char *path = xasprintf("%s/shard", b.dir);
    for (int i = 0; i < 2; i++) {
        ERR_AUTO err = ERR_INIT;
        put_header(path, &b, i == 0 ? 0 : UINT64_C(1) << 62); // of 2^64 bytes
        cr_assert_eq(shard_read(path, &s, &b.recipe, &b.units, b.params, &err), -1);
        cr_assert_null(err.kind);
        cr_assert_not_null(strstr(err_text(&err), i == 0 ? "it has 0 floats" : "cut"),
                           "%s", err_text(&err));
    }
    bed_end(&b);
}

Test(checkpoint, another_recipe_is_refused_by_its_option)
{
    struct bed b;
    uint64_t step = 0;
    ERR_AUTO err = ERR_INIT;
    bed_make(&b);
    cr_assert_eq(load(&b, &step, &err), 0);
    cr_assert_eq(checkpoint_save(&b.checkpoint, 1, &err), 0, "%s", err_text(&err));
    b.recipe.lr = 0.25;
    cr_assert_eq(load(&b, &step, &err), -1);
    cr_assert(strstr(err_text(&err), "--lr 0.5, and that is 0.25 now") != NULL, "%s",
              err_text(&err));
    cr_assert_eq(b.warnings, 0);
    bed_end(&b);
}

Test(checkpoint, the_one_before_is_taken_and_old_ones_go)
{
    struct bed b;
    uint64_t step = 0;
    ERR_AUTO err = ERR_INIT;
    bed_make(&b);
    for (uint64_t s = 1; s <= 3; s++)
        cr_assert_eq(checkpoint_save(&b.checkpoint, s, &err), 0, "%s", err_text(&err));
    CLEANUP_FREE char *first = xasprintf("%s/step-00000001-of-1", b.dir);
    CLEANUP_FREE char *last = xasprintf("%s/step-00000003-of-1/shard-0", b.dir);
    cr_assert_neq(access(first, F_OK), 0);
    cr_assert_eq(load(&b, &step, &err), 1);
    cr_assert_eq(step, 3);
    damage(last, 1000);
    cr_assert_eq(load(&b, &step, &err), 1);
    cr_assert_eq(step, 2);
    cr_assert_eq(b.warnings, 1);
    cr_assert(strstr(b.warned, "its CRC is") != NULL, "%s", b.warned);
    bed_end(&b);
}

static void save(struct bed *b, uint64_t step)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_eq(checkpoint_save(&b->checkpoint, step, &err), 0, "%s", err_text(&err));
}

static bool is_there(const struct bed *b, const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", b->dir, name);
    return access(path, F_OK) == 0;
}

static void put_in(const struct bed *b, const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", b->dir, name);
    put_text(path, "cut off");
}

Test(checkpoint, what_a_killed_rank_left_goes_with_its_folder)
{
    struct bed b;
    bed_make(&b);
    save(&b, 1);
    put_in(&b, "step-00000001-of-1/shard-0.tmp");
    save(&b, 2);
    cr_assert(is_there(&b, "step-00000001-of-1"));
    save(&b, 3);
    cr_assert_not(is_there(&b, "step-00000001-of-1"));
    bed_end(&b);
}

// Two are kept: the newest, and the one to go back to when it is damaged.
Test(checkpoint, one_without_all_its_shards_is_not_kept_in_place_of_a_whole_one)
{
    struct bed b;
    bed_make(&b);
    save(&b, 1);
    CLEANUP_FREE char *cut = xasprintf("%s/step-00000002-of-2", b.dir);
    CLEANUP_FREE char *again = xasprintf("%s/step-00000001-of-3", b.dir);
    cr_assert_eq(mkdir(cut, 0755), 0);
    cr_assert_eq(mkdir(again, 0755), 0); // comes before step 1 of 1 rank in the list
    put_in(&b, "step-00000002-of-2/shard-0");
    save(&b, 3);
    cr_assert(is_there(&b, "step-00000001-of-1/shard-0"));
    cr_assert(is_there(&b, "step-00000003-of-1/shard-0"));
    bed_end(&b);
}

// Of the folder that is watched: how often it was synced while it had no `latest`.
static struct {
    const char *dir;
    int early;
} synced;

// The C library's, for this whole program.
int fsync(int fd)
{
    struct stat folder, file;
    CLEANUP_FREE char *latest = NULL;
    if (synced.dir != NULL && fstat(fd, &file) == 0 && stat(synced.dir, &folder) == 0 &&
        folder.st_ino == file.st_ino && folder.st_dev == file.st_dev) {
        latest = xasprintf("%s/latest", synced.dir);
        synced.early += access(latest, F_OK) < 0 ? 1 : 0;
    }
    return (int)syscall(SYS_fsync, fd);
}

Test(checkpoint, its_folder_is_on_the_disk_before_latest_names_it)
{
    struct bed b;
    bed_make(&b);
    synced.dir = b.dir;
    save(&b, 1);
    cr_assert_gt(synced.early, 0);
    synced.dir = NULL;
    bed_end(&b);
}

Test(wholefile, a_folder_that_cannot_be_synced_is_no_error)
{
    CLEANUP_CLOSE int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_eq(fsync(fd), -1); // EINVAL: else this shows nothing
    cr_assert_eq(wholefile_sync_folder("/proc/self/status"), 0);
    cr_assert_eq(wholefile_sync_folder("/proc/none/status"), -1);
}

Test(ckptdir, names)
{
    static const char *const bad[] = {"",
                                      "step-1-of-1",
                                      "step-00000001-of-0",
                                      "step-00000001-of-1x",
                                      "step-00000001-of-65537",
                                      "step-00000001-of-01",
                                      " step-00000001-of-1"};
    struct ckpt_name n;
    cr_assert_eq(ckpt_name_parse("step-00000040-of-12", &n), 0);
    cr_assert(n.step == 40 && n.ranks == 12);
    cr_assert_eq(ckpt_name_parse("step-123456789-of-1", &n), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(ckpt_name_parse(bad[i], &n), -1, "%s", bad[i]);
}

// ---- the log and the plot ---------------------------------------------------------

Test(losslog, is_cut_back_to_a_step)
{
    CLEANUP_FREE char *dir = folder();
    ERR_AUTO err = ERR_INIT;
    struct losslog *l = losslog_open(dir, 0, &err);
    cr_assert_not_null(l, "%s", err_text(&err));
    cr_assert_eq(losslog_run(l), 1);
    for (uint64_t s = 1; s <= 5; s++)
        losslog_add(l,
                    &(struct loss_line){.step = s, .loss = 1.0 / (double)s, .run = 1});
    cr_assert_eq(losslog_sync(l, &err), 0);
    losslog_close(l);
    CLEANUP_FREE char *path = xasprintf("%s/loss.tsv", dir);
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    cr_assert_eq(write(fd, "6\t0.1", 5), 5); // killed in the middle of a line
    l = losslog_open(dir, 3, &err);
    cr_assert_not_null(l, "%s", err_text(&err));
    size_t n;
    const struct loss_line *lines = losslog_lines(l, &n);
    cr_assert_eq(n, 3);
    cr_assert_eq(lines[2].loss, 1.0 / 3);
    cr_assert_eq(losslog_run(l), 2);
    losslog_close(l);
    put_text(path, "# step\n1\t2\n");
    cr_assert_null(losslog_open(dir, 3, &err));
    cr_assert(strstr(err_text(&err), "loss.tsv:2: '1\t2' is no line") != NULL, "%s",
              err_text(&err));
    remove_folder(dir);
}

// What would be drawn for ever, and a count of starts that would begin anew.
Test(losslog, lines_that_were_never_written_are_refused)
{
    static const char *const bad[] = {
        "1\tinf\t1\t1\t1\t1\t1\t1\n",
        "1\t1e300\t1\t1\t1\t1\t1\t1\n",
        "1\tnan\t1\t1\t1\t1\t1\t1\n",
        "1\t1\t1\t1\t4294967295\t1\t1\t1\n",
        "1\t1\t1\t1\t1\t-1\t1\t1\n",
        "2\t1\t1\t1\t1\t1\t1\t1\n1\t1\t1\t1\t1\t1\t1\t1\n",
    };
    CLEANUP_FREE char *dir = folder();
    CLEANUP_FREE char *path = xasprintf("%s/loss.tsv", dir);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ERR_AUTO err = ERR_INIT;
        put_text(path, bad[i]);
        cr_assert_null(losslog_open(dir, 3, &err), "%s", bad[i]);
        cr_assert_not_null(strstr(err_text(&err), i < 5 ? "loss.tsv:1: '1\t"
                                                        : "tsv:2: step 1 comes behind"),
                           "%s", err_text(&err));
    }
    remove_folder(dir);
}

// Lines that were added, after a restart.
static size_t lines_of(const char *dir)
{
    ERR_AUTO err = ERR_INIT;
    size_t n;
    struct losslog *l = losslog_open(dir, 9, &err);
    cr_assert_not_null(l, "%s", err_text(&err));
    losslog_lines(l, &n);
    losslog_close(l);
    return n;
}

Test(losslog, a_line_that_could_not_be_written_whole_is_the_last)
{
    CLEANUP_FREE char *dir = folder();
    CLEANUP_FREE char *path = xasprintf("%s/loss.tsv", dir);
    ERR_AUTO err = ERR_INIT;
    struct losslog *l = losslog_open(dir, 0, &err);
    struct stat st;
    struct rlimit full, was;
    losslog_add(l, &(struct loss_line){.step = 1});
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    full =
        (struct rlimit){.rlim_cur = (rlim_t)st.st_size + 3, .rlim_max = was.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
    losslog_add(l, &(struct loss_line){.step = 2});
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
    losslog_add(l, &(struct loss_line){.step = 3});
    cr_assert_eq(losslog_sync(l, &err), -1);
    losslog_close(l);
    cr_assert_eq(lines_of(dir), 1);
    remove_folder(dir);
}

Test(plot, has_a_curve_and_a_line_at_each_restart)
{
    struct loss_line lines[100];
    BUF_AUTO out = BUF_INIT;
    for (size_t i = 0; i < 100; i++)
        lines[i] = (struct loss_line){.step = i + 1,
                                      .loss = 5.0 / (double)(i + 1),
                                      .run = i < 50 ? 1 : 2,
                                      .ranks = i < 50 ? 4 : 1};
    plot_svg(&out, "a <b> & c", lines, 100);
    CLEANUP_FREE char *svg = buf_steal_str(&out);
    cr_assert(strstr(svg, "a &lt;b&gt; &amp; c") != NULL);
    cr_assert(strstr(svg, "run 2, 1 rank<") != NULL);
    const char *restart = strstr(svg, "class=\"restart\"");
    cr_assert_not_null(restart);
    cr_assert_null(strstr(restart + 1, "class=\"restart\""));
    cr_assert(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
}

Test(plot, of_one_line_and_of_none)
{
    const struct loss_line one = {.step = 1, .loss = 2};
    for (size_t n = 0; n < 2; n++) {
        BUF_AUTO out = BUF_INIT;
        plot_svg(&out, "t", &one, n);
        CLEANUP_FREE char *svg = buf_steal_str(&out);
        cr_assert(strstr(svg, "</svg>") != NULL);
        cr_assert(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
    }
}

// ---- text -------------------------------------------------------------------------

Test(text, samples_are_of_the_text_and_the_same_each_time)
{
    CLEANUP_FREE char *dir = folder();
    CLEANUP_FREE char *path = xasprintf("%s/t", dir);
    ERR_AUTO err = ERR_INIT;
    put_text(path, "abcdefghij");
    cr_assert_null(text_open(path, 11, &err));
    struct text *t = text_open(path, 10, &err);
    cr_assert_not_null(t, "%s", err_text(&err));
    bool seen[8] = {0};
    for (uint64_t step = 0; step < 100; step++) {
        int32_t a[3], b[3];
        text_sample(t, 1, step, 2, a, 3);
        text_sample(t, 1, step, 2, b, 3);
        cr_assert_arr_eq(a, b, sizeof a);
        cr_assert(a[1] == a[0] + 1 && a[2] == a[0] + 2 && a[2] <= 'j');
        seen[a[0] - 'a'] = true;
    }
    for (int i = 0; i < 8; i++)
        cr_assert(seen[i], "%d", i); // the first and the last place, too
    text_close(t);
    remove_folder(dir);
}
