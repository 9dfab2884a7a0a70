// Two ends of a link in one event loop, for tests: what happened to each is written
// down.
#ifndef MUSTER_TESTS_UNIT_LINK_PAIR_H
#define MUSTER_TESTS_UNIT_LINK_PAIR_H

#include <criterion/criterion.h>
#include <event2/event.h>
#include <stdbool.h>

#include "wire/keyring.h"
#include "wire/link.h"

enum { PAIR_KINDS = 4096 };
enum pair_over { PAIR_OVER_SSH, PAIR_OVER_FDS };
enum pair_callback {
    PAIR_NEVER,
    PAIR_UP,
    PAIR_FRAME,
    PAIR_DOWN,
    PAIR_BROKEN,
    PAIR_RESUMED
};

struct end {
    struct pair *pair;
    struct link *link; // NULL: not there yet, or destroyed
    unsigned ups, downs, breaks, resumes;
    char kind[32], text[1024], role[32]; // of the last down(), of the peer
    size_t frames, bytes;
    uint16_t kinds[PAIR_KINDS];
    uint8_t sum; // of all bytes received
    enum pair_callback destroy_in;
    const char *refuse; // what up() says against the peer
};

struct pair {
    struct event_base *base;
    struct keyring *keys[2]; // of the dialler, of the listener; may be the same
    struct link_conf conf[2];
    Muster__Hello hello[2];
    struct link_server *server;
    struct sockaddr_storage address;
    struct end dialler, listener;
    bool accept_none;
    bool forget,
        find_any; // pair_find: no link, or the listener's whatever is asked for
    unsigned accepts;
    struct link *former[16]; // the listener's, whose diallers have come again
    size_t nformer;
};

// A directory for key rings; removed by pair_keys_remove.
void pair_keys_make(void);
void pair_keys_remove(void);
// A fresh ring in a directory of this name, and the path of a file in it (caller
// frees).
struct keyring *pair_ring_new(const char *name);
struct keyring *pair_ring_load(const char *name);
char *pair_ring_path(const char *name, const char *file);

// Sets up loop, confs with short times, and the listener, if keys[1] is there.
void pair_init(struct pair *p, struct keyring *dialler, struct keyring *listener);
void pair_listen(struct pair *p);
void pair_connect(struct pair *p, enum pair_over over);
void pair_free(struct pair *p);        // keys too
extern const struct link_ops pair_ops; // for links of struct end
// For listeners of struct pair.
const struct link_ops *pair_accept(void *arg, struct link *link, void **link_arg);
struct link *pair_find(void *arg, const uint8_t *session);

// Runs the loop until done() or ten seconds have passed; the latter fails the test.
void pair_run(struct pair *p, bool (*done)(struct pair *));
void pair_run_ms(struct pair *p, uint64_t ms);
bool pair_both_up(struct pair *p);
bool pair_both_down(struct pair *p);
bool pair_dialler_down(struct pair *p);
bool pair_listener_down(struct pair *p);
// A pair with one ring that is up.
void pair_make_up(struct pair *p, enum pair_over over);

#endif
