// bed.json: load, save, claim and lock.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "tests/podbox/bed.h"
#include "tests/podbox/file.h"

// ---- to and from JSON -------------------------------------------------------

static json_t *from_strv(const struct strv *s)
{
    json_t *a = json_array();
    for (size_t i = 0; i < s->n; i++)
        json_array_append_new(a, json_string(s->v[i]));
    return a;
}

static void to_strv(const json_t *a, struct strv *s)
{
    size_t i;
    json_t *item;
    json_array_foreach(a, i, item) strv_add(s, json_string_value(item));
}

static json_t *from_ident(const struct ident *id)
{
    return json_pack("[i,I]", (int)id->pid, (json_int_t)id->start);
}

static struct ident to_ident(const json_t *a)
{
    return (struct ident){(pid_t)json_integer_value(json_array_get(a, 0)),
                          (unsigned long long)json_integer_value(json_array_get(a, 1))};
}

static json_t *from_pod(const struct pod *pod)
{
    return json_pack("{s:s,s:i,s:b,s:b,s:s,s:o}", "name", pod->name, "host",
                     (int)pod->host, "ready", (int)pod->ready, "cut", (int)pod->cut,
                     "uid", pod->uid, "sandbox", from_ident(&pod->sandbox));
}

int bed_save(const struct bed *bed, struct err *err)
{
    json_t *pods = json_array();
    for (size_t i = 0; i < bed->npods; i++)
        json_array_append_new(pods, from_pod(&bed->pods[i]));
    json_t *root = json_pack(
        "{s:s,s:s,s:s,s:i,s:i,s:i,s:b,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:i,s:i}",
        "service", bed->service, "namespace", bed->ns, "domain", bed->domain, "net",
        (int)bed->net, "next_host", (int)bed->next_host, "ttl", (int)bed->ttl, "ipv6",
        (int)bed->ipv6, "publish_not_ready", (int)bed->publish_not_ready, "env",
        from_strv(&bed->env), "mounts", from_strv(&bed->mounts), "roots",
        from_strv(&bed->roots), "command", from_strv(&bed->command), "fabric",
        from_ident(&bed->fabric), "dns", from_ident(&bed->dns), "pods", pods, "uid",
        (int)bed->uid, "gid", (int)bed->gid);
    CLEANUP_FREE char *path = bed_path(bed, "bed.json");
    CLEANUP_FREE char *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    if (text == NULL) {
        err_set(err, "cannot write %s: a setting of the bed is not UTF-8", path);
        return -1;
    }
    return file_replace(path, text, 0644, err);
}

static void load_pods(struct bed *bed, json_t *pods)
{
    size_t i;
    json_t *p;
    json_array_foreach(pods, i, p)
    {
        bed_add_pod(bed, json_string_value(json_object_get(p, "name")));
        struct pod *pod = &bed->pods[i];
        pod->host = (unsigned)json_integer_value(json_object_get(p, "host"));
        pod->ready = json_is_true(json_object_get(p, "ready"));
        pod->cut = json_is_true(json_object_get(p, "cut"));
        pod->sandbox = to_ident(json_object_get(p, "sandbox"));
        snprintf(pod->uid, sizeof pod->uid, "%s",
                 json_string_value(json_object_get(p, "uid")));
    }
}

static int unpack(struct bed *bed, json_t *root)
{
    const char *service, *ns, *domain;
    int net, next, ttl, v6, publish, uid, gid;
    json_t *env, *mounts, *roots, *command, *fabric, *dns, *pods;
    if (json_unpack(
            root,
            "{s:s,s:s,s:s,s:i,s:i,s:i,s:b,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:i,s:i}",
            "service", &service, "namespace", &ns, "domain", &domain, "net", &net,
            "next_host", &next, "ttl", &ttl, "ipv6", &v6, "publish_not_ready", &publish,
            "env", &env, "mounts", &mounts, "roots", &roots, "command", &command,
            "fabric", &fabric, "dns", &dns, "pods", &pods, "uid", &uid, "gid",
            &gid) < 0)
        return -1;
    bed->service = xstrdup(service);
    bed->ns = xstrdup(ns);
    bed->domain = xstrdup(domain);
    bed->net = (unsigned)net;
    bed->next_host = (unsigned)next;
    bed->ttl = (unsigned)ttl;
    bed->ipv6 = v6 != 0;
    bed->uid = (uid_t)uid;
    bed->gid = (gid_t)gid;
    bed->publish_not_ready = publish != 0;
    bed->fabric = to_ident(fabric);
    bed->dns = to_ident(dns);
    to_strv(env, &bed->env);
    to_strv(mounts, &bed->mounts);
    to_strv(roots, &bed->roots);
    to_strv(command, &bed->command);
    load_pods(bed, pods);
    return 0;
}

struct bed *bed_load(const char *name, struct err *err)
{
    struct bed *bed = bed_create(name, err);
    if (bed == NULL)
        return NULL;
    CLEANUP_FREE char *path = bed_path(bed, "bed.json");
    json_error_t why = {.text = "not written by this podbox"};
    json_t *root = NULL;
    if (!file_exists(path))
        err_set(err, "bed %s is not up (no %s): run podbox --bed %s up N", name, path,
                name);
    else if ((root = json_load_file(path, 0, &why)) == NULL || unpack(bed, root) < 0)
        err_set(err, "%s:%d: %s: run podbox --bed %s down", path, why.line, why.text,
                name);
    else
        return json_decref(root), bed;
    json_decref(root);
    bed_destroy(bed);
    return NULL;
}

// ---- claim and lock ---------------------------------------------------------

// The lock is on the directory itself, so that it leaves no file behind.
static int lock_dir(const char *path, int ms, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        err_set_errno(err, errno, "cannot open %s", path);
        return -1;
    }
    for (uint64_t end = loop_now_ms() + (uint64_t)ms;
         flock(fd, LOCK_EX | LOCK_NB) < 0;) {
        if (loop_now_ms() >= end) {
            err_set(err, "another podbox has held %s for %d ms: try again", path, ms);
            close(fd);
            return -1;
        }
        poll(NULL, 0, 5);
    }
    return fd;
}

int bed_lock(const char *name, int ms, struct err *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", BED_ROOT, name);
    return lock_dir(path, ms, err);
}

static int net_of(const char *name)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s/bed.json", BED_ROOT, name);
    json_t *root = json_load_file(path, 0, NULL);
    int net = -1;
    json_unpack(root, "{s:i}", "net", &net);
    json_decref(root);
    return net;
}

static int pick_net(struct bed *bed, struct err *err)
{
    bool used[BED_NETS] = {false};
    DIR *dir = opendir(BED_ROOT);
    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;) {
        int net = d->d_name[0] != '.' ? net_of(d->d_name) : -1;
        if (net >= 0 && net < BED_NETS)
            used[net] = true;
    }
    if (dir != NULL)
        closedir(dir);
    for (unsigned i = 0; i < BED_NETS; i++)
        if (!used[i]) {
            bed->net = i;
            return 0;
        }
    err_set(err, "all %d address prefixes of podbox are in use: see podbox list",
            BED_NETS);
    return -1;
}

int bed_claim(struct bed *bed, struct err *err)
{
    CLEANUP_FREE char *pods = bed_path(bed, "pods"), *path = bed_path(bed, "bed.json");
    if (file_mkdirs(pods, 0755, err) < 0)
        return -1;
    CLEANUP_CLOSE int lock = lock_dir(BED_ROOT, 10000, err);
    if (lock < 0)
        return -1;
    if (file_exists(path)) {
        err_set(err, "bed %s is up already: run podbox --bed %s down first", bed->name,
                bed->name);
        return -1;
    }
    for (size_t i = 0; i < bed->npods; i++)
        bed->pods[i].host = bed_take_host(bed);
    return pick_net(bed, err) < 0 ? -1 : bed_save(bed, err);
}
