// Files of others that are replaced: lock, mode, links, and who came in between.
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/putfile.h"

static char dir[] = "/tmp/putfile-XXXXXX";

static void enter(void)
{
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(chdir(dir), 0);
}

static void leave(void)
{
    unlink("f");
    unlink("link");
    cr_assert_eq(rmdir(dir), 0, "something is left in %s", dir);
}

TestSuite(putfile, .init = enter, .fini = leave, .timeout = 20);

static void spill(const char *text)
{
    FILE *f = fopen("f", "w");
    fputs(text, f);
    fclose(f);
}

static void expect_text(const char *want)
{
    char got[64] = "";
    FILE *f = fopen("f", "r");
    cr_assert_not_null(f);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    fclose(f);
    cr_assert_str_eq(got, want);
}

static int put(struct putfile *p, const char *text, struct err *err)
{
    BUF_AUTO b = BUF_INIT;
    buf_append_str(&b, text);
    return putfile_write(p, &b, err);
}

Test(putfile, replaces_what_a_link_leads_to_and_keeps_its_mode)
{
    ERR_AUTO err = ERR_INIT;
    struct stat st;
    spill("old");
    cr_assert_eq(chmod("f", 0640), 0);
    cr_assert_eq(symlink("f", "link"), 0);
    struct putfile *p = putfile_open("link", &err);
    cr_assert_not_null(p, "%s", err_text(&err));
    cr_assert_eq(put(p, "new", &err), 0, "%s", err_text(&err));
    putfile_close(p);
    expect_text("new");
    cr_assert_eq(stat("f", &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0640);
    cr_assert_eq(lstat("link", &st), 0);
    cr_assert(S_ISLNK(st.st_mode));
}

Test(putfile, keeps_what_somebody_wrote_in_between)
{
    ERR_AUTO err = ERR_INIT;
    spill("old");
    struct putfile *p = putfile_open("f", &err);
    cr_assert_not_null(p);
    spill("theirs");
    cr_assert_eq(put(p, "new", &err), -1);
    cr_assert_str_eq(err.kind, "PUT_CHANGED");
    putfile_close(p);
    expect_text("theirs");
}

// 0: it waited for the lock, and found what the other had written.
static int second_writer(int ready)
{
    struct putfile *p;
    char c = 0;
    char got[8] = "";
    if (write(ready, &c, 1) != 1)
        return 1;
    p = putfile_open("f", NULL);
    int fd = open("f", O_RDONLY | O_CLOEXEC);
    if (p == NULL || fd < 0 || read(fd, got, sizeof got - 1) < 0)
        return 2;
    if (strcmp(got, "one") != 0)
        return 3;
    return put(p, "two", NULL) == 0 ? 0 : 4;
}

Test(putfile, a_second_writer_waits_and_sees_the_new_file)
{
    ERR_AUTO err = ERR_INIT;
    int ready[2], status;
    char c;
    spill("old");
    cr_assert_eq(pipe(ready), 0);
    struct putfile *p = putfile_open("f", &err);
    pid_t child = fork();
    if (child == 0)
        _exit(second_writer(ready[1]));
    cr_assert_eq(read(ready[0], &c, 1), 1);
    cr_assert_eq(put(p, "one", &err), 0);
    putfile_close(p);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0, "the second writer: %d", WEXITSTATUS(status));
    expect_text("two");
}

Test(putfile, says_why_not)
{
    ERR_AUTO err = ERR_INIT;
    cr_assert_null(putfile_open("none", &err));
    cr_assert_str_eq(err.kind, "PUT_NOT_FOUND");
    cr_assert_null(putfile_open(".", &err));
    cr_assert_str_eq(err.kind, "PUT_FAILED");
}
