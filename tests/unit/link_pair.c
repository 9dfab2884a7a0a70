// Two ends of a link in one event loop.
#include "tests/unit/link_pair.h"

#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/loop.h"
#include "common/mem.h"

enum { WAIT_MS = 10000 };

static char root[] = "/tmp/muster-link-XXXXXX";

void pair_keys_make(void)
{
    cr_assert_not_null(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

void pair_keys_remove(void)
{
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

char *pair_ring_path(const char *name, const char *file)
{
    return xasprintf("%s/%s/%s", root, name, file);
}

struct keyring *pair_ring_load(const char *name)
{
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *dir = pair_ring_path(name, "");
    struct keyring *ring = keyring_load(dir, NULL, &err);
    cr_assert_not_null(ring, "%s", err_text(&err));
    return ring;
}

struct keyring *pair_ring_new(const char *name)
{
    ERR_AUTO err = ERR_INIT;
    CLEANUP_FREE char *dir = pair_ring_path(name, "");
    cr_assert_eq(keyring_generate(dir, &err), 0, "%s", err_text(&err));
    return pair_ring_load(name);
}

// ---- callbacks --------------------------------------------------------------

static void maybe_destroy(struct end *e, enum pair_callback now)
{
    if (e->destroy_in != now)
        return;
    link_destroy(e->link);
    e->link = NULL;
}

static int on_up(void *arg, const Muster__Hello *peer, struct err *err)
{
    struct end *e = arg;
    e->ups++;
    snprintf(e->role, sizeof e->role, "%s", peer->role);
    maybe_destroy(e, PAIR_UP);
    if (e->refuse == NULL)
        return 0;
    err_set(err, "%s", e->refuse);
    return -1;
}

static void on_frame(void *arg, const struct frame *f)
{
    struct end *e = arg;
    if (e->frames < PAIR_KINDS)
        e->kinds[e->frames] = f->kind;
    e->frames++;
    e->bytes += f->len;
    for (size_t i = 0; i < f->len; i++)
        e->sum = (uint8_t)(e->sum * 31 + f->body[i]);
    maybe_destroy(e, PAIR_FRAME);
}

static void on_down(void *arg, const struct err *why)
{
    struct end *e = arg;
    e->downs++;
    snprintf(e->kind, sizeof e->kind, "%s", why->kind);
    snprintf(e->text, sizeof e->text, "%s", err_text(why));
    maybe_destroy(e, PAIR_DOWN);
}

static void on_broken(void *arg, const struct err *why)
{
    struct end *e = arg;
    e->breaks++;
    maybe_destroy(e, PAIR_BROKEN);
}

static void on_resumed(void *arg)
{
    struct end *e = arg;
    e->resumes++;
    maybe_destroy(e, PAIR_RESUMED);
}

const struct link_ops pair_ops = {.up = on_up,
                                  .frame = on_frame,
                                  .down = on_down,
                                  .broken = on_broken,
                                  .resumed = on_resumed};

struct link *pair_find(void *arg, const uint8_t *session)
{
    const struct pair *p = arg;
    struct link *l = p->listener.link;
    bool found = l != NULL && (p->find_any || link_is_session(l, session));
    return found && !p->forget ? l : NULL;
}

const struct link_ops *pair_accept(void *arg, struct link *link, void **link_arg)
{
    struct pair *p = arg;
    p->accepts++;
    if (p->accept_none)
        return NULL;
    if (p->listener.link != NULL) {
        cr_assert_lt(p->nformer, sizeof p->former / sizeof *p->former);
        p->former[p->nformer++] = p->listener.link;
    }
    p->listener.link = link;
    *link_arg = &p->listener;
    return &pair_ops;
}

// ---- life -------------------------------------------------------------------

void pair_init(struct pair *p, struct keyring *dialler, struct keyring *listener)
{
    static char roles[2][16] = {"launcher", "agent"}, version[] = "0.1.0";
    signal(SIGPIPE, SIG_IGN);
    memset(p, 0, sizeof *p);
    p->base = loop_create();
    p->dialler.pair = p->listener.pair = p;
    p->keys[0] = dialler;
    p->keys[1] = listener;
    for (int i = 0; i < 2; i++) {
        p->hello[i] = (Muster__Hello)MUSTER__HELLO__INIT;
        p->hello[i].role = roles[i];
        p->hello[i].version = version;
        p->conf[i] = (struct link_conf){.base = p->base,
                                        .keys = p->keys[i],
                                        .hello = &p->hello[i],
                                        .open_ms = 5000,
                                        .heartbeat_ms = 500,
                                        .dead_ms = 4000};
    }
}

void pair_listen(struct pair *p)
{
    ERR_AUTO err = ERR_INIT;
    struct sockaddr_in any = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    p->server = link_listen(&p->conf[1], (struct sockaddr *)&any, sizeof any,
                            pair_accept, p, &err);
    cr_assert_not_null(p->server, "%s", err_text(&err));
    link_server_address(p->server, &p->address);
}

void pair_connect(struct pair *p, enum pair_over over)
{
    if (over == PAIR_OVER_SSH) {
        pair_listen(p);
        p->dialler.link = link_dial(&p->conf[0], (struct sockaddr *)&p->address,
                                    sizeof(struct sockaddr_in), &pair_ops, &p->dialler);
        return;
    }
    int sv[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    p->dialler.link = link_over_fds(&p->conf[0], sv[0], sv[0], &pair_ops, &p->dialler);
    p->listener.link =
        link_over_fds(&p->conf[1], sv[1], sv[1], &pair_ops, &p->listener);
}

void pair_free(struct pair *p)
{
    link_destroy(p->dialler.link);
    link_destroy(p->listener.link);
    for (size_t i = 0; i < p->nformer; i++)
        link_destroy(p->former[i]);
    link_server_destroy(p->server);
    keyring_destroy(p->keys[0]);
    if (p->keys[1] != p->keys[0])
        keyring_destroy(p->keys[1]);
    loop_destroy(p->base);
}

// ---- running ----------------------------------------------------------------

static void on_wake(int fd, short what, void *arg)
{
}

static bool run_until(struct pair *p, bool (*done)(struct pair *), uint64_t ms)
{
    uint64_t end = loop_now_ms() + ms;
    struct event *wake = event_new(p->base, -1, EV_PERSIST, on_wake, NULL);
    event_add(wake, &(struct timeval){.tv_usec = 10000});
    while ((done == NULL || !done(p)) && loop_now_ms() < end)
        event_base_loop(p->base, EVLOOP_ONCE);
    event_free(wake);
    return done == NULL || done(p);
}

void pair_run(struct pair *p, bool (*done)(struct pair *))
{
    bool ok = run_until(p, done, WAIT_MS);
    cr_assert(ok,
              "dialler up %u down %u (%s: %s) frames %zu; listener up %u down %u "
              "(%s: %s) frames %zu",
              p->dialler.ups, p->dialler.downs, p->dialler.kind, p->dialler.text,
              p->dialler.frames, p->listener.ups, p->listener.downs, p->listener.kind,
              p->listener.text, p->listener.frames);
}

void pair_run_ms(struct pair *p, uint64_t ms)
{
    run_until(p, NULL, ms);
}

bool pair_both_up(struct pair *p)
{
    return p->dialler.ups > 0 && p->listener.ups > 0;
}

bool pair_both_down(struct pair *p)
{
    return p->dialler.downs > 0 && p->listener.downs > 0;
}

bool pair_dialler_down(struct pair *p)
{
    return p->dialler.downs > 0;
}

bool pair_listener_down(struct pair *p)
{
    return p->listener.downs > 0;
}

void pair_make_up(struct pair *p, enum pair_over over)
{
    struct keyring *ring = over == PAIR_OVER_SSH ? pair_ring_new("ring") : NULL;
    pair_init(p, ring, ring);
    pair_connect(p, over);
    pair_run(p, pair_both_up);
}
