// Scrub the environment, block signals, start libpmix.
#include "agent/pmix_init.h"

#include <pmix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/strv.h"

// Names that begin so; a tool or launcher around us may have left them.
static void scrub(const char *prefix)
{
    STRV_AUTO doomed = STRV_INIT;
    for (char **e = environ; e != NULL && *e != NULL; e++)
        if (strncmp(*e, prefix, strlen(prefix)) == 0)
            strv_add_steal(&doomed, xstrndup(*e, strcspn(*e, "=")));
    for (size_t i = 0; i < doomed.n; i++)
        unsetenv(doomed.v[i]);
}

// A bundle has libpmix's plugins and texts in lib/pmix2 beside its bin; without that word
// libpmix would take those of the image, which are of another version.
static void find_plugins(void)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2 && strrchr(exe, '/') != NULL; up++)
        *strrchr(exe, '/') = '\0';
    CLEANUP_FREE char *plugins = xasprintf("%s/lib/pmix2/lib/pmix", exe);
    CLEANUP_FREE char *texts = xasprintf("%s/lib/pmix2/share/pmix", exe);
    if (n <= 0 || access(plugins, R_OK | X_OK) < 0)
        return;
    setenv("PMIX_PKGLIBDIR", plugins, 1);
    // Debian's pmix-mca-params.conf names the image's.
    setenv("PMIX_MCA_mca_base_component_path", plugins, 1);
    setenv("PMIX_PKGDATADIR", texts, 1);
}

static void set_environment(void)
{
    scrub("PMIX_");
    scrub("PMI_");
    find_plugins();
    setenv("PMIX_MCA_gds", "hash", 1);    // no shared memory files that outlive us
    setenv("PMIX_MCA_psec", "native", 1); // else munge, where its library is installed
}

static const char *temporary_directory(void)
{
    const char *dir = getenv("TMPDIR");
    return dir != NULL && dir[0] != '\0' ? dir : "/tmp";
}

int pmixd_init(pmix_server_module_t *module, struct err *err)
{
    set_environment();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    // Without support for tools libpmix puts nothing there.
    const char *dir = temporary_directory();
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, dir, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, dir, PMIX_STRING);
    pmix_status_t rc = PMIx_server_init(module, info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    if (rc == PMIX_SUCCESS)
        return 0;
    err_set(err, "libpmix (%s) does not start: %s", PMIx_Get_version(),
            PMIx_Error_string(rc));
    return -1;
}
