// Asking a running job.
#include "launcher/ask.h"

#include <event2/event.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/members.h"
#include "wire/keyring.h"
#include "wire/link.h"
#include "wire/msg.h"
#include "wire/self.h"

struct asking {
    struct event_base *base;
    struct link *link;
    const Muster__Ask *question;
    Muster__Answer *answer; // NULL: none yet
    struct err *err;        // set when there will be none
};

static int on_up(void *arg, const Muster__Hello *peer, struct err *err)
{
    const struct asking *a = arg;
    struct frame f = {.kind = FRAME_ASK};
    link_send_msg(a->link, &f, &a->question->base);
    return 0;
}

static void on_frame(void *arg, const struct frame *f)
{
    struct asking *a = arg;
    if (f->kind != FRAME_ANSWER || a->answer != NULL || f->len > ASK_TEXT_MAX)
        return;
    a->answer = msg_unpack(f, &muster__answer__descriptor, NULL);
    if (a->answer != NULL)
        link_close(a->link);
}

static void on_down(void *arg, const struct err *why)
{
    struct asking *a = arg;
    if (a->answer == NULL)
        err_set(a->err, "%s%s", err_text(why),
                why->kind != NULL && strcmp(why->kind, "REFUSED_TCP") == 0
                    ? " (the job's state is asked of a pod's musterd)"
                    : "");
    event_base_loopbreak(a->base);
}

static void on_bound(int fd, short what, void *arg)
{
    struct asking *a = arg;
    if (a->answer == NULL)
        err_set(a->err,
                "%s gave no answer within %d s: the job's launcher, or an agent on the "
                "way to it, is stopped or cut off",
                link_peer_text(a->link), ASK_BOUND_MS / 1000);
    event_base_loopbreak(a->base);
}

static void dial(struct asking *a, const struct ask *where, const struct keyring *keys)
{
    static const struct link_ops ops = {
        .up = on_up, .frame = on_frame, .down = on_down};
    struct self *self = self_create("client");
    struct link_conf conf = {.base = a->base, .keys = keys, .hello = self_hello(self)};
    struct event *bound = loop_timer(a->base, on_bound, a);
    a->link = link_dial(&conf, (const struct sockaddr *)&where->agent, where->agent_len,
                        &ops, a);
    loop_timer_arm(bound, ASK_BOUND_MS);
    event_base_dispatch(a->base);
    link_destroy(a->link);
    loop_timer_free(bound);
    self_destroy(self);
}

int ask_job(const struct ask *where, const Muster__Ask *question, char **text,
            struct err *err)
{
    CLEANUP_FREE char *dir = keyring_default_dir(where->key_dir);
    struct asking a = {.question = question, .err = err};
    struct keyring *keys = keyring_load(dir, NULL, err);
    int code = ASK_NOT;
    *text = NULL;
    if (keys == NULL)
        return code;
    a.base = loop_create();
    dial(&a, where, keys);
    if (a.answer != NULL) {
        code = a.answer->code == 0 ? 0 : 1;
        *text = xstrdup(a.answer->text);
    }
    msg_free(a.answer);
    loop_destroy(a.base);
    keyring_destroy(keys);
    return code;
}

// ---- where ------------------------------------------------------------------------

static bool is_port(const char *s)
{
    char *end;
    unsigned long n =
        s[strspn(s, "0123456789")] == '\0' && strlen(s) < 6 ? strtoul(s, &end, 10) : 0;
    return n > 0 && n <= ASK_PORT_MAX;
}

// Host and port of "10.0.0.5:7822", "[fd00::5]:7822", "fd00::5", "train-2" or "7822".
static bool split(const char *where, char **host, char **port)
{
    const char *colon = strrchr(where, ':'), *close = strchr(where, ']');
    bool literal = strchr(where, ':') != colon && close == NULL; // IPv6, no port
    *port = xasprintf("%d", MEMBERS_DEFAULT_PORT);
    if (is_port(where)) {
        *host = xstrdup("127.0.0.1");
        free(*port);
        *port = xstrdup(where);
        return true;
    }
    size_t n = strlen(where);
    if (colon != NULL && !literal && (close == NULL || colon == close + 1)) {
        free(*port);
        *port = xstrdup(colon + 1);
        n = (size_t)(colon - where);
    }
    bool brackets = where[0] == '[' && n > 2 && where[n - 1] == ']';
    *host = brackets ? xstrndup(where + 1, n - 2) : xstrndup(where, n);
    return (*host)[0] != '\0' && strpbrk(*host, "[]") == NULL && is_port(*port);
}

int ask_find(struct ask *a, const char *where, struct err *err)
{
    CLEANUP_FREE char *host = NULL, *port = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV},
                    *found;
    if (!split(where != NULL ? where : "127.0.0.1", &host, &port)) {
        err_set(
            err,
            "%s: give the address or name of a pod, and its musterd's port behind a "
            "colon where that is another one than %d",
            where, MEMBERS_DEFAULT_PORT);
        return -1;
    }
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0) {
        err_set(err, "%s: %s", host, gai_strerror(rc));
        return -1;
    }
    memcpy(&a->agent, found->ai_addr, found->ai_addrlen);
    a->agent_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}
