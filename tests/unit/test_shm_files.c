// What is left in shared memory: told once, with size and names, and only what is new.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/shm_files.h"
#include "common/mem.h"
#include "common/strv.h"

static char dir[64];

static void set_up(void)
{
    snprintf(dir, sizeof dir, "/dev/shm/muster-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

static void tear_down(void)
{
    nftw(dir, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

TestSuite(shm_files, .init = set_up, .fini = tear_down, .timeout = 20);

static void make(const char *name, off_t bytes)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    cr_assert(bytes == 0 || posix_fallocate(fd, 0, bytes) == 0);
    close(fd);
}

Test(shm_files, where_nothing_is_new_nothing_is_told)
{
    STRV_AUTO findings = STRV_INIT;
    make("old", 4096);
    STRV_AUTO before = STRV_INIT;
    shm_files_list(dir, &before);
    shm_files_name(dir, &before, &findings);
    shm_files_name("/dev/shm/no-such-directory", &before, &findings);
    cr_assert_eq(findings.n, 0);
}

Test(shm_files, a_file_is_named_with_its_size)
{
    STRV_AUTO findings = STRV_INIT;
    make("old", 4096);
    STRV_AUTO before = STRV_INIT;
    shm_files_list(dir, &before);
    make("nccl-a1b2c3", 3 << 19);
    shm_files_name(dir, &before, &findings);
    cr_assert_eq(findings.n, 1);
    CLEANUP_FREE char *want = xasprintf("%s has 1 file of 1.5 MiB that was made", dir);
    cr_assert_eq(strncmp(findings.v[0], want, strlen(want)), 0, "%s", findings.v[0]);
    cr_assert_not_null(strstr(findings.v[0], ": nccl-a1b2c3; "));
}

// As clocks that are set back make it, and files that were moved there.
Test(shm_files, an_old_file_that_came_since_is_new)
{
    STRV_AUTO findings = STRV_INIT, before = STRV_INIT;
    shm_files_list(dir, &before);
    make("came", 0);
    CLEANUP_FREE char *path = xasprintf("%s/came", dir);
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    cr_assert_eq(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    shm_files_name(dir, &before, &findings);
    cr_assert_eq(findings.n, 1);
}

Test(shm_files, a_name_that_another_file_took_is_new)
{
    STRV_AUTO findings = STRV_INIT, before = STRV_INIT;
    make("taken", 0);
    make("other", 0);
    shm_files_list(dir, &before);
    CLEANUP_FREE char *from = xasprintf("%s/other", dir);
    CLEANUP_FREE char *to = xasprintf("%s/taken", dir);
    cr_assert_eq(rename(from, to), 0);
    shm_files_name(dir, &before, &findings);
    cr_assert_eq(findings.n, 1);
    cr_assert_not_null(strstr(findings.v[0], ": taken; "));
}

Test(shm_files, what_is_no_file_is_not_counted_and_of_many_some_are_named)
{
    STRV_AUTO findings = STRV_INIT;
    STRV_AUTO before = STRV_INIT;
    shm_files_list(dir, &before);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make(names[i], 0);
    CLEANUP_FREE char *sub = xasprintf("%s/sub", dir);
    CLEANUP_FREE char *link = xasprintf("%s/link", dir);
    cr_assert_eq(mkdir(sub, 0700), 0);
    cr_assert_eq(symlink("a", link), 0);
    shm_files_name(dir, &before, &findings);
    cr_assert_eq(findings.n, 1);
    cr_assert_not_null(strstr(findings.v[0], " has 5 files of 0.0 MiB that were made"));
    cr_assert_not_null(strstr(findings.v[0], " and 2 more; "));
}
