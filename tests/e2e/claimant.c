// claimant KEYDIR ADDRESS JOB TERM: claims the job with that term of the agent at an IPv4 address, as
// the launcher of a group of that one member does, prints "granted" or "denied", and leaves. With a fifth
// word, "twice", it goes on: the agent gets one PREPARE (of no ranks) two times, then STOP; and what is
// printed is "stopped", or "failed" where it has anything against that.
//
// No launcher comes to a job's last terms in a test's time: each claims the next one only. And that a
// member is attached just while PREPARE comes down the tree to it is a matter of microseconds.
#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/loop.h"
#include "common/mem.h"
#include "common/sha256.h"
#include "wire/keyring.h"
#include "wire/link.h"
#include "wire/self.h"

enum { PORT = 7822, BOUND_MS = 10000 };

struct claimant {
    struct event_base *base;
    struct link *link;
    const Muster__Hello *hello;
    char *address, *job;
    uint32_t term;
    bool twice;
    const char *answer; // NULL: none yet
};

// The first 64 bits, as the launcher has it (job_claim.c).
static uint64_t job_id(const char *job)
{
    char hex[SHA256_HEX];
    sha256_hex(job, strlen(job), hex);
    hex[16] = '\0';
    return strtoull(hex, NULL, 16);
}

static int on_up(void *arg, const Muster__Hello *peer, struct err *err)
{
    struct claimant *c = arg;
    Muster__Member member = MUSTER__MEMBER__INIT, *members[] = {&member};
    Muster__Attach m = MUSTER__ATTACH__INIT;
    struct frame f = {
        .kind = FRAME_ATTACH, .job = job_id(c->job), .term = c->term, .dst = 1};
    char host[] = "claimant";
    member.name = member.address = c->address;
    m.fanout = 1;
    m.n_members = 1;
    m.members = members;
    m.job_key = c->job;
    m.launcher = c->hello->incarnation;
    m.launcher_host = host;
    link_send_msg(c->link, &f, &m.base);
    return 0;
}

static void tell(const struct claimant *c, uint16_t kind, const ProtobufCMessage *m)
{
    struct frame f = {
        .kind = kind, .job = job_id(c->job), .term = c->term, .attempt = 1, .dst = 1};
    link_send_msg(c->link, &f, m);
}

static void prepare_twice(const struct claimant *c)
{
    Muster__Prepare prepare = MUSTER__PREPARE__INIT;
    Muster__Stop stop = MUSTER__STOP__INIT;
    char nspace[] = "claimant";
    prepare.nspace = nspace;
    tell(c, FRAME_PREPARE, &prepare.base);
    tell(c, FRAME_PREPARE, &prepare.base);
    tell(c, FRAME_STOP, &stop.base);
}

static void on_frame(void *arg, const struct frame *f)
{
    struct claimant *c = arg;
    if (c->answer != NULL)
        return;
    if (f->kind == FRAME_GRANT && c->twice) {
        prepare_twice(c);
        return;
    }
    c->answer = f->kind == FRAME_GRANT     ? "granted"
                : f->kind == FRAME_DENY    ? "denied"
                : f->kind == FRAME_FAILED  ? "failed"
                : f->kind == FRAME_STOPPED ? "stopped"
                                           : NULL;
    if (c->answer != NULL)
        link_close(c->link);
}

static void on_down(void *arg, const struct err *why)
{
    struct claimant *c = arg;
    if (c->answer == NULL)
        fprintf(stderr, "claimant: %s\n", err_text(why));
    event_base_loopbreak(c->base);
}

static void on_bound(int fd, short what, void *arg)
{
    struct claimant *c = arg;
    fprintf(stderr, "claimant: no answer within %d s\n", BOUND_MS / 1000);
    event_base_loopbreak(c->base);
}

static void claim(struct claimant *c, const struct keyring *keys)
{
    static const struct link_ops ops = {
        .up = on_up, .frame = on_frame, .down = on_down};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct link_conf conf = {.base = c->base, .keys = keys, .hello = c->hello};
    struct event *bound = loop_timer(c->base, on_bound, c);
    inet_pton(AF_INET, c->address, &to.sin_addr);
    c->link = link_dial(&conf, (const struct sockaddr *)&to, sizeof to, &ops, c);
    loop_timer_arm(bound, BOUND_MS);
    event_base_dispatch(c->base);
    link_destroy(c->link);
    loop_timer_free(bound);
}

int main(int argc, char **argv)
{
    ERR_AUTO err = ERR_INIT;
    bool twice = argc == 6 && strcmp(argv[5], "twice") == 0, words = argc == 5 || twice;
    struct keyring *keys = words ? keyring_load(argv[1], NULL, &err) : NULL;
    if (keys == NULL) {
        fprintf(stderr, "claimant: %s\n",
                words ? err_text(&err) : "KEYDIR ADDRESS JOB TERM [twice]");
        return 2;
    }
    struct self *self = self_create("launcher");
    struct claimant c = {.base = loop_create(),
                         .hello = self_hello(self),
                         .address = argv[2],
                         .job = argv[3],
                         .twice = twice,
                         .term = (uint32_t)strtoul(argv[4], NULL, 10)};
    claim(&c, keys);
    self_destroy(self);
    loop_destroy(c.base);
    keyring_destroy(keys);
    if (c.answer != NULL)
        puts(c.answer);
    return c.answer != NULL ? 0 : 1;
}
