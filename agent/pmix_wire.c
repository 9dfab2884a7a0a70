// Frames between muster-pmixd and its agent.
#include "agent/pmix_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/proc.h"
#include "wire/chan.h"
#include "wire/msg.h"

struct pmixd_wire {
    struct chan *chan;
    struct log *log;
    const struct pmixd_wire_ops *ops;
    void *arg;
    bool closed;
};

static void close_wire(struct pmixd_wire *w, const struct err *why)
{
    if (w->closed)
        return;
    w->closed = true;
    w->ops->closed(w->arg, why);
}

static const ProtobufCMessageDescriptor *type_of(uint16_t kind)
{
    switch (kind) {
    case FRAME_PMIX_SETUP: return &muster__pmix_setup__descriptor;
    case FRAME_COLL_DONE: return &muster__coll__descriptor;
    case FRAME_MODEX:
    case FRAME_MODEX_DONE: return &muster__modex__descriptor;
    case FRAME_NAMES_DONE: return &muster__names_done__descriptor;
    case FRAME_SPAWN_DONE: return &muster__spawn_done__descriptor;
    case FRAME_NOTIFY: return &muster__notify__descriptor;
    default: return NULL;
    }
}

static void deliver(struct pmixd_wire *w, const struct frame *f, const void *msg)
{
    switch (f->kind) {
    case FRAME_PMIX_SETUP: w->ops->setup(w->arg, msg); break;
    case FRAME_COLL_DONE: w->ops->coll_done(w->arg, msg); break;
    case FRAME_MODEX: w->ops->modex(w->arg, msg, f->src); break;
    case FRAME_MODEX_DONE: w->ops->modex_done(w->arg, msg); break;
    case FRAME_NAMES_DONE: w->ops->names_done(w->arg, msg); break;
    case FRAME_SPAWN_DONE: w->ops->spawn_done(w->arg, msg); break;
    case FRAME_NOTIFY: w->ops->notify(w->arg, msg); break;
    }
}

static void on_frame(void *arg, const struct frame *f)
{
    struct pmixd_wire *w = arg;
    if (f->kind == FRAME_PING) {
        w->ops->ping(w->arg);
        return;
    }
    const ProtobufCMessageDescriptor *type = type_of(f->kind);
    if (type == NULL) {
        log_warn(w->log, "a %s frame is not for the PMIx server: dropped",
                 frame_kind_name(f->kind));
        return;
    }
    ERR_AUTO err = ERR_INIT;
    void *msg = msg_unpack(f, type, &err);
    if (msg == NULL) {
        close_wire(w, &err);
        return;
    }
    deliver(w, f, msg);
    msg_free(msg);
}

static void on_closed(void *arg, const struct err *why)
{
    close_wire(arg, why);
}

static int check_socket(int fd, struct err *err)
{
    int type;
    socklen_t len = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0)
        return 0;
    err_set_errno(err, errno,
                  "fd %d is not a socket to an agent: muster-pmixd is started by "
                  "musterd, not by hand",
                  fd);
    return -1;
}

struct pmixd_wire *pmixd_wire_create(struct event_base *base, int fd, struct log *log,
                                     const struct pmixd_wire_ops *ops, void *arg,
                                     struct err *err)
{
    static const struct chan_ops chan_ops = {on_frame, on_closed};
    if (check_socket(fd, err) < 0)
        return NULL;
    struct pmixd_wire *w = xcalloc(1, sizeof *w);
    w->log = log;
    w->ops = ops;
    w->arg = arg;
    proc_set_cloexec(fd);
    w->chan = chan_create(base, fd, fd, &chan_ops, w);
    return w;
}

void pmixd_wire_destroy(struct pmixd_wire *w)
{
    if (w == NULL)
        return;
    chan_destroy(w->chan);
    free(w);
}

static void send_to(struct pmixd_wire *w, uint16_t kind, uint32_t dst,
                    const ProtobufCMessage *m)
{
    chan_send_msg(w->chan, &(struct frame){.kind = kind, .dst = dst}, m);
}

void pmixd_wire_ready(struct pmixd_wire *w, const Muster__PmixReady *m)
{
    send_to(w, FRAME_PMIX_READY, 0, &m->base);
}

void pmixd_wire_coll(struct pmixd_wire *w, const Muster__Coll *m)
{
    send_to(w, FRAME_COLL, 0, &m->base);
}

void pmixd_wire_modex(struct pmixd_wire *w, const Muster__Modex *m)
{
    send_to(w, FRAME_MODEX, 0, &m->base);
}

void pmixd_wire_modex_done(struct pmixd_wire *w, const Muster__Modex *m, uint32_t asker)
{
    send_to(w, FRAME_MODEX_DONE, asker, &m->base);
}

void pmixd_wire_names(struct pmixd_wire *w, const Muster__Names *m)
{
    send_to(w, FRAME_NAMES, 0, &m->base);
}

void pmixd_wire_spawn(struct pmixd_wire *w, const Muster__SpawnRequest *m)
{
    send_to(w, FRAME_SPAWN_REQUEST, 0, &m->base);
}

void pmixd_wire_notify(struct pmixd_wire *w, const Muster__Notify *m)
{
    send_to(w, FRAME_NOTIFY, 0, &m->base);
}

void pmixd_wire_log(struct pmixd_wire *w, const Muster__PmixLog *m)
{
    send_to(w, FRAME_PMIX_LOG, 0, &m->base);
}

void pmixd_wire_abort(struct pmixd_wire *w, const Muster__Abort *m)
{
    send_to(w, FRAME_ABORT, 0, &m->base);
}

void pmixd_wire_client(struct pmixd_wire *w, const Muster__PmixClient *m)
{
    send_to(w, FRAME_PMIX_CLIENT, 0, &m->base);
}

void pmixd_wire_flush(struct pmixd_wire *w, int ms)
{
    chan_flush(w->chan, ms);
}

void pmixd_wire_ping(struct pmixd_wire *w)
{
    chan_send(w->chan, &(struct frame){.kind = FRAME_PING});
}
