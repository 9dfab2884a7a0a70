// The file that tells the ranks where the job's other roles are: replaced as a whole each time
// that one of them moves, then the ranks get the signal that the user chose, if any.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/attempt_internal.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/mem.h"
#include "wire/msg.h"

static int replace(const char *path, const ProtobufCBinaryData *text, struct err *err)
{
    CLEANUP_FREE char *part = xasprintf("%s.part", path);
    CLEANUP_CLOSE int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd >= 0 && fd_write(fd, text->data, text->len) == 0 && rename(part, path) == 0)
        return 0;
    err_set_errno(err, errno, "cannot write the roles' file %s", path);
    return -1;
}

int attempt_roles_begin(struct attempt *at, struct err *err)
{
    const Muster__Roles *roles = at->worlds[0]->prepare->roles;
    if (roles == NULL)
        return 0;
    at->role_file = xasprintf("%s/roles.json", at->tmpdir);
    return replace(at->role_file, &roles->file, err);
}

static void tell_ranks(struct attempt *at, uint32_t signo)
{
    Muster__Signal m = MUSTER__SIGNAL__INIT;
    m.number = signo;
    struct frame f = attempt_header(at, FRAME_SIGNAL);
    if (signo != 0 && at->keeper != NULL && at->state == ATTEMPT_RUNNING)
        chan_send_msg(at->keeper, &f, &m.base);
}

void attempt_roles_frame(struct attempt *at, const struct frame *f)
{
    ERR_AUTO err = ERR_INIT;
    Muster__Roles *m = msg_unpack(f, &muster__roles__descriptor, NULL);
    if (m != NULL && at->role_file != NULL && at->tmpdir != NULL) {
        if (replace(at->role_file, &m->file, &err) == 0)
            tell_ranks(at, m->signal);
        else
            log_warn(agent_conf(session_agent(at->session))->log, "%s", err_text(&err));
    }
    msg_free(m);
}
