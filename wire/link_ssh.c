// One SSH session with two channels, stepped from the event loop.
#include "wire/link_ssh.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"
#include "wire/link_sock.h"
#include "wire/replay.h"

enum {
    STEPS_A_WAKE = 16,
    CONTROL_PIECE = 256 * 1024, // at most so much goes to libssh in one write
    BULK_PIECE = 64 * 1024,     // so long a control frame may have to wait
};

const char *const link_ssh_subsystems[LINK_SSH_USES] = {
    [LINK_SSH_CONTROL] = "muster",
    [LINK_SSH_BULK] = "muster-bulk",
};

// ---- what libssh tells: only noted ------------------------------------------

void link_ssh_break(struct link_ssh *s, const char *kind, const char *fmt, ...)
{
    if (s->broken.text != NULL)
        return;
    va_list ap;
    va_start(ap, fmt);
    CLEANUP_FREE char *text = xvasprintf(fmt, ap);
    va_end(ap);
    err_set_kind(&s->broken, kind, 0, "%s", text);
}

static struct link_ssh_channel *find_channel(struct link_ssh *s, ssh_channel channel)
{
    for (int use = 0; use < LINK_SSH_USES; use++)
        if (s->channels[use].channel == channel)
            return &s->channels[use];
    return NULL;
}

// Takes all, always: what stays in libssh's buffer is not offered again.
static int on_data(ssh_session session, ssh_channel channel, void *data, uint32_t len,
                   int is_stderr, void *arg)
{
    struct link_ssh *s = arg;
    struct link_ssh_channel *c = find_channel(s, channel);
    if (c == NULL && s->role->owns != NULL && s->role->owns(s->state, channel))
        return 0;
    if (c == NULL || is_stderr) {
        link_ssh_break(s, "PROTOCOL", "data on a channel that carries no frames");
        return (int)len;
    }
    buf_append(&c->in, data, len);
    s->received += len;
    return (int)len;
}

static void on_channel_end(ssh_session session, ssh_channel channel, void *arg)
{
    if (find_channel(arg, channel) != NULL)
        link_ssh_break(arg, "LOST", "the peer closed a channel without a goodbye");
}

int link_ssh_check(struct link_ssh *s, struct err *err)
{
    if (s->broken.text != NULL) {
        err_copy(err, &s->broken);
        return -1;
    }
    if (ssh_is_connected(s->session) &&
        (ssh_get_status(s->session) & (SSH_CLOSED | SSH_CLOSED_ERROR)) == 0)
        return 0;
    const char *why = ssh_get_error(s->session);
    bool hung_up = strstr(why, "disconnected") != NULL; // libssh's word for end of file
    if (hung_up)
        link_core_hung_up(s->link);
    if (hung_up || why[0] == '\0')
        why = "its program ended or its pod went";
    err_set_kind(err, "LOST", 0, "the connection was closed without a goodbye (%.200s)",
                 why);
    return -1;
}

// ---- frames in and out ------------------------------------------------------

static void deliver_channel(struct link_ssh *s, enum link_ssh_use use)
{
    struct buf *in = &s->channels[use].in;
    ERR_AUTO err = ERR_INIT;
    struct frame f;
    size_t used = 0;
    int got = 0;
    while (link_core_takes(s->link, use == LINK_SSH_BULK) &&
           (got = frame_decode(in, &f, &used, &err)) == 1) {
        if (!s->single && frame_is_bulk(f.kind) != (use == LINK_SSH_BULK)) {
            err_set(&err, "%s on the wrong channel", frame_kind_name(f.kind));
            got = -1;
            break;
        }
        link_core_frame(s->link, &f);
        buf_take(in, used);
    }
    if (got < 0) {
        err.kind = "PROTOCOL";
        link_core_fail(s->link, &err);
    }
}

// Bulk first: the sender writes BYE only when all bulk is written, so bulk that came
// along with a BYE came before it.
static void deliver(struct link_ssh *s)
{
    deliver_channel(s, LINK_SSH_BULK);
    deliver_channel(s, LINK_SSH_CONTROL);
}

static struct replay *queue_of(const struct link_ssh *s, enum link_ssh_use use)
{
    return link_core_queue(s->link, use == LINK_SSH_BULK);
}

// With one channel for all: whole bulk frames go behind the control frames that wait, as
// few as keep it busy.
static void merge_bulk(struct link_ssh *s)
{
    struct replay *out = queue_of(s, LINK_SSH_CONTROL);
    while (s->single && replay_unwritten(out) < BULK_PIECE &&
           replay_move(out, queue_of(s, LINK_SSH_BULK)))
        ;
}

// When all queues are empty.
static void queue_last(struct link_ssh *s)
{
    struct replay *control = queue_of(s, LINK_SSH_CONTROL);
    if (buf_len(&s->last) == 0 || replay_unwritten(control) > 0 ||
        replay_unwritten(queue_of(s, LINK_SSH_BULK)) > 0)
        return;
    replay_add_encoded(control, buf_data(&s->last), buf_len(&s->last));
    buf_clear(&s->last);
}

// The next channel that can be written, and how much: control first. -1: none.
static int next_to_write(struct link_ssh *s, uint32_t *len)
{
    static const uint32_t pieces[] = {CONTROL_PIECE, BULK_PIECE};
    merge_bulk(s);
    queue_last(s);
    for (int use = 0; use < (s->single ? 1 : LINK_SSH_USES); use++) {
        size_t wait = replay_unwritten(queue_of(s, use));
        uint32_t window =
            wait > 0 ? ssh_channel_window_size(s->channels[use].channel) : 0;
        *len = wait < pieces[use] ? (uint32_t)wait : pieces[use];
        *len = *len < window ? *len : window;
        if (*len > 0)
            return use;
    }
    return -1;
}

// Only with libssh's own buffer empty and the window open: it has no other bound.
static void write_some(struct link_ssh *s)
{
    int use;
    uint32_t len = 0;
    size_t all;
    while (ssh_blocking_flush(s->session, 0) == SSH_OK &&
           (use = next_to_write(s, &len)) >= 0) {
        int n = ssh_channel_write(s->channels[use].channel,
                                  replay_next(queue_of(s, use), &all), len);
        if (n <= 0) {
            if (n < 0)
                link_ssh_break(s, "LOST", "the connection was lost (%.200s)",
                               ssh_get_error(s->session));
            return;
        }
        replay_wrote(queue_of(s, use), (size_t)n);
    }
}

static void step(int fd, short what, void *arg);

// ---- stepping ---------------------------------------------------------------

// libssh closes the fd by itself on errors: forget it before its number is used anew.
static void notice_closed_fd(struct link_ssh *s)
{
    bool same = s->session != NULL && s->fd >= 0 && ssh_get_fd(s->session) == s->fd;
    s->handed_over = s->handed_over || same;
    if (!s->handed_over || same || s->fd < 0)
        return;
    event_del(s->io);
    s->fd = -1;
}

static bool step_open(struct link_ssh *s)
{
    ERR_AUTO err = ERR_INIT;
    write_some(s);
    int rc = ssh_event_dopoll(s->poll, 0);
    notice_closed_fd(s);
    deliver(s);
    if (!link_core_alive(s->link))
        return false;
    if (link_ssh_check(s, &err) < 0)
        link_core_fail(s->link, &err);
    return rc == SSH_OK;
}

static bool step_role(struct link_ssh *s)
{
    ERR_AUTO err = ERR_INIT;
    int rc = s->role->step(s->state, &err);
    notice_closed_fd(s);
    if (rc < 0)
        link_core_fail(s->link, &err);
    else if (s->open)
        link_core_opened(s->link);
    return rc > 0;
}

// One event for both directions: of an fd that libssh has closed it can be taken back
// without the kernel's help.
static void rearm(struct link_ssh *s)
{
    if (s->fd < 0)
        return;
    int flags = s->session != NULL ? ssh_get_poll_flags(s->session) : SSH_WRITE_PENDING;
    short want = EV_PERSIST;
    want |= s->session != NULL && !s->hold_reading ? EV_READ : 0;
    want |= (flags & SSH_WRITE_PENDING) != 0 ? EV_WRITE : 0;
    if (want == s->armed)
        return;
    event_del(s->io);
    event_assign(s->io, s->base, s->fd, want, step, s);
    event_add(s->io, NULL);
    s->armed = want;
}

static void step(int fd, short what, void *arg)
{
    struct link_ssh *s = arg;
    struct link *l = s->link;
    link_core_enter(l);
    bool more = true;
    for (int i = 0; i < STEPS_A_WAKE && more && link_core_alive(l); i++)
        more = s->open ? step_open(s) : step_role(s);
    if (link_core_alive(l)) {
        rearm(s);
        if (more) // others first; the socket alone may not wake us for what is left
            link_ssh_wake(s);
    }
    link_core_leave(l);
}

void link_ssh_wake(struct link_ssh *s)
{
    event_active(s->kick, EV_TIMEOUT, 0);
}

// ---- as a transport ---------------------------------------------------------

static void ssh_send(void *t, const struct frame *f)
{
    struct link_ssh *s = t;
    replay_add(link_core_queue(s->link, frame_is_bulk(f->kind)), f);
    link_ssh_wake(s); // written from the loop: what is sent together goes in one write
}

static void ssh_send_last(void *t, const struct frame *f)
{
    struct link_ssh *s = t;
    frame_encode(&s->last, f);
    link_ssh_wake(s);
}

static size_t ssh_pending(const void *t)
{
    const struct link_ssh *s = t;
    // What libssh itself still holds can be seen only as a wish to write.
    size_t hidden =
        s->session != NULL && (ssh_get_poll_flags(s->session) & SSH_WRITE_PENDING) != 0;
    return replay_unwritten(queue_of(s, LINK_SSH_CONTROL)) +
           replay_unwritten(queue_of(s, LINK_SSH_BULK)) + buf_len(&s->last) + hidden;
}

static uint64_t ssh_received(const void *t)
{
    return ((const struct link_ssh *)t)->received;
}

static const char *ssh_stage(const void *t)
{
    const struct link_ssh *s = t;
    return s->role->stage(s->state);
}

static void ssh_rebind(void *t, struct link *l)
{
    struct link_ssh *s = t;
    s->link = l;
    if (s->role->rebind != NULL)
        s->role->rebind(s->state, l);
    link_ssh_wake(s);
}

static void ssh_destroy(void *t)
{
    struct link_ssh *s = t;
    event_free(s->io);
    event_free(s->kick);
    if (s->fd >= 0 && (s->session == NULL || ssh_get_fd(s->session) != s->fd))
        close(s->fd); // libssh never got it
    if (s->poll != NULL) {
        ssh_event_remove_session(s->poll, s->session);
        ssh_event_free(s->poll);
    }
    ssh_free(s->session); // closes the fd
    s->role->destroy(s->state);
    for (int use = 0; use < LINK_SSH_USES; use++)
        buf_free(&s->channels[use].in);
    buf_free(&s->last);
    err_clear(&s->broken);
    free(s);
}

static void ssh_tune(void *t, uint32_t dead_ms)
{
    link_sock_tune(((struct link_ssh *)t)->fd, dead_ms);
}

static const struct link_transport_ops ssh_ops = {
    .send = ssh_send,
    .send_last = ssh_send_last,
    .pending = ssh_pending,
    .received = ssh_received,
    .stage = ssh_stage,
    .tune = ssh_tune,
    .rebind = ssh_rebind,
    .destroy = ssh_destroy,
};

struct link_ssh *link_ssh_create(struct link *l, struct event_base *base, int fd,
                                 const struct link_ssh_role *role, void *state)
{
    struct link_ssh *s = xcalloc(1, sizeof *s);
    s->link = l;
    s->base = base;
    s->fd = fd;
    s->role = role;
    s->state = state;
    s->io = event_new(base, fd, EV_PERSIST, step, s);
    s->kick = event_new(base, -1, 0, step, s);
    s->callbacks.userdata = s;
    s->callbacks.channel_data_function = on_data;
    s->callbacks.channel_eof_function = on_channel_end;
    s->callbacks.channel_close_function = on_channel_end;
    ssh_callbacks_init(&s->callbacks);
    rearm(s);
    link_core_attach(l, &ssh_ops, s);
    return s;
}

void link_ssh_set_session(struct link_ssh *s, ssh_session session)
{
    s->session = session;
    ssh_set_blocking(session, 0);
}

void link_ssh_start_polling(struct link_ssh *s)
{
    s->poll = ssh_event_new();
    ssh_event_add_session(s->poll, s->session);
}

void link_ssh_adopt(struct link_ssh *s, ssh_channel channel)
{
    ssh_set_channel_callbacks(channel, &s->callbacks);
}
