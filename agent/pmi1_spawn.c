// Numbered keys become vectors.
#include "agent/pmi1_spawn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "wire/msg.h"

// The value of "PREFIXi".
static const char *numbered(const struct strv *part, const char *prefix, long i)
{
    CLEANUP_FREE char *key = xasprintf("%s%ld", prefix, i);
    return pmi1_part_get(part, key);
}

static long number(const struct strv *part, const char *key)
{
    const char *value = pmi1_part_get(part, key);
    return value != NULL ? strtol(value, NULL, 10) : 0;
}

// More than keys were given cannot be there: that bounds each loop.
static long count(const struct strv *part, const char *key)
{
    long n = number(part, key);
    return n > (long)part->n ? (long)part->n : n;
}

static void take_info(Muster__App *app, struct strv *hosts, const struct strv *part)
{
    for (long i = 0, n = count(part, "info_num"); i < n; i++) {
        const char *key = numbered(part, "info_key_", i);
        const char *value = numbered(part, "info_val_", i);
        if (key == NULL || value == NULL)
            continue;
        if (strcmp(key, "host") == 0) {
            strv_add_split(hosts, value, ',');
        } else if (strcmp(key, "wdir") == 0) {
            if (app->wdir != protobuf_c_empty_string)
                free(app->wdir);
            app->wdir = xstrdup(value);
        }
    }
}

static Muster__App *take_app(const struct strv *part, struct strv *hosts,
                             struct err *err)
{
    const char *program = pmi1_part_get(part, "execname");
    long ranks = number(part, "nprocs");
    if (program == NULL || program[0] == '\0' || ranks < 1 || ranks > INT32_MAX) {
        err_set(err, "spawn wants execname and nprocs");
        return NULL;
    }
    struct strv argv = STRV_INIT;
    strv_add(&argv, program);
    for (long i = 1, n = count(part, "argcnt"); i <= n; i++) {
        const char *arg = numbered(part, "arg", i);
        strv_add(&argv, arg != NULL ? arg : "");
    }
    Muster__App *app = xmalloc(sizeof *app);
    muster__app__init(app);
    app->argv = strv_take(&argv, &app->n_argv);
    app->ranks = (uint32_t)ranks;
    take_info(app, hosts, part);
    return app;
}

// They are the same in all parts.
static void take_preput(Muster__SpawnRequest *m, const struct strv *part)
{
    BUF_AUTO kvs = BUF_INIT;
    for (long i = 0, n = count(part, "preput_num"); i < n; i++) {
        const char *key = numbered(part, "preput_key_", i);
        const char *value = numbered(part, "preput_val_", i);
        if (key == NULL || value == NULL)
            continue;
        buf_append(&kvs, key, strlen(key) + 1);
        buf_append(&kvs, value, strlen(value) + 1);
    }
    m->pmi1_kvs.len = buf_len(&kvs);
    m->pmi1_kvs.data =
        buf_len(&kvs) > 0 ? xmemdup(buf_data(&kvs), buf_len(&kvs)) : NULL;
}

Muster__SpawnRequest *pmi1_spawn_request(const struct pmi1_cmd *cmd, struct err *err)
{
    STRV_AUTO hosts = STRV_INIT;
    Muster__SpawnRequest *m = xmalloc(sizeof *m);
    muster__spawn_request__init(m);
    m->apps = xcalloc(cmd->nparts, sizeof(Muster__App *));
    for (size_t i = 0; i < cmd->nparts; i++) {
        m->apps[i] = take_app(&cmd->parts[i], &hosts, err);
        if (m->apps[i] == NULL) {
            msg_free(m);
            return NULL;
        }
        m->n_apps++;
    }
    take_preput(m, &cmd->parts[0]);
    m->hosts = strv_take(&hosts, &m->n_hosts);
    return m;
}
