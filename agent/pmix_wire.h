// muster-pmixd's end of the wire to its agent: frames on fd 3.
#ifndef MUSTER_AGENT_PMIX_WIRE_H
#define MUSTER_AGENT_PMIX_WIRE_H

#include "common/err.h"
#include "wire/frame.h"
#include "wire/muster.pb-c.h"

struct event_base;
struct log;
struct pmixd_wire;

// Data of one message; the rest of a frame is for the list of processes.
enum { PMIXD_DATA_MAX = FRAME_BODY_MAX - (4 << 20) };

// What the agent says. Messages and frames are valid during the call.
struct pmixd_wire_ops {
    void (*setup)(void *arg, const Muster__PmixSetup *m);
    void (*coll_done)(void *arg, const Muster__Coll *m);
    // Another pod asks for data of a rank of ours. The answer goes back with
    // pmixd_wire_modex_done() to `asker`.
    void (*modex)(void *arg, const Muster__Modex *m, uint32_t asker);
    void (*modex_done)(void *arg, const Muster__Modex *m);
    void (*names_done)(void *arg, const Muster__NamesDone *m);
    void (*spawn_done)(void *arg, const Muster__SpawnDone *m);
    void (*notify)(void *arg, const Muster__Notify *m);
    // The agent asks whether all that libpmix has reported until now was sent: answer
    // with pmixd_wire_ping() behind it.
    void (*ping)(void *arg);
    // The agent has gone or speaks nonsense: exit.
    void (*closed)(void *arg, const struct err *why);
};

// Takes over fd. NULL with err when it is no open socket.
struct pmixd_wire *pmixd_wire_create(struct event_base *base, int fd, struct log *log,
                                     const struct pmixd_wire_ops *ops, void *arg,
                                     struct err *err);
void pmixd_wire_destroy(struct pmixd_wire *w); // NULL-safe

// Headers are left 0 but for the destination of modex answers: the agent fills them.
void pmixd_wire_ready(struct pmixd_wire *w, const Muster__PmixReady *m);
void pmixd_wire_coll(struct pmixd_wire *w, const Muster__Coll *m);
void pmixd_wire_modex(struct pmixd_wire *w, const Muster__Modex *m);
void pmixd_wire_modex_done(struct pmixd_wire *w, const Muster__Modex *m,
                           uint32_t asker);
void pmixd_wire_names(struct pmixd_wire *w, const Muster__Names *m);
void pmixd_wire_spawn(struct pmixd_wire *w, const Muster__SpawnRequest *m);
void pmixd_wire_notify(struct pmixd_wire *w, const Muster__Notify *m);
void pmixd_wire_log(struct pmixd_wire *w, const Muster__PmixLog *m);
void pmixd_wire_abort(struct pmixd_wire *w, const Muster__Abort *m);
void pmixd_wire_client(struct pmixd_wire *w, const Muster__PmixClient *m);
void pmixd_wire_ping(struct pmixd_wire *w);
// Wait, at most ms, until all is written.
void pmixd_wire_flush(struct pmixd_wire *w, int ms);

#endif
