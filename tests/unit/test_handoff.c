// Agent and sidecar in one loop, over a run directory: claims, leases, waiting and answers.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/handoff.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/mem.h"
#include "hostfile/roll_json.h"
#include "hostfile/slurp.h"
#include "sidecar/keep.h"
#include "sidecar/lease.h"
#include "wire/msg.h"
#include "wire/roll_msg.h"

enum { BEAT = 20, LEASE = 600, BOUND_MS = 20000 };

struct bed {
    struct event_base *base;
    struct log *log;
    char dir[40];
    char *hostfile, *roll, *applied;
    struct keep_hostfile file;
    struct handoff *agent;
    struct keep *keep; // of the sidecar
    struct lease *lease;
    int held; // what the sidecar was told: 1, 0, -1: nothing yet
    // Of the last wait that is over.
    bool over;
    char *failure, *note;
};

static void begin(struct bed *b)
{
    *b = (struct bed){.dir = "/tmp/muster-handoff-XXXXXX", .held = -1};
    b->base = loop_create();
    b->log = log_create(2, "test", LOG_LEVEL_ERROR);
    cr_assert_not_null(mkdtemp(b->dir));
    b->hostfile = xasprintf("%s/hostfile", b->dir);
    b->roll = xasprintf("%s/" ROLL_FILE, b->dir);
    b->applied = xasprintf("%s/" ROLL_APPLIED_FILE, b->dir);
}

static struct handoff *make_agent(const struct bed *b)
{
    struct handoff_conf conf = {.base = b->base,
                                .log = b->log,
                                .dir = b->dir,
                                .beat_ms = BEAT,
                                .lease_ms = LEASE};
    return handoff_create(&conf);
}

static void begin_with_agent(struct bed *b)
{
    begin(b);
    b->agent = make_agent(b);
}

static void on_lease(void *arg, bool held)
{
    struct bed *b = arg;
    b->held = held;
}

// Without inotify: it looks every 50 ms.
static void start_sidecar(struct bed *b)
{
    ERR_AUTO err = ERR_INIT;
    b->file =
        (struct keep_hostfile){dialect_find("openmpi", "", true, NULL), b->hostfile};
    struct keep_conf keep = {
        .base = b->base, .log = b->log, .hostfiles = &b->file, .nhostfiles = 1};
    b->keep = keep_create(&keep, &err);
    cr_assert_not_null(b->keep, "%s", err_text(&err));
    struct lease_conf lease = {.base = b->base,
                               .log = b->log,
                               .dir = b->dir,
                               .keep = b->keep,
                               .changed = on_lease,
                               .arg = b};
    b->lease = lease_create(&lease, &err);
    cr_assert_not_null(b->lease, "%s", err_text(&err));
}

static void stop_sidecar(struct bed *b)
{
    lease_destroy(STEAL(b->lease));
    keep_destroy(STEAL(b->keep));
    b->held = -1;
}

static void end(struct bed *b)
{
    CLEANUP_FREE char *rm = xasprintf("rm -r %s", b->dir);
    stop_sidecar(b);
    handoff_destroy(b->agent);
    cr_assert_eq(system(rm), 0);
    loop_destroy(b->base);
    log_destroy(b->log);
    free(b->hostfile);
    free(b->roll);
    free(b->applied);
    free(b->failure);
    free(b->note);
}

// Runs the loop until the condition holds.
#define UNTIL(b, condition)                                                            \
    do {                                                                               \
        uint64_t end_ = loop_now_ms() + BOUND_MS;                                      \
        while (!(condition)) {                                                         \
            cr_assert_lt(loop_now_ms(), end_, "not in time: " #condition);             \
            event_base_loop((b)->base, EVLOOP_NONBLOCK);                               \
            poll(NULL, 0, 1);                                                          \
        }                                                                              \
    } while (0)

// A roll of a job: one member at that address, on a position.
static void send_roll(struct handoff_claim *c, const char *job, uint64_t generation,
                      const char *address)
{
    MEMBERS_AUTO m = MEMBERS_INIT;
    BUF_AUTO body = BUF_INIT;
    static const uint32_t seat[] = {0}, slots[] = {2};
    members_add(&m, "train-0", 7);
    struct roll *r = roll_create(job, 1, &m);
    strcpy(r->members[0].address, address);
    cr_assert_eq(roll_seat(r, seat, slots, 1, NULL), 0);
    r->generation = generation;
    Muster__Roll *msg = roll_msg_make(r);
    struct frame f = {.kind = FRAME_ROLL, .term = 1};
    msg_pack(&f, &body, &msg->base);
    handoff_roll(c, &f);
    msg_free(msg);
    roll_destroy(r);
}

// The roll that lies there; NULL: none. *id: of its lease.
static struct roll *lying(const struct bed *b, struct roll_lease *lease)
{
    BUF_AUTO text = BUF_INIT;
    return slurp(b->roll, &text, NULL) == 0
               ? roll_json_read((const char *)buf_data(&text), buf_len(&text), lease,
                                NULL)
               : NULL;
}

static bool lies(const struct bed *b, const char *job, uint64_t generation)
{
    struct roll_lease lease;
    struct roll *r = lying(b, &lease);
    bool is = job == NULL ? access(b->roll, F_OK) < 0
                          : r != NULL && strcmp(r->job_key, job) == 0 &&
                                r->generation == generation;
    roll_destroy(r);
    return is;
}

static bool hostfile_says(const struct bed *b, const char *line)
{
    BUF_AUTO text = BUF_INIT;
    slurp(b->hostfile, &text, NULL);
    buf_append(&text, "", 1);
    return strstr((const char *)buf_data(&text), line) != NULL;
}

static void on_over(void *arg, const struct err *failure, const char *note)
{
    struct bed *b = arg;
    free(b->failure);
    free(b->note);
    b->failure = failure != NULL ? xstrdup(err_text(failure)) : NULL;
    b->note = note != NULL ? xstrdup(note) : NULL;
    b->over = true;
}

static void wait_over(struct bed *b, struct handoff_claim *c)
{
    b->over = false;
    handoff_wait(b->agent, c, on_over, b);
    cr_assert_not(b->over); // never from inside
    UNTIL(b, b->over);
}

Test(handoff, a_roll_is_applied_before_a_wait_is_over_and_goes_with_its_job,
     .timeout = 60)
{
    struct bed b;
    begin_with_agent(&b);
    start_sidecar(&b);
    UNTIL(&b, b.held == 0);
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(c, "a", 7, "10.0.0.1");
    wait_over(&b, c);
    cr_assert_null(b.failure, "%s", b.failure);
    cr_assert(hostfile_says(&b, "\n10.0.0.1 slots=2\n"));
    cr_assert_eq(b.held, 1);
    send_roll(c, "a", 6, "10.0.0.6"); // late
    cr_assert(lies(&b, "a", 7));
    send_roll(c, "a", 8, "10.0.0.8");
    UNTIL(&b, hostfile_says(&b, "\n10.0.0.8 slots=2\n"));
    handoff_claim_destroy(c);
    cr_assert(lies(&b, NULL, 0));
    UNTIL(&b, b.held == 0);
    end(&b);
}

Test(handoff, without_a_sidecar_or_a_roll_nothing_is_waited_for, .timeout = 60)
{
    struct bed b;
    begin_with_agent(&b);
    wait_over(&b, NULL);
    cr_assert(b.failure == NULL && b.note == NULL);
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(c, "a", 1, "10.0.0.1");
    wait_over(&b, c);
    cr_assert(b.failure == NULL && b.note == NULL);
    handoff_claim_destroy(c);
    end(&b);
}

Test(handoff, a_directory_that_is_not_there_is_none, .timeout = 60)
{
    struct bed b;
    begin(&b);
    strcat(b.dir, "/none");
    b.agent = make_agent(&b);
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(c, "a", 1, "10.0.0.1");
    wait_over(&b, c);
    cr_assert(b.failure == NULL && b.note == NULL);
    handoff_claim_destroy(c);
    *strrchr(b.dir, '/') = '\0';
    end(&b);
}

Test(handoff, a_second_job_is_told_and_owns_after_the_first, .timeout = 60)
{
    struct bed b;
    begin_with_agent(&b);
    start_sidecar(&b);
    struct handoff_claim *first = handoff_claim_create(b.agent);
    struct handoff_claim *second = handoff_claim_create(b.agent);
    send_roll(first, "a", 1, "10.0.0.1");
    send_roll(second, "b", 1, "10.0.0.2");
    wait_over(&b, second);
    cr_assert_null(b.failure);
    cr_assert_not_null(strstr(b.note, "another job"));
    cr_assert(lies(&b, "a", 1));
    handoff_claim_destroy(first);
    cr_assert(lies(&b, "b", 1));
    UNTIL(&b, hostfile_says(&b, "10.0.0.2"));
    handoff_claim_destroy(second);
    end(&b);
}

Test(handoff, a_reset_within_the_lease_changes_nothing, .timeout = 60)
{
    struct bed b;
    struct roll_lease before, after;
    begin_with_agent(&b);
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(c, "a", 1, "10.0.0.1");
    roll_destroy(lying(&b, &before));
    handoff_lost(c);
    handoff_back(c);
    handoff_lost(c); // and again
    handoff_back(c);
    struct roll *r = lying(&b, &after);
    cr_assert_not_null(r);
    cr_assert_str_eq(before.id, after.id);
    roll_destroy(r);
    handoff_claim_destroy(c);
    end(&b);
}

Test(handoff, an_orphan_loses_the_files_with_its_lease_and_waits_anew, .timeout = 60)
{
    struct bed b;
    begin_with_agent(&b);
    struct handoff_claim *orphan = handoff_claim_create(b.agent);
    struct handoff_claim *next = handoff_claim_create(b.agent);
    send_roll(orphan, "a", 1, "10.0.0.1");
    send_roll(next, "b", 1, "10.0.0.2");
    handoff_lost(orphan);
    cr_assert(lies(&b, "a", 1));
    UNTIL(&b, lies(&b, "b", 1));
    handoff_back(orphan);
    cr_assert(lies(&b, "b", 1));
    handoff_claim_destroy(next);
    cr_assert(lies(&b, "a", 1));
    handoff_claim_destroy(orphan);
    end(&b);
}

Test(handoff, the_same_job_taking_hold_anew_owns_at_once_under_the_same_lease,
     .timeout = 60)
{
    struct bed b;
    struct roll_lease before, after;
    begin_with_agent(&b);
    struct handoff_claim *old = handoff_claim_create(b.agent);
    struct handoff_claim *new = handoff_claim_create(b.agent);
    send_roll(old, "a", 1, "10.0.0.1");
    roll_destroy(lying(&b, &before));
    handoff_lost(old);
    send_roll(new, "a", 2, "10.0.0.2");
    struct roll *r = lying(&b, &after);
    cr_assert_eq(r->generation, 2);
    cr_assert_str_eq(before.id, after.id);
    roll_destroy(r);
    handoff_back(old); // no way back
    handoff_claim_destroy(old);
    cr_assert(lies(&b, "a", 2));
    handoff_claim_destroy(new);
    end(&b);
}

Test(handoff, the_same_job_owns_anew_with_the_roll_that_is_there, .timeout = 60)
{
    struct bed b;
    begin(&b);
    b.agent = make_agent(&b);
    start_sidecar(&b);
    struct handoff_claim *old = handoff_claim_create(b.agent);
    struct handoff_claim *new = handoff_claim_create(b.agent);
    send_roll(old, "a", 1, "10.0.0.1");
    handoff_lost(old);
    send_roll(new, "a", 1, "10.0.0.1");
    wait_over(&b, new);
    cr_assert_null(b.failure);
    cr_assert_null(b.note);
    handoff_claim_destroy(old);
    cr_assert(lies(&b, "a", 1));
    handoff_claim_destroy(new);
    end(&b);
}

Test(handoff, a_second_agent_gets_the_files_when_the_first_is_gone, .timeout = 60)
{
    struct bed b;
    begin(&b);
    struct handoff *first = make_agent(&b);
    b.agent = make_agent(&b);
    start_sidecar(&b);
    struct handoff_claim *a = handoff_claim_create(first);
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(a, "a", 1, "10.0.0.1");
    send_roll(c, "b", 1, "10.0.0.2");
    wait_over(&b, c);
    cr_assert_null(b.failure);
    cr_assert_not_null(strstr(b.note, "OUT_BUSY"));
    handoff_claim_destroy(a);
    handoff_destroy(first);
    UNTIL(&b, hostfile_says(&b, "10.0.0.2"));
    handoff_claim_destroy(c);
    end(&b);
}

Test(handoff, what_the_sidecar_cannot_write_is_the_waits_failure, .timeout = 60)
{
    struct bed b;
    begin_with_agent(&b);
    start_sidecar(&b);
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(c, "a", 1, "127.0.0.1"); // each pod's own
    wait_over(&b, c);
    cr_assert_not_null(strstr(b.failure, "member train-0 has a loopback address"));
    send_roll(c, "a", 2, "10.0.0.1");
    wait_over(&b, c);
    cr_assert_null(b.failure);
    handoff_claim_destroy(c);
    end(&b);
}

// The agent ends without a word: its files stay, and nobody renews.
Test(handoff, the_sidecar_sees_the_lease_of_a_killed_agent_run_out, .timeout = 60)
{
    struct bed b;
    begin_with_agent(&b);
    start_sidecar(&b);
    UNTIL(&b, b.held == 0); // it was there before the roll
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(c, "a", 1, "10.0.0.1");
    UNTIL(&b, b.held == 1);
    CLEANUP_FREE char *keep =
        xasprintf("cd %s && cp roll.json r && cp roll.beat b", b.dir);
    CLEANUP_FREE char *back =
        xasprintf("cd %s && mv b roll.beat && mv r roll.json", b.dir);
    cr_assert_eq(system(keep), 0);
    handoff_claim_destroy(c);
    cr_assert_eq(system(back), 0);
    UNTIL(&b, b.held == 0);
    // One that starts now does not take what lies there.
    stop_sidecar(&b);
    start_sidecar(&b);
    UNTIL(&b, b.held == 0);
    cr_assert(lies(&b, "a", 1));
    // A new agent takes its place.
    c = handoff_claim_create(b.agent);
    send_roll(c, "b", 1, "10.0.0.2");
    UNTIL(&b, b.held == 1 && hostfile_says(&b, "10.0.0.2"));
    handoff_claim_destroy(c);
    end(&b);
}

Test(handoff, a_sidecar_that_starts_takes_a_roll_that_is_renewed, .timeout = 60)
{
    struct bed b;
    begin_with_agent(&b);
    struct handoff_claim *c = handoff_claim_create(b.agent);
    send_roll(c, "a", 1, "10.0.0.1");
    start_sidecar(&b);
    UNTIL(&b, b.held >= 0);
    cr_assert_eq(b.held, 1);
    cr_assert(hostfile_says(&b, "10.0.0.1"));
    handoff_claim_destroy(c);
    end(&b);
}

Test(handoff, an_unreadable_roll_changes_nothing, .timeout = 60)
{
    struct bed b;
    begin(&b);
    start_sidecar(&b);
    UNTIL(&b, b.held == 0);
    CLEANUP_FREE char *write = xasprintf("cd %s && echo '{\"job\":' >roll.json && "
                                         "printf '%%032x %%020d %%020d\\n' 1 1 1 "
                                         ">roll.beat",
                                         b.dir);
    cr_assert_eq(system(write), 0);
    for (int i = 0; i < 200; i++) {
        event_base_loop(b.base, EVLOOP_NONBLOCK);
        poll(NULL, 0, 1);
    }
    cr_assert_eq(b.held, 0);
    cr_assert(access(b.applied, F_OK) < 0);
    end(&b);
}
