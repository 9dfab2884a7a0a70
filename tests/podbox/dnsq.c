// A minimal stub resolver.
#include "tests/podbox/dnsq.h"

#include <arpa/nameser.h>
#include <poll.h>
#include <resolv.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "common/buf.h"

static void put16(struct buf *b, unsigned v)
{
    const uint8_t two[] = {(uint8_t)(v >> 8), (uint8_t)v};
    buf_append(b, two, sizeof two);
}

static void put_name(struct buf *b, const char *name)
{
    while (*name != '\0') {
        size_t len = strcspn(name, ".");
        uint8_t l = (uint8_t)(len & 63);
        buf_append(b, &l, 1);
        buf_append(b, name, l);
        name += len + (name[len] == '.' ? 1 : 0);
    }
    buf_append(b, "", 1);
}

static bool parse(const uint8_t *text, int len, uint16_t id, struct dnsq *out)
{
    ns_msg msg;
    ns_rr rr;
    if (ns_initparse(text, len, &msg) < 0 || ns_msg_id(msg) != id)
        return false;
    out->rcode = ns_msg_getflag(msg, ns_f_rcode);
    out->truncated = ns_msg_getflag(msg, ns_f_tc) != 0;
    out->answers = ns_msg_count(msg, ns_s_an);
    if (out->answers > 0 && ns_parserr(&msg, ns_s_an, 0, &rr) == 0 &&
        ns_rr_type(rr) == ns_t_a && ns_rr_rdlen(rr) == sizeof out->first)
        memcpy(&out->first, ns_rr_rdata(rr), sizeof out->first);
    return true;
}

bool dnsq_ask(int fd, const char *name, int type, int ms, struct dnsq *out)
{
    enum { HEADER_RD = 0x0100 };
    uint8_t answer[4096];
    uint16_t id = 0;
    memset(out, 0, sizeof *out);
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        return false;
    BUF_AUTO b = BUF_INIT;
    const unsigned head[] = {id, HEADER_RD, 1, 0, 0, 0};
    for (size_t i = 0; i < 6; i++)
        put16(&b, head[i]);
    put_name(&b, name);
    put16(&b, (unsigned)type);
    put16(&b, 1); // class IN
    if (send(fd, buf_data(&b), buf_len(&b), 0) < 0)
        return false;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, ms) > 0) {
        ssize_t n = recv(fd, answer, sizeof answer, 0);
        if (n < 0)
            return false; // nobody listens
        if (parse(answer, (int)n, id, out))
            return true;
    }
    return false;
}
