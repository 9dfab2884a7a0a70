// A table of commands.
#include "agent/pmi1_serve.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pmi1_kvs.h"
#include "agent/pmi1_map.h"
#include "agent/pmi1_spawn.h"
#include "common/mem.h"
#include "wire/apps.h"
#include "wire/msg.h"

enum { WHY_MAX = 400 }; // of a reason in a reply

// What a rank waits for.
enum asked {
    ASKED_NOTHING,
    ASKED_BARRIER,
    ASKED_PUBLISH,
    ASKED_LOOKUP,
    ASKED_UNPUBLISH,
    ASKED_SPAWN,
};

static const struct {
    const char *reply;
    enum namestore_op op;
} asks[] = {
    [ASKED_PUBLISH] = {"publish_result", NAMESTORE_PUBLISH},
    [ASKED_LOOKUP] = {"lookup_result", NAMESTORE_LOOKUP},
    [ASKED_UNPUBLISH] = {"unpublish_result", NAMESTORE_UNPUBLISH},
};

struct local {
    enum asked asked;
    uint32_t app; // index of its program
};

struct pmi1_serve {
    const struct pmi1_serve_ops *ops;
    void *arg;
    char *name; // of the key-value space
    uint32_t universe;
    struct pmi1_kvs *kvs;
    size_t nlocal;
    struct local *locals;
    size_t nwaiting; // in the barrier; all: the node's part is on its way
    uint64_t index;  // of the next or open barrier
};

static const char mapping_key[] = "PMI_process_mapping";

struct pmi1_serve *pmi1_serve_create(const Muster__Prepare *prepare, size_t self,
                                     const struct pmi1_serve_ops *ops, void *arg)
{
    struct pmi1_serve *s = xcalloc(1, sizeof *s);
    s->ops = ops;
    s->arg = arg;
    s->name = xstrdup(prepare->nspace);
    s->universe = prepare->universe_size;
    s->nlocal = prepare->positions[self]->n_ranks;
    s->locals = xcalloc(s->nlocal, sizeof *s->locals);
    for (size_t i = 0; i < s->nlocal; i++)
        s->locals[i].app = apps_of(prepare, prepare->positions[self]->ranks[i]);
    s->kvs = pmi1_kvs_create(PMI1_KVS_BYTES_MAX);
    pmi1_kvs_merge(s->kvs, prepare->pmi1_kvs.data, prepare->pmi1_kvs.len, NULL);
    CLEANUP_FREE char *map =
        pmi1_map_text(prepare->positions, prepare->n_positions, PMI1_VALUE_MAX - 1);
    if (map != NULL)
        pmi1_kvs_put_here(s->kvs, mapping_key, map, NULL);
    return s;
}

void pmi1_serve_destroy(struct pmi1_serve *s)
{
    if (s == NULL)
        return;
    pmi1_kvs_destroy(s->kvs);
    free(s->locals);
    free(s->name);
    free(s);
}

// ---- replies ----------------------------------------------------------------

static void reply(struct pmi1_serve *s, size_t local, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void reply(struct pmi1_serve *s, size_t local, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    CLEANUP_FREE char *line = xasprintf("%s\n", text);
    s->ops->reply(s->arg, local, line);
}

// Reasons are one word to clients.
static char *one_word(const char *text)
{
    char *word = xstrdup(text);
    for (char *c = word; *c != '\0'; c++)
        if (*c == ' ' || *c == '\n' || *c == '=')
            *c = '_';
    return word;
}

static void refuse(struct pmi1_serve *s, size_t local, const char *what,
                   const char *why)
{
    CLEANUP_FREE char *word = one_word(why);
    reply(s, local, "cmd=%s rc=-1 msg=%.*s", what, WHY_MAX, word);
}

// ---- commands ---------------------------------------------------------------

static int on_init(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                   struct err *err)
{
    const char *version = pmi1_cmd_get(cmd, "pmi_version");
    bool ok = version != NULL && strcmp(version, "1") == 0;
    reply(s, local, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d",
          ok ? 0 : -1);
    if (ok) {
        s->ops->connected(s->arg, local);
        return 0;
    }
    err_set(err, "it asked for PMI version %s, and 1 is served",
            version != NULL ? version : "?");
    return -1;
}

static int on_maxes(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                    struct err *err)
{
    reply(s, local, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d",
          PMI1_NAME_MAX, PMI1_KEY_MAX, PMI1_VALUE_MAX);
    return 0;
}

static int on_appnum(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                     struct err *err)
{
    reply(s, local, "cmd=appnum rc=0 appnum=%u", s->locals[local].app);
    return 0;
}

static int on_kvsname(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                      struct err *err)
{
    reply(s, local, "cmd=my_kvsname rc=0 kvsname=%s", s->name);
    return 0;
}

static int on_universe(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                       struct err *err)
{
    reply(s, local, "cmd=universe_size rc=0 size=%u", s->universe);
    return 0;
}

static bool is_own_space(const struct pmi1_serve *s, const struct pmi1_cmd *cmd)
{
    const char *name = pmi1_cmd_get(cmd, "kvsname");
    return name == NULL || strcmp(name, s->name) == 0;
}

static int on_put(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                  struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    const char *key = pmi1_cmd_get(cmd, "key"), *value = pmi1_cmd_get(cmd, "value");
    if (key == NULL || key[0] == '\0' || value == NULL)
        err_set(&why, "key or value is missing");
    else if (!is_own_space(s, cmd))
        err_set(&why, "no such kvsname");
    else if (strlen(key) >= PMI1_KEY_MAX)
        err_set(&why, "key is longer than keylen_max");
    else if (strlen(value) >= PMI1_VALUE_MAX)
        err_set(&why, "value is longer than vallen_max");
    if (why.text != NULL || pmi1_kvs_put(s->kvs, key, value, &why) < 0)
        refuse(s, local, "put_result", err_text(&why));
    else
        reply(s, local, "cmd=put_result rc=0 msg=success");
    return 0;
}

static int on_get(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                  struct err *err)
{
    const char *key = pmi1_cmd_get(cmd, "key"), *value = NULL;
    if (key != NULL && is_own_space(s, cmd))
        value = pmi1_kvs_get(s->kvs, key);
    if (value != NULL)
        reply(s, local, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        reply(s, local, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    return 0;
}

// A second question before the answer to the first one has come is none of PMI-1.
static int begin(struct pmi1_serve *s, size_t local, enum asked asked, struct err *err)
{
    if (s->locals[local].asked == ASKED_NOTHING) {
        s->locals[local].asked = asked;
        return 0;
    }
    err_set(err, "it asked again while it waits for an answer");
    return -1;
}

// Was it that what the rank waits for?
static bool end(struct pmi1_serve *s, size_t local, enum asked asked)
{
    if (local >= s->nlocal || s->locals[local].asked != asked)
        return false;
    s->locals[local].asked = ASKED_NOTHING;
    return true;
}

static int on_barrier(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                      struct err *err)
{
    if (begin(s, local, ASKED_BARRIER, err) < 0)
        return -1;
    if (++s->nwaiting < s->nlocal)
        return 0;
    BUF_AUTO data = BUF_INIT;
    pmi1_kvs_take_new(s->kvs, &data);
    s->ops->barrier(s->arg, s->index, buf_len(&data) > 0 ? buf_data(&data) : NULL,
                    buf_len(&data));
    return 0;
}

static int on_finalize(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                       struct err *err)
{
    s->ops->finalized(s->arg, local);
    reply(s, local, "cmd=finalize_ack rc=0");
    return 0;
}

// No reply: the rank ends by itself. MPICH 4.1 and newer give a text.
static int on_abort(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                    struct err *err)
{
    const char *code = pmi1_cmd_get(cmd, "exitcode");
    const char *text = pmi1_cmd_get(cmd, "error_msg");
    CLEANUP_FREE char *plain = pmi1_unescape(text != NULL ? text : "");
    s->ops->aborted(s->arg, local, code != NULL ? (int)strtol(code, NULL, 10) : 1,
                    plain);
    return 0;
}

static void refuse_names(struct pmi1_serve *s, size_t local, enum asked asked,
                         const char *why)
{
    reply(s, local, "cmd=%s rc=-1 info=%s msg=%s", asks[asked].reply, why, why);
}

static int ask_names(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                     enum asked asked, struct err *err)
{
    const char *service = pmi1_cmd_get(cmd, "service");
    const char *port = asked == ASKED_PUBLISH ? pmi1_cmd_get(cmd, "port") : NULL;
    if (service == NULL || service[0] == '\0' ||
        (asked == ASKED_PUBLISH && port == NULL)) {
        refuse_names(s, local, asked, "service_or_port_is_missing");
        return 0;
    }
    if (port != NULL && strlen(port) >= PMI1_VALUE_MAX) {
        refuse_names(s, local, asked, "port_is_longer_than_vallen_max");
        return 0;
    }
    if (begin(s, local, asked, err) < 0)
        return -1;
    s->ops->names(s->arg, local, asks[asked].op, service, port);
    return 0;
}

static int on_publish(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                      struct err *err)
{
    return ask_names(s, local, cmd, ASKED_PUBLISH, err);
}

static int on_lookup(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                     struct err *err)
{
    return ask_names(s, local, cmd, ASKED_LOOKUP, err);
}

static int on_unpublish(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                        struct err *err)
{
    return ask_names(s, local, cmd, ASKED_UNPUBLISH, err);
}

static int on_spawn(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                    struct err *err)
{
    ERR_AUTO why = ERR_INIT;
    Muster__SpawnRequest *request = pmi1_spawn_request(cmd, &why);
    int rc = 0;
    if (request == NULL)
        refuse(s, local, "spawn_result", err_text(&why));
    else if ((rc = begin(s, local, ASKED_SPAWN, err)) == 0)
        s->ops->spawn(s->arg, local, request);
    msg_free(request);
    return rc;
}

typedef int (*command_fn)(struct pmi1_serve *s, size_t local,
                          const struct pmi1_cmd *cmd, struct err *err);

static const struct {
    const char *name;
    command_fn run;
} commands[] = {
    {"init", on_init},
    {"get_maxes", on_maxes},
    {"get_appnum", on_appnum},
    {"get_my_kvsname", on_kvsname},
    {"get_universe_size", on_universe},
    {"put", on_put},
    {"get", on_get},
    {"barrier_in", on_barrier},
    {"finalize", on_finalize},
    {"abort", on_abort},
    {"publish_name", on_publish},
    {"lookup_name", on_lookup},
    {"unpublish_name", on_unpublish},
    {"spawn", on_spawn},
};

int pmi1_serve_command(struct pmi1_serve *s, size_t local, const struct pmi1_cmd *cmd,
                       struct err *err)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, cmd->name) == 0)
            return commands[i].run(s, local, cmd, err);
    CLEANUP_FREE char *why = xasprintf("%.64s is not served", cmd->name);
    refuse(s, local, "unknown", why);
    return 0;
}

// ---- answers ----------------------------------------------------------------

int pmi1_serve_barrier_done(struct pmi1_serve *s, uint64_t index, int32_t status,
                            const char *why, const void *data, size_t len,
                            struct err *err)
{
    if (index != s->index || s->nwaiting < s->nlocal)
        return 0;
    s->index++;
    s->nwaiting = 0;
    for (size_t i = 0; i < s->nlocal; i++)
        s->locals[i].asked = ASKED_NOTHING;
    int rc = status == 0 ? pmi1_kvs_merge(s->kvs, data, len, err) : 0;
    for (size_t i = 0; i < s->nlocal; i++)
        if (status == 0 && rc == 0)
            reply(s, i, "cmd=barrier_out rc=0");
        else
            refuse(s, i, "barrier_out", rc < 0 ? "bad data from other ranks" : why);
    return rc;
}

static enum asked asked_of(const struct pmi1_serve *s, size_t local)
{
    return local < s->nlocal ? s->locals[local].asked : ASKED_NOTHING;
}

void pmi1_serve_names_done(struct pmi1_serve *s, size_t local,
                           enum namestore_status status, const char *port)
{
    static const char *const reasons[] = {
        [NAMESTORE_OK] = NULL,
        [NAMESTORE_PARTIAL] = "not_found",
        [NAMESTORE_NOT_FOUND] = "not_found",
        [NAMESTORE_DUPLICATE] = "it_is_published_already",
        [NAMESTORE_TIMEOUT] = "timeout",
        [NAMESTORE_FULL] = "too_many_names",
        [NAMESTORE_BAD] = "the_request_makes_no_sense",
    };
    enum asked asked = asked_of(s, local);
    if (asked < ASKED_PUBLISH || asked > ASKED_UNPUBLISH)
        return;
    end(s, local, asked);
    bool bad_port = port == NULL || strchr(port, '\n') != NULL;
    if (status > NAMESTORE_BAD ||
        (asked == ASKED_LOOKUP && status == NAMESTORE_OK && bad_port))
        status = NAMESTORE_BAD;
    if (reasons[status] != NULL)
        refuse_names(s, local, asked, reasons[status]);
    else if (asked == ASKED_LOOKUP)
        reply(s, local, "cmd=%s rc=0 info=ok port=%s", asks[asked].reply, port);
    else
        reply(s, local, "cmd=%s rc=0 info=ok", asks[asked].reply);
}

void pmi1_serve_spawn_done(struct pmi1_serve *s, size_t local, const char *error)
{
    if (!end(s, local, ASKED_SPAWN))
        return;
    if (error[0] != '\0')
        refuse(s, local, "spawn_result", error);
    else
        reply(s, local, "cmd=spawn_result rc=0");
}
