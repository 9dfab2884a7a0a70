// podbox ip, pid, ps, logs, list: look, and change nothing.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/cmd.h"
#include "tests/podbox/file.h"
#include "tests/podbox/procs.h"

static int show_ip(struct bed *bed, struct pod *pod, struct err *err)
{
    CLEANUP_FREE char *ip = bed_addr_text(bed, pod->host);
    printf("%s\n", ip);
    return 0;
}

static int show_pid(struct bed *bed, struct pod *pod, struct err *err)
{
    struct ident id = pod_container(bed, pod);
    if (id.pid == 0) {
        err_set(err, "no container runs in pod %s", pod->name);
        return -1;
    }
    printf("%d\n", (int)id.pid);
    return 0;
}

static int show_ps(struct bed *bed, struct pod *pod, struct err *err)
{
    struct ident id = pod_container(bed, pod);
    procs_print(&id);
    return 0;
}

static int show_logs(struct bed *bed, struct pod *pod, struct err *err)
{
    CLEANUP_FREE char *path = pod_path(bed, pod, "log");
    CLEANUP_FREE char *text = file_exists(path) ? file_read(path, err) : xstrdup("");
    if (text == NULL)
        return -1;
    fputs(text, stdout);
    return 0;
}

int cmd_show(const char *name, int argc, char **argv, struct err *err)
{
    static const struct {
        const char *word;
        int (*fn)(struct bed *, struct pod *, struct err *);
    } views[] = {
        {"ip", show_ip}, {"pid", show_pid}, {"ps", show_ps}, {"logs", show_logs}};
    if (argc != 2)
        return cmd_usage(argv[0], "want POD", err);
    struct bed *bed = bed_load(name, err);
    struct pod *pod = bed != NULL ? bed_pod(bed, argv[1], err) : NULL;
    int rc = -1;
    for (size_t i = 0; pod != NULL && i < sizeof views / sizeof views[0]; i++)
        if (strcmp(argv[0], views[i].word) == 0)
            rc = views[i].fn(bed, pod, err);
    bed_destroy(bed);
    return rc;
}

// ---- list -------------------------------------------------------------------

// "running", or how the last container ended.
static char *state_of(const struct bed *bed, const struct pod *pod)
{
    if (pod_container(bed, pod).pid != 0)
        return xstrdup("running");
    CLEANUP_FREE char *path = pod_path(bed, pod, "exit");
    CLEANUP_FREE char *text = file_read(path, NULL);
    const char *how = text != NULL ? strchr(text, ' ') : NULL;
    if (how == NULL)
        return xstrdup("not running");
    return xasprintf("ended: %.*s", (int)strcspn(how + 1, "\n"), how + 1);
}

static int list_json(const struct bed *bed)
{
    json_t *pods = json_array();
    for (size_t i = 0; i < bed->npods; i++) {
        const struct pod *pod = &bed->pods[i];
        CLEANUP_FREE char *ip = bed_addr_text(bed, pod->host);
        CLEANUP_FREE char *state = state_of(bed, pod), *fqdn = pod_fqdn(bed, pod);
        json_array_append_new(
            pods, json_pack("{s:s,s:s,s:s,s:s,s:i,s:b,s:b,s:s}", "name", pod->name,
                            "ip", ip, "fqdn", fqdn, "uid", pod->uid, "pid",
                            (int)pod_container(bed, pod).pid, "ready", (int)pod->ready,
                            "cut", (int)pod->cut, "state", state));
    }
    json_dumpf(pods, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(pods);
    return 0;
}

static int list_text(const struct bed *bed)
{
    for (size_t i = 0; i < bed->npods; i++) {
        const struct pod *pod = &bed->pods[i];
        CLEANUP_FREE char *ip = bed_addr_text(bed, pod->host);
        CLEANUP_FREE char *state = state_of(bed, pod);
        printf("%s %s %s%s %s\n", pod->name, ip, pod->ready ? "ready" : "not-ready",
               pod->cut ? ",cut" : "", state);
    }
    return 0;
}

int cmd_list(const char *name, int argc, char **argv, struct err *err)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc != 1 && !json)
        return cmd_usage(argv[0], "want nothing or --json", err);
    struct bed *bed = bed_load(name, err);
    if (bed == NULL)
        return -1;
    int rc = json ? list_json(bed) : list_text(bed);
    bed_destroy(bed);
    return rc;
}
