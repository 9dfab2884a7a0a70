// Commands of stock ssh clients: requests, bytes, ends.
#include "wire/link_ssh_shell.h"

#include <libssh/server.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <utlist.h>

#include "common/mem.h"

enum {
    OUT_MAX = 256 * 1024, // of one stream, not yet sent
    PIECE = 32 * 1024,
    ENV_MAX = 256, // variables, and bytes of all of them
    ENV_BYTES_MAX = 1024 * 1024,
    REFUSED = 255, // as ssh(1) ends when it cannot run a command
};

enum state { SHELL_ASKS, SHELL_REQUESTED, SHELL_RUNNING, SHELL_ENDED };

struct link_shell {
    struct link_ssh_shells *of;
    struct link_shell *prev, *next;
    ssh_channel channel;
    enum state state;
    char *command; // NULL: a shell
    struct strv env;
    size_t env_bytes;
    void *run;         // the owner's; NULL: not started
    struct buf out[2]; // stdout, stderr
    bool told_eof;     // of the client's input
    bool full;         // a write was not taken whole
    int signo;         // the client wants it sent; 0: none
    int status;
};

// ---- requests: only noted -------------------------------------------------------

static struct link_shell *find(const struct link_ssh_shells *s, ssh_channel channel)
{
    struct link_shell *sh;
    DL_FOREACH (s->list, sh)
        if (sh->channel == channel)
            return sh;
    return NULL;
}

// A channel becomes a shell's with its first request of that kind.
static struct link_shell *claim(struct link_ssh_shells *s, ssh_channel channel)
{
    struct link_shell *sh = find(s, channel);
    bool frames = s->ssh->channels[LINK_SSH_CONTROL].channel != NULL ||
                  s->ssh->channels[LINK_SSH_BULK].channel != NULL;
    if (sh != NULL || s->ops == NULL || frames)
        return sh;
    sh = xcalloc(1, sizeof *sh);
    sh->of = s;
    sh->channel = channel;
    DL_APPEND(s->list, sh);
    return sh;
}

static int on_env(ssh_session session, ssh_channel channel, const char *name,
                  const char *value, void *arg)
{
    struct link_shell *sh = claim(arg, channel);
    size_t bytes = strlen(name) + strlen(value) + 2;
    if (sh == NULL || sh->state != SHELL_ASKS || name[0] == '\0' ||
        strchr(name, '=') != NULL || sh->env.n >= ENV_MAX ||
        sh->env_bytes + bytes > ENV_BYTES_MAX)
        return -1;
    sh->env_bytes += bytes;
    strv_setenv(&sh->env, name, value);
    return 0;
}

static int request(struct link_ssh_shells *s, ssh_channel channel, const char *command)
{
    struct link_shell *sh = claim(s, channel);
    if (sh == NULL || sh->state != SHELL_ASKS)
        return -1;
    sh->command = command != NULL ? xstrdup(command) : NULL;
    sh->state = SHELL_REQUESTED;
    s->asked++;
    link_ssh_wake(s->ssh);
    return 0;
}

static int on_exec(ssh_session session, ssh_channel channel, const char *command,
                   void *arg)
{
    return request(arg, channel, command);
}

static int on_shell(ssh_session session, ssh_channel channel, void *arg)
{
    return request(arg, channel, NULL);
}

static void on_signal(ssh_session session, ssh_channel channel, const char *name,
                      void *arg)
{
    struct link_ssh_shells *s = arg;
    struct link_shell *sh = find(s, channel);
    for (int i = 1; sh != NULL && i < NSIG; i++) {
        const char *abbrev = sigabbrev_np(i);
        if (abbrev != NULL && strcmp(abbrev, name) == 0)
            sh->signo = i;
    }
}

// A terminal is not given; the command runs without one.
static int on_pty(ssh_session session, ssh_channel channel, const char *term, int width,
                  int height, int pixels_wide, int pixels_high, void *arg)
{
    return -1;
}

int link_ssh_shells_sftp(struct link_ssh_shells *s, ssh_channel channel)
{
    return request(
        s, channel,
        "for p in /usr/lib/openssh /usr/libexec/openssh /usr/libexec "
        "/usr/lib/ssh; do [ -x $p/sftp-server ] && exec $p/sftp-server; done; "
        "echo 'no sftp-server (openssh-sftp-server) in this pod' >&2; exit 127");
}

void link_ssh_shells_init(struct link_ssh_shells *s, const struct link_shell_ops *ops,
                          void *arg)
{
    *s = (struct link_ssh_shells){.ops = ops, .arg = arg};
    s->requests.userdata = s;
    s->requests.channel_env_request_function = on_env;
    s->requests.channel_exec_request_function = on_exec;
    s->requests.channel_shell_request_function = on_shell;
    s->requests.channel_signal_function = on_signal;
    s->requests.channel_pty_request_function = on_pty;
    ssh_callbacks_init(&s->requests);
}

void link_ssh_shells_offer(struct link_ssh_shells *s, ssh_channel channel)
{
    ssh_add_channel_callbacks(channel, &s->requests);
}

bool link_ssh_shells_own(const struct link_ssh_shells *s, ssh_channel channel)
{
    return find(s, channel) != NULL;
}

// ---- bytes and ends ---------------------------------------------------------------

size_t link_shell_write(struct link_shell *sh, int stream, const void *p, size_t n)
{
    struct buf *out = &sh->out[stream == 2];
    size_t room = OUT_MAX - (buf_len(out) < OUT_MAX ? buf_len(out) : OUT_MAX);
    size_t taken = n < room ? n : room;
    buf_append(out, p, taken);
    sh->full = sh->full || taken < n;
    link_ssh_wake(sh->of->ssh);
    return taken;
}

void link_shell_end(struct link_shell *sh, int status)
{
    sh->status = status;
    sh->state = SHELL_ENDED;
    link_ssh_wake(sh->of->ssh);
}

void link_shell_wake(struct link_shell *sh)
{
    link_ssh_wake(sh->of->ssh);
}

static void start(struct link_shell *sh)
{
    ERR_AUTO err = ERR_INIT;
    sh->state = SHELL_RUNNING;
    sh->run = sh->of->ops->start(sh->of->arg, sh, sh->command, &sh->env, &err);
    if (sh->run != NULL)
        return;
    buf_printf(&sh->out[1], "musterd: %s\n", err_text(&err));
    link_shell_end(sh, REFUSED << 8);
}

// What the runner does not take stays with libssh, and so with the client: only what is
// read opens the window.
static void move_input(struct link_shell *sh)
{
    const struct link_shell_ops *ops = sh->of->ops;
    char piece[PIECE];
    size_t room;
    while (!sh->told_eof && (room = ops->room(sh->run)) > 0) {
        uint32_t want = (uint32_t)(room < sizeof piece ? room : sizeof piece);
        int n = ssh_channel_read_nonblocking(sh->channel, piece, want, 0);
        if (n > 0) {
            ops->input(sh->run, piece, (size_t)n);
            continue;
        }
        sh->told_eof = n == SSH_EOF || ssh_channel_is_eof(sh->channel) != 0;
        if (sh->told_eof)
            ops->input(sh->run, NULL, 0);
        return;
    }
}

static void write_stream(struct link_shell *sh, int i)
{
    struct buf *out = &sh->out[i];
    while (buf_len(out) > 0 && ssh_blocking_flush(sh->of->ssh->session, 0) == SSH_OK) {
        uint32_t window = ssh_channel_window_size(sh->channel);
        uint32_t len = buf_len(out) < PIECE ? (uint32_t)buf_len(out) : PIECE;
        len = len < window ? len : window;
        int n = len == 0 ? 0
                : i == 0 ? ssh_channel_write(sh->channel, buf_data(out), len)
                         : ssh_channel_write_stderr(sh->channel, buf_data(out), len);
        if (n <= 0)
            return;
        buf_take(out, (size_t)n);
    }
}

static void move_output(struct link_shell *sh)
{
    write_stream(sh, 0);
    write_stream(sh, 1);
    if (!sh->full || buf_len(&sh->out[0]) + buf_len(&sh->out[1]) >= OUT_MAX)
        return;
    sh->full = false;
    if (sh->state == SHELL_RUNNING)
        sh->of->ops->drained(sh->run);
}

static void say_status(struct link_shell *sh)
{
    if (WIFSIGNALED(sh->status))
        ssh_channel_request_send_exit_signal(sh->channel,
                                             sigabbrev_np(WTERMSIG(sh->status)),
                                             WCOREDUMP(sh->status), "", "");
    else
        ssh_channel_request_send_exit_status(sh->channel, WEXITSTATUS(sh->status));
    ssh_channel_send_eof(sh->channel);
    ssh_channel_close(sh->channel);
}

static void remove_shell(struct link_shell *sh)
{
    DL_DELETE(sh->of->list, sh);
    if (sh->run != NULL)
        sh->of->ops->gone(sh->run);
    buf_free(&sh->out[0]);
    buf_free(&sh->out[1]);
    strv_free(&sh->env);
    free(sh->command);
    free(sh);
}

// True when it is over.
static bool step_one(struct link_shell *sh)
{
    if (ssh_channel_is_closed(sh->channel))
        return true;
    if (sh->state == SHELL_REQUESTED)
        start(sh);
    if (sh->state == SHELL_RUNNING && sh->signo > 0)
        sh->of->ops->signal(sh->run, sh->signo);
    sh->signo = 0;
    if (sh->state == SHELL_RUNNING)
        move_input(sh);
    move_output(sh);
    if (sh->state != SHELL_ENDED || buf_len(&sh->out[0]) + buf_len(&sh->out[1]) > 0)
        return false;
    say_status(sh);
    return true;
}

unsigned link_ssh_shells_step(struct link_ssh_shells *s)
{
    struct link_shell *sh, *tmp;
    unsigned over = 0;
    DL_FOREACH_SAFE (s->list, sh, tmp) {
        if (!step_one(sh))
            continue;
        ssh_channel channel = sh->channel;
        remove_shell(sh);
        ssh_remove_channel_callbacks(channel, &s->requests);
        ssh_remove_channel_callbacks(channel, &s->ssh->callbacks);
        ssh_channel_free(channel);
        over++;
    }
    return over;
}

void link_ssh_shells_clear(struct link_ssh_shells *s)
{
    struct link_shell *sh, *tmp;
    DL_FOREACH_SAFE (s->list, sh, tmp)
        remove_shell(sh);
}
