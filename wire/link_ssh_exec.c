// The dialling end of a link to a stock sshd: log in, bring the agent along when asked,
// start it, and wait for its first word.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "wire/agent_files.h"
#include "wire/link_sock.h"
#include "wire/link_ssh_cmd.h"
#include "wire/link_ssh_login.h"
#include "wire/remote.h"

enum { PUSH_OPEN_MS = 120000, SHOWN = 300 };

// LOGIN -> PUT (each file) -> START; then the channel carries frames.
enum stage { STAGE_LOGIN, STAGE_PUT, STAGE_START };

struct exec {
    struct link_ssh *ssh;
    struct link_ssh_login login;
    const struct link_via *via;
    struct log *log;
    enum stage stage;
    struct link_ssh_cmd *cmd; // NULL: the next is still to be made
    size_t file, sent;        // of via->files: which, bytes of it
    bool sending;
    char *pushed;    // path of the file put last: musterd's, in the end
    char waits[600]; // what for, for the deadline's text
};

// ---- errors -----------------------------------------------------------------

// "; it said: '...'", or "".
static char *words_of(const struct link_ssh_cmd *c)
{
    CLEANUP_FREE char *out = remote_excerpt(&c->out, SHOWN);
    CLEANUP_FREE char *said = remote_excerpt(&c->said, SHOWN);
    if (out[0] == '\0' && said[0] == '\0')
        return xstrdup("");
    return xasprintf("; it said: '%s%s%s'", out,
                     out[0] != '\0' && said[0] != '\0' ? "|" : "", said);
}

static char *list_of_agents(const struct link_via *via)
{
    BUF_AUTO list = BUF_INIT;
    for (size_t i = 0; i < via->nagents; i++) {
        bool path = strchr(via->agents[i], '/') != NULL;
        buf_printf(&list, "%s%s%s", i > 0 ? ", " : "", via->agents[i],
                   path ? "" : " in PATH");
    }
    return buf_steal_str(&list);
}

static int fail_absent(struct exec *x, struct err *err)
{
    CLEANUP_FREE char *list = list_of_agents(x->via);
    err_set_kind(err, "REMOTE_EXEC_NOT_FOUND", 127,
                 "REMOTE_EXEC_NOT_FOUND: no musterd on %s (user %s; looked for %s): "
                 "name it with --agent-path PATH, or bring it along with --push-agent",
                 link_peer_text(x->ssh->link), x->via->user, list);
    return -1;
}

static int fail_noexec(struct exec *x, const char *path, struct err *err)
{
    err_set_kind(
        err, "REMOTE_EXEC", 126,
        "REMOTE_EXEC: %s on %s cannot be executed by user %s: look at its mode, "
        "and whether its file system is mounted noexec (then --agent-path PATH)",
        path, link_peer_text(x->ssh->link), x->via->user);
    return -1;
}

static int fail_mute(struct exec *x, struct err *err)
{
    CLEANUP_FREE char *words = words_of(x->cmd);
    bool libraries = strstr(words, "shared libraries") != NULL;
    err_set_kind(
        err, "REMOTE_EXEC", 0,
        "REMOTE_EXEC: musterd did not start on %s (user %s, exit status %d%s)%s",
        link_peer_text(x->ssh->link), x->via->user, x->cmd->status, words,
        libraries ? "; the image needs the libraries of musterd" : "");
    return -1;
}

static int fail_noisy(struct exec *x, struct err *err)
{
    CLEANUP_FREE char *words = words_of(x->cmd);
    err_set_kind(err, "REMOTE_EXEC", 0,
                 "REMOTE_EXEC: more than %d KiB came from %s and no musterd among it%s",
                 REMOTE_NOISE_MAX / 1024, link_peer_text(x->ssh->link), words);
    return -1;
}

static int fail_put(struct exec *x, const char *why, struct err *err)
{
    CLEANUP_FREE char *words = words_of(x->cmd);
    err_set_kind(err, "REMOTE_EXEC", 0,
                 "REMOTE_EXEC: --push-agent: %s could not be brought to %s: %s%s",
                 x->via->files->v[x->file].name, link_peer_text(x->ssh->link),
                 why != NULL ? why : "its shell ended early", words);
    return -1;
}

// ---- bringing the agent -----------------------------------------------------

static void next_command(struct exec *x, char *command)
{
    link_ssh_cmd_destroy(x->cmd);
    x->cmd = link_ssh_cmd_create(x->ssh, x->log, command);
}

static int file_there(struct exec *x, char *path)
{
    free(x->pushed);
    x->pushed = path;
    link_ssh_cmd_destroy(x->cmd);
    x->cmd = NULL;
    x->file++;
    x->sent = 0;
    x->sending = false;
    x->stage = x->file < x->via->files->n ? STAGE_PUT : STAGE_START;
    return 1;
}

// 1 when some was written, 0 when nothing goes now, -1 with err.
static int send_some(struct exec *x, struct err *err)
{
    const struct buf *content = &x->via->files->v[x->file].content;
    if (!x->sending)
        return 0;
    ssize_t n = link_ssh_cmd_write(x->cmd, buf_data(content) + x->sent,
                                   buf_len(content) - x->sent, err);
    if (n < 0)
        return -1;
    x->sent += (size_t)n;
    x->sending = x->sent < buf_len(content);
    if (!x->sending)
        link_ssh_cmd_eof(x->cmd);
    return n > 0 ? 1 : 0;
}

static int step_put(struct exec *x, struct err *err)
{
    const struct agent_file *file = &x->via->files->v[x->file];
    if (x->cmd == NULL)
        next_command(x, remote_put_command(x->via->files->dir, file->name, file->hash));
    int came = link_ssh_cmd_step(x->cmd, err);
    if (came < 0)
        return -1;
    CLEANUP_FREE char *text = NULL;
    switch (remote_answer(&x->cmd->out, &text)) {
    case REMOTE_HAVE: return file_there(x, STEAL(text));
    case REMOTE_SEND: x->sending = true; break;
    case REMOTE_BAD: return fail_put(x, text, err);
    default:
        if (buf_len(&x->cmd->out) > REMOTE_NOISE_MAX)
            return fail_noisy(x, err);
        if (link_ssh_cmd_ended(x->cmd))
            return fail_put(x, NULL, err);
    }
    int went = send_some(x, err);
    return went < 0 ? -1 : came > 0 || went > 0;
}

// ---- starting it ------------------------------------------------------------

static void begin_start(struct exec *x)
{
    const char *pushed[] = {x->pushed};
    next_command(x, x->pushed != NULL
                        ? remote_start_command(pushed, 1)
                        : remote_start_command(x->via->agents, x->via->nagents));
}

static int step_start(struct exec *x, struct err *err)
{
    if (x->cmd == NULL)
        begin_start(x);
    int came = link_ssh_cmd_step(x->cmd, err);
    if (came < 0)
        return -1;
    CLEANUP_FREE char *text = NULL;
    switch (remote_answer(&x->cmd->out, &text)) {
    case REMOTE_START: link_ssh_cmd_carry(x->cmd); return 1;
    case REMOTE_ABSENT: return fail_absent(x, err);
    case REMOTE_NOEXEC: return fail_noexec(x, text, err);
    default: break;
    }
    if (buf_len(&x->cmd->out) > REMOTE_NOISE_MAX)
        return fail_noisy(x, err);
    return link_ssh_cmd_ended(x->cmd) ? fail_mute(x, err) : came;
}

// ---- as a role --------------------------------------------------------------

static int step_login(struct exec *x, struct err *err)
{
    int rc = link_ssh_login_step(&x->login, err);
    if (x->login.stage == LOGIN_DONE)
        x->stage = x->via->files != NULL ? STAGE_PUT : STAGE_START;
    return rc;
}

// The deadline may come at any time: its text is kept ready.
static void note_wait(struct exec *x)
{
    static const char *const names[] = {
        [STAGE_PUT] = "bringing the agent", [STAGE_START] = "musterd's first word"};
    CLEANUP_FREE char *words = x->cmd != NULL ? words_of(x->cmd) : xstrdup("");
    snprintf(x->waits, sizeof x->waits, "%s%s",
             x->stage == STAGE_LOGIN ? link_ssh_login_stage_name(&x->login)
                                     : names[x->stage],
             words);
}

static int exec_step(void *state, struct err *err)
{
    static int (*const steps[])(struct exec *, struct err *) = {
        [STAGE_LOGIN] = step_login,
        [STAGE_PUT] = step_put,
        [STAGE_START] = step_start,
    };
    struct exec *x = state;
    int rc = steps[x->stage](x, err);
    if (rc == 0)
        note_wait(x);
    return rc;
}

static const char *exec_stage(const void *state)
{
    return ((const struct exec *)state)->waits;
}

// The session is gone, and every channel with it.
static void exec_destroy(void *state)
{
    struct exec *x = state;
    if (x->cmd != NULL)
        x->cmd->channel = NULL;
    link_ssh_cmd_destroy(x->cmd);
    link_ssh_login_clear(&x->login);
    free(x->pushed);
    free(x);
}

static const struct link_ssh_role exec_role = {
    .step = exec_step, .stage = exec_stage, .destroy = exec_destroy};

struct link *link_dial_exec(const struct link_conf *conf, const struct link_via *via,
                            const struct sockaddr *addr, socklen_t len,
                            const struct link_ops *ops, void *arg)
{
    char peer[LINK_SOCK_TEXT];
    ERR_AUTO err = ERR_INIT;
    struct link_conf own = *conf;
    if (own.open_ms == 0 && via->files != NULL)
        own.open_ms = PUSH_OPEN_MS;
    link_sock_text(addr, len, peer);
    struct link *l = link_core_create(&own, peer, LINK_DIALING, ops, arg);
    int fd = link_sock_connect(addr, len, peer, &err);
    struct exec *x = xcalloc(1, sizeof *x);
    x->via = via;
    x->log = conf->log;
    snprintf(x->waits, sizeof x->waits, "TCP connect");
    link_ssh_login_init(&x->login, l, conf, via, addr, len);
    x->ssh = x->login.ssh = link_ssh_create(l, conf->base, fd, &exec_role, x);
    if (fd < 0)
        link_core_fail_later(l, &err);
    return l;
}
