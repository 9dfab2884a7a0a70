// Commands on channels: opening, output, end.
#include "wire/link_ssh_cmd.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "wire/remote.h"

enum { SAID_MAX = 4096, SHOWN = 300, PIECE = 256 * 1024 };

// ---- what libssh tells: only noted ------------------------------------------

static void log_lines(struct link_ssh_cmd *c)
{
    const uint8_t *end;
    while (buf_len(&c->said) > 0 &&
           (end = memchr(buf_data(&c->said), '\n', buf_len(&c->said))) != NULL) {
        size_t len = (size_t)(end - buf_data(&c->said));
        log_warn(c->log, "%s: %.*s", link_peer_text(c->ssh->link), (int)len,
                 (const char *)buf_data(&c->said));
        buf_take(&c->said, len + 1);
    }
}

static void take_stderr(struct link_ssh_cmd *c, const void *data, size_t len)
{
    buf_append(&c->said, data, len);
    if (c->carries)
        log_lines(c);
    if (buf_len(&c->said) > SAID_MAX)
        buf_take(&c->said, buf_len(&c->said) - SAID_MAX);
}

static int on_data(ssh_session session, ssh_channel channel, void *data, uint32_t len,
                   int is_stderr, void *arg)
{
    struct link_ssh_cmd *c = arg;
    if (is_stderr) {
        take_stderr(c, data, len);
        return (int)len;
    }
    buf_append(c->carries ? &c->ssh->channels[LINK_SSH_CONTROL].in : &c->out, data,
               len);
    c->ssh->received += c->carries ? len : 0;
    return (int)len;
}

bool link_ssh_cmd_ended(const struct link_ssh_cmd *c)
{
    return c->closed || (c->eof && c->status >= 0);
}

// While it carries frames, its end is the link's.
static void note_end(struct link_ssh_cmd *c)
{
    if (!c->carries || !link_ssh_cmd_ended(c))
        return;
    CLEANUP_FREE char *said = remote_excerpt(&c->said, SHOWN);
    link_ssh_break(c->ssh, c->status >= 0 ? "GONE" : "LOST",
                   "its musterd ended without a goodbye (status %d%s%s)", c->status,
                   said[0] != '\0' ? "; it said: " : "", said);
}

static void on_eof(ssh_session session, ssh_channel channel, void *arg)
{
    struct link_ssh_cmd *c = arg;
    c->eof = true;
    note_end(c);
}

static void on_close(ssh_session session, ssh_channel channel, void *arg)
{
    struct link_ssh_cmd *c = arg;
    c->closed = true;
    note_end(c);
}

static void on_status(ssh_session session, ssh_channel channel, int status, void *arg)
{
    struct link_ssh_cmd *c = arg;
    c->status = status;
    note_end(c);
}

static void on_signal(ssh_session session, ssh_channel channel, const char *name,
                      int core, const char *text, const char *lang, void *arg)
{
    struct link_ssh_cmd *c = arg;
    c->status = 128;
    for (int i = 1; i < NSIG && c->status == 128; i++) {
        const char *abbrev = sigabbrev_np(i);
        if (abbrev != NULL && strcmp(abbrev, name) == 0)
            c->status += i;
    }
    note_end(c);
}

// ---- life -------------------------------------------------------------------

struct link_ssh_cmd *link_ssh_cmd_create(struct link_ssh *s, struct log *log,
                                         char *command)
{
    struct link_ssh_cmd *c = xcalloc(1, sizeof *c);
    c->ssh = s;
    c->log = log;
    c->command = command;
    c->status = -1;
    c->channel = ssh_channel_new(s->session);
    c->callbacks.userdata = c;
    c->callbacks.channel_data_function = on_data;
    c->callbacks.channel_eof_function = on_eof;
    c->callbacks.channel_close_function = on_close;
    c->callbacks.channel_exit_status_function = on_status;
    c->callbacks.channel_exit_signal_function = on_signal;
    ssh_callbacks_init(&c->callbacks);
    ssh_set_channel_callbacks(c->channel, &c->callbacks);
    return c;
}

void link_ssh_cmd_destroy(struct link_ssh_cmd *c)
{
    if (c == NULL)
        return;
    if (c->channel != NULL) {
        ssh_remove_channel_callbacks(c->channel, &c->callbacks);
        ssh_channel_free(c->channel);
    }
    buf_free(&c->out);
    buf_free(&c->said);
    free(c->command);
    free(c);
}

static int refused(struct link_ssh_cmd *c, struct err *err)
{
    if (link_ssh_check(c->ssh, err) < 0)
        return -1;
    err_set_kind(err, "REMOTE_EXEC", 0, "sshd on %s runs no commands for us: %.200s",
                 link_peer_text(c->ssh->link), ssh_get_error(c->ssh->session));
    return -1;
}

int link_ssh_cmd_step(struct link_ssh_cmd *c, struct err *err)
{
    while (c->state != CMD_RUNNING) {
        int rc = c->state == CMD_OPENING
                     ? ssh_channel_open_session(c->channel)
                     : ssh_channel_request_exec(c->channel, c->command);
        if (rc != SSH_OK && rc != SSH_AGAIN)
            return refused(c, err);
        if (rc == SSH_AGAIN)
            return link_ssh_check(c->ssh, err);
        c->state++;
    }
    int rc = ssh_event_dopoll(c->ssh->poll, 0);
    // What it said is worth more than that the connection is gone by now.
    if (link_ssh_cmd_ended(c) || buf_len(&c->out) > 0)
        return rc == SSH_OK ? 1 : 0;
    return link_ssh_check(c->ssh, err) < 0 ? -1 : rc == SSH_OK ? 1 : 0;
}

ssize_t link_ssh_cmd_write(struct link_ssh_cmd *c, const void *p, size_t n,
                           struct err *err)
{
    if (ssh_blocking_flush(c->ssh->session, 0) != SSH_OK)
        return link_ssh_check(c->ssh, err);
    uint32_t window = ssh_channel_window_size(c->channel);
    uint32_t len = n < PIECE ? (uint32_t)n : PIECE;
    len = len < window ? len : window;
    if (len == 0)
        return 0;
    int written = ssh_channel_write(c->channel, p, len);
    if (written < 0)
        err_set_kind(err, "LOST", 0, "the connection was lost (%.200s)",
                     ssh_get_error(c->ssh->session));
    return written;
}

void link_ssh_cmd_eof(struct link_ssh_cmd *c)
{
    ssh_channel_send_eof(c->channel);
}

void link_ssh_cmd_carry(struct link_ssh_cmd *c)
{
    struct link_ssh *s = c->ssh;
    struct link_ssh_channel *to = &s->channels[LINK_SSH_CONTROL];
    c->carries = true;
    to->channel = c->channel;
    s->single = true;
    s->open = true;
    if (buf_len(&c->out) > 0)
        buf_append(&to->in, buf_data(&c->out), buf_len(&c->out));
    s->received += buf_len(&c->out);
    buf_free(&c->out);
    buf_clear(&c->said); // of the shell's start, not the agent's
    note_end(c);
}
