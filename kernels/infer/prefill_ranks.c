// Which address, which port.
#include "kernels/infer/prefill_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/infer/kvserve.h"
#include "kernels/infer/tcp.h"

struct prefill_ranks {
    struct engine *engine;
    struct kvserve *kvserve;
    char *listen;
    struct kvwire_source own;
    struct kvwire_source *all; // of the last gather
};

static const char *master(void)
{
    const char *address = getenv("MASTER_ADDR");
    return address != NULL ? address : "127.0.0.1";
}

// "PORT" alone is at 127.0.0.1, too (common/httpd.h).
static bool is_loopback(const char *listen)
{
    return strchr(listen, ':') == NULL || strncmp(listen, "127.", 4) == 0 ||
           strncmp(listen, "[::1]", 5) == 0;
}

static char *default_listen(void)
{
    const char *port = getenv("MASTER_PORT");
    bool v6 = strchr(master(), ':') != NULL;
    CLEANUP_FREE char *own =
        xasprintf(v6 ? "[%s]:%s" : "%s:%s", master(), port != NULL ? port : "0");
    if (is_loopback(own))
        return STEAL(own);
    return xasprintf("%s:%s", v6 ? "[::]" : "0.0.0.0", port != NULL ? port : "0");
}

// Where the own server listens; its address for others goes into own.address.
static const char *find_address(struct prefill_ranks *p, struct err *err)
{
    bool v6 = p->listen[0] == '[';
    if (is_loopback(p->listen)) {
        snprintf(p->own.address, sizeof p->own.address, "%s", v6 ? "::1" : "127.0.0.1");
        return v6 ? "::1" : "127.0.0.1";
    }
    if (tcp_own_address(master(), p->own.address, err) < 0)
        return NULL;
    return strchr(p->own.address, ':') != NULL ? "::" : "0.0.0.0";
}

struct prefill_ranks *prefill_ranks_create(struct event_base *base,
                                           struct engine *engine,
                                           const struct shard *shard, uint32_t slots,
                                           const char *model, const char *listen,
                                           struct err *err)
{
    struct prefill_ranks *p = xcalloc(1, sizeof *p);
    p->engine = engine;
    p->listen = listen != NULL ? xstrdup(listen) : default_listen();
    p->own.part = kvwire_part_of(shard);
    const char *address = find_address(p, err);
    if (address != NULL)
        p->kvserve = kvserve_create(base, address, shard, engine_kvcache(engine), slots,
                                    model, err);
    if (p->kvserve == NULL) {
        prefill_ranks_destroy(p);
        return NULL;
    }
    p->own.port = kvserve_port(p->kvserve);
    engine_set_kvserve(engine, p->kvserve);
    return p;
}

void prefill_ranks_destroy(struct prefill_ranks *p)
{
    if (p == NULL)
        return;
    engine_set_kvserve(p->engine, NULL);
    kvserve_destroy(p->kvserve);
    free(p->listen);
    free(p->all);
    free(p);
}

const struct kvwire_source *prefill_ranks_gather(struct prefill_ranks *p,
                                                 struct comm *world)
{
    free(p->all);
    p->all = xcalloc((size_t)comm_size(world), sizeof *p->all);
    comm_allgather(world, p->all, &p->own, sizeof p->own);
    return p->all;
}

const char *prefill_ranks_listen(const struct prefill_ranks *p)
{
    return p->listen;
}
