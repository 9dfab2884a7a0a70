// The count of OOM kills, from trees as container runtimes make them.
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agent/oom.h"
#include "common/mem.h"

static char root[64];

static void put(const char *dir, const char *file, const char *text)
{
    CLEANUP_FREE char *cmd = xasprintf("mkdir -p '%s%s'", root, dir);
    cr_assert_eq(system(cmd), 0);
    CLEANUP_FREE char *path = xasprintf("%s%s/%s", root, dir, file);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void set_up(void)
{
    snprintf(root, sizeof root, "/tmp/muster-oom-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

static void tear_down(void)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(oom, .init = set_up, .fini = tear_down, .timeout = 20);

Test(oom, cgroup_v2_as_a_container_sees_it)
{
    put("/proc/self", "cgroup", "0::/\n");
    put("/sys/fs/cgroup", "memory.events",
        "low 0\nhigh 3\nmax 12\noom 2\noom_kill 2\noom_group_kill 0\n");
    cr_assert_eq(oom_kills(root), 2);
}

Test(oom, cgroup_v2_below_the_root)
{
    put("/proc/self", "cgroup", "0::/kubepods/pod1\n");
    put("/sys/fs/cgroup/kubepods/pod1", "memory.events", "oom 1\noom_kill 7\n");
    put("/sys/fs/cgroup", "memory.events", "oom_kill 99\n");
    cr_assert_eq(oom_kills(root), 7);
}

Test(oom, cgroup_v1_beside_an_empty_v2)
{
    put("/proc/self", "cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/x\n");
    put("/sys/fs/cgroup/memory/a/b", "memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    cr_assert_eq(oom_kills(root), 4);
}

Test(oom, says_so_when_nothing_tells)
{
    cr_assert_eq(oom_kills(root), -1);
    put("/proc/self", "cgroup", "garbage\n\n::\n");
    cr_assert_eq(oom_kills(root), -1);
    cr_assert_eq(oom_parse("oom_kill_disable 1\nunder_oom 1\n"), -1);
}
