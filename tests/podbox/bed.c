// Settings and pods of a bed, and its addresses.
#include "tests/podbox/bed.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "tests/podbox/file.h"

struct bed *bed_create(const char *name, struct err *err)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789-_");
    if (len == 0 || len > 64 || name[len] != '\0') {
        err_set_kind(err, NULL, BED_EXIT_USAGE,
                     "bed name '%s': want 1 to 64 letters, digits, '-' or '_'", name);
        return NULL;
    }
    struct bed *bed = xcalloc(1, sizeof *bed);
    bed->name = xstrdup(name);
    bed->dir = xasprintf("%s/%s", BED_ROOT, name);
    bed->next_host = BED_HOST_FIRST_POD;
    bed->ttl = 5;
    return bed;
}

void bed_destroy(struct bed *bed)
{
    if (bed == NULL)
        return;
    for (size_t i = 0; i < bed->npods; i++)
        free(bed->pods[i].name);
    free(bed->pods);
    strv_free(&bed->env);
    strv_free(&bed->mounts);
    strv_free(&bed->roots);
    strv_free(&bed->command);
    free(bed->service);
    free(bed->ns);
    free(bed->domain);
    free(bed->name);
    free(bed->dir);
    free(bed);
}

void bed_add_pod(struct bed *bed, const char *name)
{
    bed->pods = xrealloc(bed->pods, bed->npods + 1, sizeof *bed->pods);
    bed->pods[bed->npods] =
        (struct pod){.name = xstrdup(name), .index = (unsigned)bed->npods};
    bed->npods++;
}

unsigned bed_take_host(struct bed *bed)
{
    for (;;) {
        unsigned host = bed->next_host++;
        if (bed->next_host > BED_HOST_LAST_POD)
            bed->next_host = BED_HOST_FIRST_POD;
        size_t i = 0;
        while (i < bed->npods && bed->pods[i].host != host)
            i++;
        if (i == bed->npods)
            return host;
    }
}

struct pod *bed_pod(const struct bed *bed, const char *name, struct err *err)
{
    BUF_AUTO known = BUF_INIT;
    for (size_t i = 0; i < bed->npods; i++) {
        if (strcmp(bed->pods[i].name, name) == 0)
            return &bed->pods[i];
        if (i < 8)
            buf_printf(&known, " %s", bed->pods[i].name);
    }
    CLEANUP_FREE char *list = buf_steal_str(&known);
    err_set_kind(err, NULL, BED_EXIT_USAGE, "bed %s has no pod '%s'; it has%s%s",
                 bed->name, name, list, bed->npods > 8 ? " ..." : "");
    return NULL;
}

char *bed_path(const struct bed *bed, const char *file)
{
    return xasprintf("%s/%s", bed->dir, file);
}

char *pod_path(const struct bed *bed, const struct pod *pod, const char *file)
{
    return xasprintf("%s/pods/%s/%s", bed->dir, pod->name, file);
}

struct ident pod_container(const struct bed *bed, const struct pod *pod)
{
    struct ident id = {0, 0};
    CLEANUP_FREE char *path = pod_path(bed, pod, "container");
    CLEANUP_FREE char *text = file_read(path, NULL);
    int pid = 0;
    if (text != NULL && sscanf(text, "%d %llu", &pid, &id.start) == 2)
        id.pid = pid;
    return ident_alive(&id) ? id : (struct ident){0, 0};
}

char *pod_fqdn(const struct bed *bed, const struct pod *pod)
{
    return xasprintf("%s.%s.%s.svc.%s", pod->name, bed->service, bed->ns, bed->domain);
}

bool pod_published(const struct bed *bed, const struct pod *pod)
{
    return pod->ready || bed->publish_not_ready;
}

const char *pod_root(const struct bed *bed, const struct pod *pod)
{
    const char *root = "/";
    for (size_t i = 0; i < bed->roots.n; i++) {
        const char *entry = bed->roots.v[i], *dir = strchr(entry, '=');
        size_t len = dir != NULL ? (size_t)(dir - entry) : 0;
        if (dir == NULL)
            root = entry;
        else if (strlen(pod->name) == len && strncmp(entry, pod->name, len) == 0)
            root = dir + 1;
    }
    return root;
}

static char *expand(const struct bed *bed, const struct pod *pod, const char *text)
{
    CLEANUP_FREE char *ip = bed_addr_text(bed, pod->host);
    char index[16];
    snprintf(index, sizeof index, "%u", pod->index);
    const struct {
        const char *word, *value;
    } words[] = {
        {"{ip}", ip}, {"{name}", pod->name}, {"{index}", index}, {"{uid}", pod->uid}};
    BUF_AUTO out = BUF_INIT;
    while (*text != '\0') {
        size_t i = 0, n = sizeof words / sizeof words[0];
        while (i < n && strncmp(text, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i < n) {
            buf_append_str(&out, words[i].value);
            text += strlen(words[i].word);
        } else {
            buf_append(&out, text++, 1);
        }
    }
    return buf_steal_str(&out);
}

void pod_env(const struct bed *bed, const struct pod *pod, struct strv *env)
{
    strv_setenv(env, "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    const struct passwd *pw = bed->uid != 0 ? getpwuid(bed->uid) : NULL;
    strv_setenv(env, "HOME", bed->uid == 0 ? "/root" : pw != NULL ? pw->pw_dir : "/");
    strv_setenv(env, "HOSTNAME", pod->name);
    CLEANUP_FREE char *api = bed_addr_text(bed, BED_HOST_GATEWAY);
    strv_setenv(env, "KUBERNETES_SERVICE_HOST", api);
    strv_setenv(env, "KUBERNETES_SERVICE_PORT", "443");
    for (size_t i = 0; i < bed->env.n; i++) {
        CLEANUP_FREE char *entry = expand(bed, pod, bed->env.v[i]);
        strv_putenv(env, entry);
    }
}

struct in_addr bed_addr(const struct bed *bed, unsigned host)
{
    return (struct in_addr){htonl((10U << 24 | 77U << 16 | bed->net << 10) + host)};
}

struct in6_addr bed_addr6(const struct bed *bed, unsigned host)
{
    struct in6_addr a = {.s6_addr = {0xfd, 0x77, 0, (uint8_t)bed->net}};
    a.s6_addr[14] = (uint8_t)(host >> 8);
    a.s6_addr[15] = (uint8_t)host;
    return a;
}

char *bed_addr_text(const struct bed *bed, unsigned host)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr a = bed_addr(bed, host);
    return xstrdup(inet_ntop(AF_INET, &a, text, sizeof text));
}

char *bed_addr6_text(const struct bed *bed, unsigned host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr a = bed_addr6(bed, host);
    return xstrdup(inet_ntop(AF_INET6, &a, text, sizeof text));
}
