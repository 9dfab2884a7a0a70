// Findings before the start.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "agent/preflight.h"

static const char *finding(uint64_t mib, uint32_t ranks, const char *tmpdir)
{
    static char text[512];
    STRV_AUTO w = STRV_INIT;
    struct preflight p = {.shm_bytes = mib << 20, .ranks = ranks, .tmpdir = tmpdir};
    preflight_warn(&p, &w);
    snprintf(text, sizeof text, "%s", w.n > 0 ? w.v[0] : "");
    return text;
}

// Case lau-19: 64 MiB, as kubelet gives, for 8 ranks.
Test(preflight, a_small_shm_is_told_with_its_remedy)
{
    const char *text = finding(64, 8, "/tmp");
    cr_assert_not_null(strstr(text, "SHM_SMALL: /dev/shm has 64 MiB for 8 ranks"));
    cr_assert_not_null(strstr(text, "emptyDir with medium: Memory"));
    cr_assert_str_eq(finding(512, 8, "/tmp"), "");
    cr_assert_str_eq(finding(64, 1, "/tmp"), "");
    cr_assert_str_eq(finding(0, 8, "/tmp"), "");
}

// Case lau-20: a TMPDIR of 110 characters.
Test(preflight, a_long_tmpdir_is_told)
{
    char dir[111];
    memset(dir, 'd', sizeof dir);
    dir[0] = '/';
    dir[110] = '\0';
    cr_assert_not_null(strstr(finding(512, 1, dir), "TMPDIR has 110 characters"));
    dir[60] = '\0';
    cr_assert_str_eq(finding(512, 1, dir), "");
}

Test(preflight, looks_at_this_machine)
{
    struct preflight p = {.ranks = 1};
    preflight_look(&p);
    cr_assert_not_null(p.tmpdir);
    cr_assert_gt(p.shm_bytes, 0);
}
