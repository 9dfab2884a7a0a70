// A small DNS server that answers from a table and can be put in bad moods.
#include "fakedns.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"

enum {
    TYPE_A = 1,
    TYPE_SOA = 6,
    TYPE_PTR = 12,
    TYPE_AAAA = 28,
    TTL = 1,
    RECORDS_MAX = 2048
};
enum { NXDOMAIN = 3, SERVFAIL = 2, REFUSED = 5, PACKET_MAX = 65535, HEADER = 12 };

struct record {
    char *name, *value;
    int type;
};

struct fakedns {
    struct event_base *base;
    char server[32];
    int udp;
    struct event *udp_event;
    struct evconnlistener *tcp;
    struct bufferevent *conns[16];
    size_t nconns;
    enum fakedns_mood mood;
    unsigned soa;
    struct record records[RECORDS_MAX];
    size_t n;
    struct buf log;
};

// ---- messages -------------------------------------------------------------------

static void put16(struct buf *b, unsigned v)
{
    uint8_t bytes[2] = {(uint8_t)(v >> 8), (uint8_t)v};
    buf_append(b, bytes, 2);
}

static void put_name(struct buf *b, const char *name)
{
    while (*name != '\0') {
        size_t len = strcspn(name, ".");
        uint8_t n = (uint8_t)len;
        buf_append(b, &n, 1);
        buf_append(b, name, len);
        name += len + (name[len] == '.' ? 1 : 0);
    }
    buf_append(b, "", 1);
}

// Reads the question's name; returns the bytes it takes, 0 when it is broken.
static size_t get_name(const uint8_t *p, size_t len, char *out, size_t size)
{
    size_t i = 0, o = 0;
    while (i < len && p[i] != 0 && i + 1 + p[i] < len && o + p[i] + 2 < size) {
        memcpy(out + o, p + i + 1, p[i]);
        o += p[i];
        out[o++] = '.';
        i += 1 + (size_t)p[i];
    }
    out[o > 0 ? o - 1 : 0] = '\0';
    return i < len && p[i] == 0 ? i + 1 : 0;
}

static void put_record(struct buf *b, const struct record *r)
{
    uint8_t addr[16];
    put16(b, 0xC000 | HEADER);
    put16(b, (unsigned)r->type);
    put16(b, 1);
    put16(b, 0);
    put16(b, TTL);
    if (r->type == TYPE_PTR) {
        put16(b, (unsigned)strlen(r->value) + 2);
        put_name(b, r->value);
        return;
    }
    bool v4 = r->type == TYPE_A;
    inet_pton(v4 ? AF_INET : AF_INET6, r->value, addr);
    put16(b, v4 ? 4 : 16);
    buf_append(b, addr, v4 ? 4 : 16);
}

static bool is_called(const struct record *r, const char *name)
{
    size_t n = strlen(name), tail = strlen(r->name) - 1;
    if (r->name[0] == '*')
        return n > tail && strcasecmp(name + n - tail, r->name + 1) == 0;
    return strcasecmp(r->name, name) == 0;
}

static unsigned put_soa(const struct fakedns *f, struct buf *b)
{
    if (f->soa == 0)
        return 0;
    put_name(b, "kube.local");
    put16(b, TYPE_SOA);
    put16(b, 1);
    put16(b, f->soa >> 16);
    put16(b, f->soa & 0xFFFF);
    put16(b, 22); // two names that are the root, and five numbers
    put_name(b, "");
    put_name(b, "");
    for (int i = 0; i < 5; i++) {
        put16(b, f->soa >> 16);
        put16(b, f->soa & 0xFFFF);
    }
    return 1;
}

static unsigned put_answers(const struct fakedns *f, struct buf *b, const char *name,
                            int type, unsigned max, bool *exists)
{
    unsigned n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct record *r = &f->records[i];
        if (!is_called(r, name))
            continue;
        *exists = true;
        if (r->type != type || r->value[0] == '\0' || n >= max)
            continue;
        put_record(b, r);
        n++;
    }
    return n;
}

static const char *type_name(int type)
{
    return type == TYPE_A      ? "A"
           : type == TYPE_AAAA ? "AAAA"
           : type == TYPE_PTR  ? "PTR"
                               : "?";
}

// The log is a C string: a NUL stands behind its end.
static void end_log(struct fakedns *f)
{
    buf_append(&f->log, "", 1);
    f->log.end--;
}

// False: say nothing.
static bool answer(struct fakedns *f, const uint8_t *q, size_t len, bool tcp,
                   struct buf *out)
{
    char name[512];
    size_t n = len > HEADER ? get_name(q + HEADER, len - HEADER, name, sizeof name) : 0;
    if (n == 0 || HEADER + n + 4 > len)
        return false;
    int type = q[HEADER + n] << 8 | q[HEADER + n + 1];
    buf_printf(&f->log, "%s%s %s\n", type_name(type), tcp ? "/tcp" : "", name);
    end_log(f);
    if (f->mood == FAKEDNS_SILENT)
        return false;
    bool partial = f->mood == FAKEDNS_PARTIAL || f->mood == FAKEDNS_CUT_WITHOUT_TCP;
    bool cut = !tcp && (f->mood == FAKEDNS_TRUNCATED || partial);
    unsigned max = !cut ? PACKET_MAX : partial ? 1 : 0;
    BUF_AUTO answers = BUF_INIT;
    bool exists = false;
    unsigned count = put_answers(f, &answers, name, type, max, &exists);
    unsigned code = f->mood == FAKEDNS_SERVFAIL  ? SERVFAIL
                    : f->mood == FAKEDNS_REFUSED ? REFUSED
                    : exists                     ? 0
                                                 : NXDOMAIN;
    if (code != 0) {
        buf_clear(&answers);
        count = 0;
    }
    buf_append(out, q, 2);
    put16(out, 0x8580 | (cut ? 0x0200 : 0) | code);
    put16(out, 1);
    put16(out, f->mood == FAKEDNS_GARBAGE ? count + 1 : count);
    BUF_AUTO soa = BUF_INIT;
    put16(out, count == 0 ? put_soa(f, &soa) : 0);
    put16(out, 0);
    buf_append(out, q + HEADER, n + 4);
    if (buf_len(&answers) > 0)
        buf_append(out, buf_data(&answers), buf_len(&answers));
    if (buf_len(&soa) > 0)
        buf_append(out, buf_data(&soa), buf_len(&soa));
    return true;
}

// ---- sockets --------------------------------------------------------------------

static void on_udp(int fd, short what, void *arg)
{
    struct fakedns *f = arg;
    uint8_t q[PACKET_MAX];
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    ssize_t n = recvfrom(fd, q, sizeof q, 0, (void *)&from, &len);
    BUF_AUTO out = BUF_INIT;
    if (n > 0 && answer(f, q, (size_t)n, false, &out))
        sendto(fd, buf_data(&out), buf_len(&out), 0, (void *)&from, len);
}

static void on_tcp(struct bufferevent *be, void *arg)
{
    struct fakedns *f = arg;
    struct evbuffer *in = bufferevent_get_input(be);
    uint8_t q[PACKET_MAX + 2], size[2];
    while (evbuffer_get_length(in) >= 2) {
        evbuffer_copyout(in, size, 2);
        size_t want = (size_t)(size[0] << 8 | size[1]) + 2;
        if (evbuffer_get_length(in) < want)
            return;
        evbuffer_remove(in, q, want);
        BUF_AUTO out = BUF_INIT;
        if (!answer(f, q + 2, want - 2, true, &out))
            continue;
        size[0] = (uint8_t)(buf_len(&out) >> 8);
        size[1] = (uint8_t)buf_len(&out);
        bufferevent_write(be, size, 2);
        bufferevent_write(be, buf_data(&out), buf_len(&out));
    }
}

static void on_end(struct bufferevent *be, short what, void *arg)
{
    struct fakedns *f = arg;
    for (size_t i = 0; i < f->nconns; i++)
        if (f->conns[i] == be)
            f->conns[i--] = f->conns[--f->nconns];
    bufferevent_free(be);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd,
                      struct sockaddr *addr, int len, void *arg)
{
    struct fakedns *f = arg;
    if (f->nconns == sizeof f->conns / sizeof *f->conns ||
        f->mood == FAKEDNS_CUT_WITHOUT_TCP) {
        close(fd);
        return;
    }
    struct bufferevent *be = bufferevent_socket_new(f->base, fd, BEV_OPT_CLOSE_ON_FREE);
    f->conns[f->nconns++] = be;
    bufferevent_setcb(be, on_tcp, NULL, on_end, f);
    bufferevent_enable(be, EV_READ | EV_WRITE);
}

struct fakedns *fakedns_create(struct event_base *base)
{
    struct fakedns *f = xcalloc(1, sizeof *f);
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof at;
    f->base = base;
    end_log(f);
    // The same port for both: TCP picks one, UDP follows, or the two try again.
    for (;;) {
        at.sin_port = 0;
        f->tcp = evconnlistener_new_bind(base, on_accept, f, LEV_OPT_CLOSE_ON_FREE, 16,
                                         (void *)&at, sizeof at);
        getsockname(evconnlistener_get_fd(f->tcp), (void *)&at, &len);
        f->udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (bind(f->udp, (void *)&at, sizeof at) == 0)
            break;
        close(f->udp);
        evconnlistener_free(f->tcp);
    }
    snprintf(f->server, sizeof f->server, "127.0.0.1:%u", ntohs(at.sin_port));
    f->udp_event = event_new(base, f->udp, EV_READ | EV_PERSIST, on_udp, f);
    event_add(f->udp_event, NULL);
    return f;
}

// ---- the table ------------------------------------------------------------------

const char *fakedns_server(const struct fakedns *f)
{
    return f->server;
}

void fakedns_set_mood(struct fakedns *f, enum fakedns_mood mood)
{
    f->mood = mood;
}

void fakedns_set_soa(struct fakedns *f, unsigned seconds)
{
    f->soa = seconds;
}

void fakedns_add(struct fakedns *f, const char *name, const char *type,
                 const char *value)
{
    int t = strcmp(type, "A") == 0      ? TYPE_A
            : strcmp(type, "AAAA") == 0 ? TYPE_AAAA
                                        : TYPE_PTR;
    if (f->n == RECORDS_MAX)
        abort();
    f->records[f->n++] =
        (struct record){.name = xstrdup(name), .value = xstrdup(value), .type = t};
}

void fakedns_add_pod(struct fakedns *f, const char *service, const char *head,
                     const char *addr)
{
    unsigned a, b, c, d;
    sscanf(addr, "%u.%u.%u.%u", &a, &b, &c, &d);
    CLEANUP_FREE char *reverse = xasprintf("%u.%u.%u.%u.in-addr.arpa", d, c, b, a);
    CLEANUP_FREE char *pod = xasprintf("%s.%s", head, service);
    fakedns_add(f, service, "A", addr);
    fakedns_add(f, pod, "A", addr);
    fakedns_add(f, reverse, "PTR", pod);
}

static void drop(struct fakedns *f, size_t i)
{
    free(f->records[i].name);
    free(f->records[i].value);
    f->records[i] = f->records[--f->n];
}

void fakedns_remove(struct fakedns *f, const char *name)
{
    for (size_t i = f->n; i-- > 0;)
        if (strcasecmp(f->records[i].name, name) == 0)
            drop(f, i);
}

void fakedns_remove_value(struct fakedns *f, const char *value)
{
    for (size_t i = f->n; i-- > 0;)
        if (strcmp(f->records[i].value, value) == 0)
            drop(f, i);
}

const char *fakedns_log(const struct fakedns *f)
{
    return (const char *)buf_data(&f->log);
}

void fakedns_clear_log(struct fakedns *f)
{
    buf_clear(&f->log);
    end_log(f);
}

void fakedns_destroy(struct fakedns *f)
{
    while (f->n > 0)
        drop(f, 0);
    for (size_t i = 0; i < f->nconns; i++)
        bufferevent_free(f->conns[i]);
    evconnlistener_free(f->tcp);
    event_free(f->udp_event);
    close(f->udp);
    buf_free(&f->log);
    free(f);
}
